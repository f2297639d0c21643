package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// choice is one of a few words.
func choice(p *string, words ...string) kind {
	return kind{
		name:    strings.Join(words, "|"),
		allowed: strings.Join(words, ", "),
		parse: func(text string) error {
			if !slices.Contains(words, text) {
				return errors.New("unknown" + didYouMean(nearest(text, words), ""))
			}
			*p = text
			return nil
		},
	}
}

// toggle is a switch. YAML's own words for one will do, and flags take them, too.
func toggle(p *bool) kind {
	return kind{
		name:    "on|off",
		allowed: "on, off, true, false",
		parse: func(text string) error {
			switch text {
			case "on", "true":
				*p = true
			case "off", "false":
				*p = false
			default:
				return errors.New("neither on nor off")
			}
			return nil
		},
	}
}

// names is a list of names without repetition, in an order that matters.
func names(p *[]string, allowed string) kind {
	return kind{
		name:    "list",
		allowed: allowed,
		list:    true,
		parse: func(text string) error {
			var list []string
			for name := range strings.SplitSeq(text, ",") {
				name = strings.TrimSpace(name)
				switch {
				case name == "":
					return errors.New("a name in the list is empty")
				case slices.Contains(list, name):
					return errors.New("the list names one twice")
				}
				list = append(list, name)
			}
			*p = list
			return nil
		},
	}
}

// modelName is the name of one model.
func modelName(p *string) kind {
	return kind{
		name:    "name",
		allowed: "the name of a model, such as gpt-4o",
		parse: func(text string) error {
			if strings.TrimSpace(text) == "" {
				return errors.New("empty")
			}
			*p = text
			return nil
		},
	}
}

// secret is a credential: printable, without spaces, so that it can stand in a
// header.
func secret(p *string, least int) kind {
	allowed := "printable characters without spaces"
	if least > 1 {
		allowed = fmt.Sprintf("at least %d %s", least, allowed)
	}
	return kind{
		name:    "secret",
		allowed: allowed,
		secret:  true,
		parse: func(text string) error {
			for _, c := range []byte(text) {
				if c <= ' ' || c >= 0x7f {
					return errors.New("a space, a control character or a letter beyond ASCII is in it")
				}
			}
			switch {
			case text == "":
				return errors.New("empty")
			case len(text) < least:
				return fmt.Errorf("too short: %d characters", len(text))
			}
			*p = text
			return nil
		},
	}
}

// filePath names a file that is read once, at the start.
func filePath(p *string) kind {
	return kind{
		name:    "path",
		allowed: "a readable file that holds the secret alone; a relative path begins at the working directory",
		path:    p,
		parse: func(text string) error {
			if text == "" {
				return errors.New("empty")
			}
			*p = text
			return nil
		},
	}
}

// writtenPath names a file that Pleat writes.
func writtenPath(p *string) kind {
	return kind{
		name:    "path",
		allowed: "a file in a directory that can be written; a relative path begins at the working directory",
		parse: func(text string) error {
			if text == "" {
				return errors.New("empty")
			}
			*p = text
			return nil
		},
	}
}

// encodings lists the tokenizers of compaction/tokens.
func encodings() []string {
	return []string{"o200k_base", "o200k_harmony", "cl100k_base", "p50k_base", "r50k_base"}
}
