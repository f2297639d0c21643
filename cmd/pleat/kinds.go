package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pleat-proxy/pleat/compaction"
)

// kind is how values of an option are written: parse checks one and puts it
// where it belongs.
type kind struct {
	name    string // as help shows it: "duration"
	unit    string // what a bare number would count, or ""
	allowed string // range or values, completing "allowed: …"
	secret  bool   // never shown, not even in errors
	list    bool   // the file may hold a YAML list

	// redact, if not nil, takes out of a value what must not be shown.
	redact func(text string) string

	// parse complains without repeating the text: whoever reports the error
	// knows whether the text may be shown.
	parse func(text string) error

	// path is where filePath put the path of a secret's file.
	path *string

	// entries, if not nil, replaces parse: the option is a mapping, which only
	// a file can hold. key is the option's.
	entries func(d *document, key string, entries []entry) error
}

// duration is a span of time with its unit.
func duration(p *time.Duration, least, most time.Duration) kind {
	return kind{
		name:    "duration",
		allowed: fmt.Sprintf("%s to %s, written as 90s, 5m or 1h30m", spell(least), spell(most)),
		parse: func(text string) error {
			d, err := time.ParseDuration(text)
			if err != nil {
				if _, bare := strconv.ParseFloat(text, 64); bare == nil {
					return errors.New("the unit is missing")
				}
				return errors.New("not a duration")
			}
			if err := within(d, least, most); err != nil {
				return err
			}
			*p = d
			return nil
		},
	}
}

// size is a number of bytes.
func size(p *int64, least, most int64) kind {
	return kind{
		name:    "size",
		unit:    "bytes",
		allowed: fmt.Sprintf("%s to %s, in bytes or with KiB, MiB or GiB", spellSize(least), spellSize(most)),
		parse: func(text string) error {
			n, err := parseSize(text)
			if err != nil {
				return err
			}
			if err := within(n, least, most); err != nil {
				return err
			}
			*p = n
			return nil
		},
	}
}

// count is a whole number of things, which unit names.
func count(p *int, unit string, least, most int) kind {
	return kind{
		name:    "number",
		unit:    unit,
		allowed: fmt.Sprintf("%d to %d", least, most),
		parse: func(text string) error {
			n, err := strconv.Atoi(text)
			if errors.Is(err, strconv.ErrRange) {
				return errors.New("out of range")
			}
			if err != nil {
				return errors.New("not a whole number")
			}
			if err := within(n, least, most); err != nil {
				return err
			}
			*p = n
			return nil
		},
	}
}

// percent is a part of a whole, kept as a fraction.
func percent(p *float64, least, most int) kind {
	return kind{
		name:    "percentage",
		allowed: fmt.Sprintf("%d%% to %d%%", least, most),
		parse: func(text string) error {
			digits, ok := strings.CutSuffix(text, "%")
			n, err := strconv.Atoi(digits)
			if !ok || err != nil {
				return errors.New("not a whole number followed by %")
			}
			if err := within(n, least, most); err != nil {
				return err
			}
			*p = float64(n) / 100
			return nil
		},
	}
}

// trigger is when old turns are folded.
func trigger(p *compaction.Trigger) kind {
	return kind{
		name:    "trigger",
		unit:    "tokens",
		allowed: "auto, a number of tokens from 64, or 1% to 90% of the model's window",
		parse: func(text string) error {
			t, err := compaction.ParseTrigger(text)
			if err != nil || text == "" { // the error repeats the text, which is shown already
				if _, err := strconv.Atoi(strings.TrimSuffix(text, "%")); err == nil {
					return errors.New("out of range")
				}
				return errors.New("neither auto, nor a whole number, nor a percentage")
			}
			*p = t
			return nil
		},
	}
}
