package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/pleat-proxy/pleat/compaction"
)

// explainReport prints what would be done with a request.
type explainReport struct {
	countReport

	x compaction.Explanation
}

// explainJSON is the report for programs. A null window is unknown.
type explainJSON struct {
	Model    string          `json:"model"`
	Encoding string          `json:"encoding"`
	Exact    bool            `json:"exact"`
	Window   limitsJSON      `json:"window"`
	Reserved int             `json:"reserved_output"`
	Trigger  int             `json:"trigger"`
	Received int             `json:"tokens_received"`
	Sent     int             `json:"tokens_sent"`
	Fixed    int             `json:"tokens_beside_messages"`
	History  int             `json:"tokens_history"`
	Due      bool            `json:"fold_due"`
	Why      string          `json:"fold_not_due_because,omitempty"`
	Retires  int             `json:"fold_replaces"`
	Fold     int             `json:"fold_tokens"`
	Turns    int             `json:"turns"`
	Steps    int             `json:"steps"`
	Chunks   []chunkJSON     `json:"chunks"`
	Messages []fateJSON      `json:"messages"`
	Request  json.RawMessage `json:"request"`
}

type chunkJSON struct {
	Chunk    string `json:"chunk"`
	Messages int    `json:"messages"`
	Received int    `json:"tokens_received"`
	Sent     int    `json:"tokens_sent"`
}

type fateJSON struct {
	Index  int    `json:"index"`
	Role   string `json:"role"`
	Chunk  string `json:"chunk"`
	Turn   int    `json:"turn"` // 0: an instruction
	Step   int    `json:"step"` // 0: no step
	Tokens int    `json:"tokens_received"`
	What   string `json:"what"`
	Sent   int    `json:"tokens_sent"`
	Why    string `json:"why"`
}

func (r explainReport) machine() error {
	x := r.x
	out := explainJSON{
		Model: x.Model, Encoding: x.Encoding, Exact: x.Exact,
		Window: limitsOf(x.Window), Reserved: x.Reserved, Trigger: x.Trigger,
		Received: x.Received, Sent: x.Sent, Fixed: x.Fixed, History: x.History, Due: x.Due, Why: x.Why,
		Retires: x.Retires, Fold: x.Fold, Turns: x.Turns, Steps: x.Steps,
		Chunks: r.chunkSums(), Messages: make([]fateJSON, len(x.Messages)), Request: x.Body,
	}
	for i, f := range x.Messages {
		out.Messages[i] = fateJSON(f)
	}
	return r.encode(out)
}

func (r explainReport) people() error {
	r.summary()
	fmt.Fprintln(r.out)
	err := errors.Join(r.chunks(), r.turns(), r.messages())
	r.outgoing()
	return err
}

// summary tells the numbers that decide, and what they decide.
func (r explainReport) summary() {
	x := r.x
	say := func(head, format string, args ...any) {
		fmt.Fprintf(r.out, "%-9s %s\n", head, fmt.Sprintf(format, args...))
	}
	counts := x.Encoding
	if !x.Exact {
		counts += ", estimated"
	}
	say("model", "%s (%s)", shownName(x.Model), counts)
	if x.Window.Known() {
		say("window", "input %s, output %s, total %s tokens, from %s; %s of them reserved for the answer",
			limit(x.Window.Input), limit(x.Window.Output), limit(x.Window.Total),
			sourceName(x.Window.Source), grouped(x.Reserved))
	} else {
		say("window", "unknown")
	}
	say("history", "%s; the trigger is %s", amount(x.History, "token"), grouped(x.Trigger))
	if x.Due {
		say("fold", "due: %s of messages would become about %s", amount(x.Retires, "token"), grouped(x.Fold))
	} else {
		say("fold", "none: %s%s", x.Why, r.missing())
	}
	saved := ""
	if x.Received > 0 && x.Sent != x.Received {
		saved = fmt.Sprintf(" (%+d%%)", (x.Sent-x.Received)*100/x.Received)
	}
	say("sent", "%s of %s%s", amount(x.Sent, "token"), grouped(x.Received), saved)
}

// missing says how much a fold that is not worth it would retire.
func (r explainReport) missing() string {
	if r.x.Retires == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", amount(r.x.Retires, "token"))
}

// chunkSums are the chunks that hold messages, in the order of their first ones.
func (r explainReport) chunkSums() []chunkJSON {
	out := []chunkJSON{}
	at := map[string]int{}
	for _, f := range r.x.Messages {
		i, ok := at[f.Chunk]
		if !ok {
			i = len(out)
			at[f.Chunk] = i
			out = append(out, chunkJSON{Chunk: f.Chunk})
		}
		out[i].Messages++
		out[i].Received += f.Tokens
		out[i].Sent += f.Sent
	}
	return out
}

func (r explainReport) chunks() error {
	return r.table("received\tsent\tmessages\t  chunk", func(w io.Writer) {
		for _, c := range r.chunkSums() {
			fmt.Fprintf(w, "%d\t%d\t%d\t  %s\n", c.Received, c.Sent, c.Messages, c.Chunk)
		}
		if r.x.Fold > 0 {
			fmt.Fprintf(w, "\t%d\t\t  the fold\n", r.x.Fold)
		}
		fmt.Fprintf(w, "%d\t%d\t\t  beside messages\n", r.x.Fixed, r.x.Fixed)
	})
}

// turns tells of each turn how long it is.
func (r explainReport) turns() error {
	type sum struct{ messages, steps, received, sent, last int }
	sums := make([]sum, r.x.Turns)
	for _, f := range r.x.Messages {
		if f.Turn == 0 {
			continue
		}
		s := &sums[f.Turn-1]
		s.messages++
		s.received += f.Tokens
		s.sent += f.Sent
		if f.Step > s.last {
			s.steps, s.last = s.steps+1, f.Step
		}
	}
	fmt.Fprintln(r.out)
	return r.table("turn\tmessages\tsteps\treceived\tsent\t", func(w io.Writer) {
		for i, s := range sums {
			fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t\n", i+1, s.messages, s.steps, s.received, s.sent)
		}
	})
}

func (r explainReport) messages() error {
	fmt.Fprintln(r.out)
	head := fmt.Sprintf("message\tturn\tstep\treceived\tsent\t  %-9s  %-9s  because", "role", "is")
	return r.table(head, func(w io.Writer) {
		for _, f := range r.x.Messages {
			fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%d\t  %-9s  %-9s  %s\n",
				f.Index, ordinal(f.Turn), ordinal(f.Step), f.Tokens, f.Sent, shownName(f.Role), f.What, f.Why)
		}
	})
}

// ordinal writes a number that counts from 1.
func ordinal(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// outgoing draws the messages that would be sent, each by its first words.
func (r explainReport) outgoing() {
	var body struct {
		Messages []struct {
			Role    string            `json:"role"`
			Content json.RawMessage   `json:"content"`
			Calls   []json.RawMessage `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(r.x.Body, &body); err != nil {
		return // encoding/json does not take some bodies that providers do
	}
	fmt.Fprintf(r.out, "\nThe outgoing messages (whole with --request or --out FILE):\n\n")
	for _, m := range body.Messages {
		line := string(m.Content)
		var text string
		if json.Unmarshal(m.Content, &text) == nil {
			line = text
		}
		if n := len(m.Calls); n > 0 {
			line = strings.TrimSpace(line + " (" + amount(n, "call") + ")")
		}
		fmt.Fprintf(r.out, "  %-9s  %s\n", shownName(m.Role), firstWords(line))
	}
}

// firstWords is the beginning of a text on one line that no terminal obeys.
func firstWords(text string) string {
	const most = 80
	var b strings.Builder
	n := 0
	for word := range strings.FieldsSeq(text) {
		for _, c := range " " + word {
			if n++; n > most {
				return strings.TrimSpace(b.String()) + "…"
			}
			if !unicode.IsPrint(c) {
				c = '·'
			}
			b.WriteRune(c)
		}
	}
	return strings.TrimSpace(b.String())
}
