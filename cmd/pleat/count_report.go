package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/pleat-proxy/pleat/compaction"
	"github.com/pleat-proxy/pleat/compaction/tokens"
)

// countReport prints what was counted.
type countReport struct {
	out  io.Writer
	json bool
	told bool // which encoding to use
}

// countJSON is the report for programs.
type countJSON struct {
	Kind     string `json:"kind"` // request or text
	Tokens   int    `json:"tokens"`
	Encoding string `json:"encoding"`
	Exact    bool   `json:"exact"` // the encoding is the model's own
	Model    string `json:"model,omitempty"`

	*requestJSON //nolint:embeddedstructfieldcheck // it is printed last
}

// requestJSON is what there is to say of a request alone. Chunks, with tools
// among them, Format and Reply sum to the tokens.
type requestJSON struct {
	Chunks   map[string]int `json:"chunks"`
	Format   int            `json:"response_format"`
	Reply    int            `json:"reply"`
	Tools    []toolJSON     `json:"tools"`
	Messages []messageJSON  `json:"messages"`
}

type toolJSON struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

type messageJSON struct {
	Index  int    `json:"index"`
	Role   string `json:"role"`
	Chunk  string `json:"chunk"`
	Tokens int    `json:"tokens"`
}

func (r countReport) plain(model string, e tokens.Encoder, data []byte) error {
	n := e.CountBytes(data)
	if r.json {
		return r.encode(countJSON{Kind: "text", Tokens: n, Encoding: e.Name(), Exact: e.Exact(), Model: model})
	}
	_, err := fmt.Fprintf(r.out, "%s in %s of plain text\n", r.sum(n, model, e), amount(len(data), "byte"))
	return err
}

func (r countReport) request(m compaction.Measurement) error {
	if r.json {
		return r.encode(countJSON{
			Kind: "request", Tokens: m.Tokens, Encoding: m.Encoder.Name(), Exact: m.Encoder.Exact(), Model: m.Model,
			requestJSON: requestOf(m),
		})
	}
	fmt.Fprintf(r.out, "%s in %s\n\n", r.sum(m.Tokens, m.Model, m.Encoder), amount(len(m.Messages), "message"))
	return errors.Join(r.chunks(m), r.tools(m.Declarations), r.messages(m.Messages))
}

// table prints a heading and rows, numbers to the right of their columns.
func (r countReport) table(head string, rows func(w io.Writer)) error {
	w := tabwriter.NewWriter(r.out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, head)
	rows(w)
	return w.Flush()
}

func (r countReport) chunks(m compaction.Measurement) error {
	return r.table("tokens\tmessages\t  chunk", func(w io.Writer) {
		for _, c := range m.Chunks {
			fmt.Fprintf(w, "%d\t%d\t  %s\n", c.Tokens, c.Messages, c.Chunk)
		}
		for _, beside := range []struct {
			tokens int
			name   string
		}{{m.Tools, "tools"}, {m.Format, "response_format"}, {m.Reply, "opening of the reply"}} {
			if beside.tokens > 0 {
				fmt.Fprintf(w, "%d\t\t  %s\n", beside.tokens, beside.name)
			}
		}
	})
}

func (r countReport) tools(declarations []compaction.ToolTokens) error {
	if len(declarations) == 0 {
		return nil
	}
	fmt.Fprintln(r.out)
	return r.table("tokens\t  tool", func(w io.Writer) {
		for _, t := range declarations {
			fmt.Fprintf(w, "%d\t  %s\n", t.Tokens, shownName(t.Name))
		}
	})
}

func (r countReport) messages(list []compaction.MessageTokens) error {
	fmt.Fprintln(r.out)
	return r.table(fmt.Sprintf("tokens\tmessage\t  %-9s  chunk", "role"), func(w io.Writer) {
		for _, one := range list {
			fmt.Fprintf(w, "%d\t%d\t  %-9s  %s\n", one.Tokens, one.Index, shownName(one.Role), one.Chunk)
		}
	})
}

func requestOf(m compaction.Measurement) *requestJSON {
	r := &requestJSON{
		Chunks: map[string]int{"tools": m.Tools}, Format: m.Format, Reply: m.Reply,
		Tools: []toolJSON{}, Messages: make([]messageJSON, 0, len(m.Messages)),
	}
	for _, c := range m.Chunks {
		r.Chunks[c.Chunk] = c.Tokens
	}
	for _, t := range m.Declarations {
		r.Tools = append(r.Tools, toolJSON(t))
	}
	for _, one := range m.Messages {
		r.Messages = append(r.Messages, messageJSON(one))
	}
	return r
}

func (r countReport) encode(v any) error {
	enc := json.NewEncoder(r.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// sum says how many tokens there are, and how far the number is to be believed.
func (r countReport) sum(n int, model string, e tokens.Encoder) string {
	switch {
	case r.told || model == "":
		return fmt.Sprintf("%s (%s)", amount(n, "token"), e.Name())
	case e.Exact():
		return fmt.Sprintf("%s (%s, %s's own)", amount(n, "token"), e.Name(), shownName(model))
	}
	return fmt.Sprintf("about %s (estimated with %s: the tokenizer of %s is not at hand)",
		amount(n, "token"), e.Name(), shownName(model))
}

// amount writes a number of things: "1 token", "2,341 tokens".
func amount(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return grouped(n) + " " + what
}

// shownName writes a name that somebody else chose so that it can neither move
// a terminal's cursor nor fill its screen.
func shownName(name string) string {
	const most = 80
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:most]) + "…"
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
