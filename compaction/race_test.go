//go:build race

package compaction

// underRace: the race detector slows counting by an order of magnitude, so the
// corpora are sampled there; the plain run replays all of them.
const underRace = true
