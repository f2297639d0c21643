package main

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// load reads the whole configuration: flags before variables before the file
// before defaults. Whatever is written must be right, even where something
// stronger replaces it. Errors are usageErrors of one line; warn gets one line
// for each PLEAT_ variable that means nothing.
func load(flags *pflag.FlagSet, environ []string, warn func(string)) (*Config, error) {
	l := newLoader(environ)
	for _, line := range l.strangeVariables() {
		warn(line)
	}
	for _, step := range []func() error{
		l.defaults,
		func() error { return l.file(flags) },
		l.variables,
		func() error { return l.flags(flags) },
		l.secretFiles,
		func() error { return contradictions(l.config) },
	} {
		if err := step(); err != nil {
			return nil, usageError{err}
		}
	}
	return l.config, nil
}

// loader fills one Config.
type loader struct {
	config  *Config
	options []option
	environ map[string]string
}

func newLoader(environ []string) *loader {
	c := &Config{values: make(map[string]value)}
	l := &loader{config: c, environ: make(map[string]string, len(environ))}
	for _, g := range optionTable(c) {
		l.options = append(l.options, g.options...)
	}
	for _, pair := range environ {
		name, text, _ := strings.Cut(pair, "=")
		l.environ[name] = text
	}
	return l
}

func (l *loader) defaults() error {
	for _, o := range l.options {
		l.config.values[o.key] = value{origin: byDefault}
		if o.def == "" {
			continue
		}
		if err := l.set(o, o.def, byDefault); err != nil {
			return err
		}
	}
	return nil
}

// variables takes what the environment holds. An empty variable counts as none:
// compose files and charts set such for options that are left alone.
func (l *loader) variables() error {
	for _, o := range l.options {
		text := l.environ[o.variable()]
		if text == "" {
			continue
		}
		if err := l.set(o, text, origin("variable "+o.variable())); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) flags(flags *pflag.FlagSet) error {
	for _, o := range l.options {
		f := flags.Lookup(o.flag())
		if f == nil || !f.Changed {
			continue
		}
		if err := l.set(o, f.Value.String(), origin("flag --"+o.flag())); err != nil {
			return err
		}
	}
	return nil
}

// set checks a value and puts it in place.
func (l *loader) set(o option, text string, from origin) error {
	if err := o.kind.parse(text); err != nil {
		return &optionError{from, o.key, o.kind.show(text), err.Error(), o.kind.allowed}
	}
	l.config.values[o.key] = value{o.kind.show(text), from}
	return nil
}

// secretFiles reads the secrets that are given as files.
func (l *loader) secretFiles() error {
	for _, o := range l.options {
		key, ok := strings.CutSuffix(o.key, "_file")
		if !ok || l.config.values[o.key].origin == byDefault {
			continue
		}
		from, shown := l.config.values[o.key].origin, l.config.values[o.key].shown
		if other := l.config.values[key].origin; other != byDefault {
			return &optionError{from, o.key, shown, fmt.Sprintf("%s is given too (%s)", key, other), "one of the two"}
		}
		text, err := readSecret(*o.kind.path)
		if err != nil {
			return &optionError{from, o.key, shown, err.Error(), o.kind.allowed}
		}
		held := l.option(key)
		if err := held.kind.parse(text); err != nil {
			return &optionError{from, o.key, shown, "what the file holds will not do: " + err.Error(), held.kind.allowed}
		}
		l.config.values[key] = value{held.kind.show(text), from}
	}
	return nil
}

// maxSecretFile is more than any credential needs and keeps a wrong path (a
// log, a disk image) from being read whole.
const maxSecretFile = 64 * kib

// readSecret reads a file that holds a secret and perhaps the line end that
// editors and echo leave behind it.
func readSecret(path string) (string, error) {
	data, err := readSmall(path, maxSecretFile)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// cause is why a file could not be opened, without the path and the system
// call, which the line around it names in better words.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// option finds a row of the table; it must be there.
func (l *loader) option(key string) option {
	for _, o := range l.options {
		if o.key == key {
			return o
		}
	}
	panic("no option " + key)
}

// The parts of a URL that may hold a password or a key.
var (
	userinfo = regexp.MustCompile(`//[^/\s]*@`)
	query    = regexp.MustCompile(`(://[^?#]*[?#]).+`) // or fragment
)

// show writes a value for people: quoted, on one line, of bearable length, and
// without secrets.
func (k kind) show(text string) string {
	if k.secret {
		return masked
	}
	if k.redact != nil {
		text = k.redact(text)
	}
	text = userinfo.ReplaceAllString(text, "//"+masked+"@")
	text = query.ReplaceAllString(text, "${1}"+masked)
	const most = 100
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strconv.Quote(text)
}

// masked stands in for a secret.
const masked = "(hidden)"
