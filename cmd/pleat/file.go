package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// configFlag and configVariable name the configuration file. They stand outside
// the option table: a file cannot name itself.
const (
	configFlag     = "config"
	configVariable = "PLEAT_CONFIG"
)

// maxConfigFile keeps a wrong path from being parsed for minutes.
const maxConfigFile = mib

// file reads the configuration file, if one is named.
func (l *loader) file(flags *pflag.FlagSet) error {
	path, from := l.environ[configVariable], origin("variable "+configVariable)
	if f := flags.Lookup(configFlag); f != nil && f.Changed {
		path, from = f.Value.String(), "flag --"+configFlag
		if path == "" {
			return &optionError{from, "the configuration file", `""`, "empty", "the path of a YAML file"}
		}
	}
	if path == "" {
		return nil
	}
	data, err := readSmall(path, maxConfigFile)
	if err != nil {
		return &optionError{from, "the configuration file", kind{}.show(path), err.Error(), "the path of a readable YAML file"}
	}
	return l.document(path, data)
}

// readSmall reads a file of at most so many bytes. What it complains of fits
// behind the path.
func readSmall(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, cause(err)
	case info.IsDir():
		return nil, errors.New("a directory")
	case info.Size() > most:
		return nil, fmt.Errorf("larger than %s", spellSize(most))
	}
	data, err := os.ReadFile(path) //nolint:gosec // the operator says which file
	if err != nil {
		return nil, cause(err)
	}
	return data, nil
}

// document takes the values of a configuration file that was read from path.
func (l *loader) document(path string, data []byte) error {
	root, err := parseYAML(data)
	if err != nil {
		return fmt.Errorf("%s:%w", path, err)
	}
	if root.shape == blank {
		return nil
	}
	d := document{path: path, loader: l, lines: make(map[string]int)}
	if root.shape != mapping {
		return fmt.Errorf("%s: the file is %s; it should hold keys, such as listen: 127.0.0.1:8080 (a space follows the colon)", d.at(root.line), root.shape)
	}
	return d.section("", root)
}

// document is a configuration file whose values are being taken.
type document struct {
	path   string
	loader *loader
	lines  map[string]int // key → line that it was first seen on
}

func (d *document) at(line int) origin {
	return origin(fmt.Sprintf("%s:%d", d.path, line))
}

// section takes the keys below prefix, which is empty or ends with a dot. A key
// may also be written with its dots: `summarizer.models: same`.
func (d *document) section(prefix string, n node) error {
	for _, e := range n.entries {
		key := prefix + e.key
		isOption := slices.ContainsFunc(d.loader.options, func(o option) bool { return o.key == key })
		if isOption {
			if err := d.option(d.loader.option(key), e); err != nil {
				return err
			}
			continue
		}
		if !d.isSection(key) {
			return &optionError{d.at(e.line), key, "", "no such key" + didYouMean(nearest(key, d.keys()), ""), ""}
		}
		switch e.value.shape {
		case blank: // a section whose lines are all commented out
		case mapping:
			if err := d.section(key+".", e.value); err != nil {
				return err
			}
		default:
			return &optionError{d.at(e.line), key, "", "a section, not a value of its own", "keys below it: " + d.below(key)}
		}
	}
	return nil
}

// option takes one value.
func (d *document) option(o option, e entry) error {
	at := d.at(e.line)
	if first, seen := d.lines[o.key]; seen {
		return &optionError{at, o.key, "", fmt.Sprintf("set before, on line %d", first), "each key once"}
	}
	d.lines[o.key] = e.line

	if o.kind.entries != nil {
		return d.entries(o, e)
	}
	text, problem := e.value.scalar(o.kind.list)
	if problem != "" {
		return &optionError{at, o.key, "", problem, o.kind.allowed}
	}
	return d.loader.set(o, text, at)
}

// entries takes an option that only a file can hold.
func (d *document) entries(o option, e entry) error {
	switch e.value.shape {
	case blank:
		return nil
	case mapping:
	default:
		return &optionError{d.at(e.line), o.key, "", "this is " + e.value.shape.String(), o.kind.allowed}
	}
	if err := o.kind.entries(d, o.key, e.value.entries); err != nil {
		return err
	}
	d.loader.config.values[o.key] = value{fmt.Sprintf("%d entries", len(e.value.entries)), d.at(e.line)}
	return nil
}

// isSection reports whether options stand below the key.
func (d *document) isSection(key string) bool {
	return slices.ContainsFunc(d.loader.options, func(o option) bool { return strings.HasPrefix(o.key, key+".") })
}

// below lists the keys of a section without its name.
func (d *document) below(section string) string {
	var names []string
	for _, o := range d.loader.options {
		if name, ok := strings.CutPrefix(o.key, section+"."); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// keys lists what a key of the file could have been: options and sections.
func (d *document) keys() []string {
	var keys []string
	for _, o := range d.loader.options {
		keys = append(keys, o.key)
		if section, _, ok := strings.Cut(o.key, "."); ok && !slices.Contains(keys, section) {
			keys = append(keys, section)
		}
	}
	return keys
}
