package compaction

type job struct{}
type note struct{}
