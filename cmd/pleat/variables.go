package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// strangeVariables returns a line for each PLEAT_ variable that no option has:
// likely a slip, but possibly another program's, so no reason to refuse to
// start. Their values are not shown: one may be a secret under a wrong name.
func (l *loader) strangeVariables() []string {
	known := []string{configVariable}
	var fileOnly []string
	for _, o := range l.options {
		if o.variable() != "" {
			known = append(known, o.variable())
		} else {
			fileOnly = append(fileOnly, "PLEAT_"+strings.ToUpper(o.key))
		}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(l.environ)) {
		switch {
		case !strings.HasPrefix(name, "PLEAT_"), slices.Contains(known, name), isForeign(name):
		case slices.Contains(fileOnly, name):
			lines = append(lines, fmt.Sprintf("variable %s is ignored: this option can be set in the file only", name))
		default:
			lines = append(lines, fmt.Sprintf("variable %s is ignored: there is no such option%s", name, didYouMean(nearest(name, known), "")))
		}
	}
	return lines
}

// isForeign knows the variables that begin with PLEAT_ and were not meant for
// Pleat: the tests' own, and those that Kubernetes gives every pod beside a
// service named pleat (PLEAT_SERVICE_HOST, PLEAT_PORT_8080_TCP_ADDR, …).
func isForeign(name string) bool {
	return name == "PLEAT_CORPORA" || name == "PLEAT_PORT" ||
		strings.HasPrefix(name, "PLEAT_SERVICE_") || strings.HasPrefix(name, "PLEAT_PORT_")
}
