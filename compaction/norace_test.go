//go:build !race

package compaction

const underRace = false
