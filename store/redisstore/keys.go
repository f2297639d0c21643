package redisstore

import "strings"

// schema is the version of everything that is stored: the names of keys, what
// values look like, what scripts expect.
const schema = "1"

// Kinds of keys within a space.
const (
	kindRecord = "r:"
	kindLease  = "l:"
	kindRow    = "c:"
)

// layout makes the names of keys.
type layout struct{ prefix string }

// space is what all keys of a space begin with.
func (l layout) space(name string) string { return l.prefix + ":" + schema + ":{" + name + "}:" }

// tombstone, index: see the package comment. base is what space returned.
func tombstone(base string) string { return base + "x" }
func index(base string) string     { return base + "i" }

// marker holds the version of the schema that is in use.
func (l layout) marker() string { return l.prefix + ":schema" }

// rows matches the keys of all rows of counters. No character of a prefix
// means anything in a pattern.
func (l layout) rows() string { return l.prefix + ":" + schema + ":{*}:" + kindRow + "*" }

// parseRow takes the key of a row apart. A space has no brace in it.
func (l layout) parseRow(key string) (space, row string, ok bool) {
	rest, ok := strings.CutPrefix(key, l.prefix+":"+schema+":{")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "}:"+kindRow)
}
