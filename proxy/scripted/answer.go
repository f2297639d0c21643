package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// epoch is when the first answer claims to have been made, in seconds: fixed,
// so that the same script gives the same bytes.
const epoch = 1_700_000_000

// answer plays the reply in the form that the request asked for.
func (u *Upstream) answer(w http.ResponseWriter, r *Request, reply Reply) {
	maps.Copy(w.Header(), reply.Header)
	if reply.Status >= http.StatusBadRequest {
		writeError(w, reply.Status, errorFor(reply))
		return
	}
	usage := u.usage(r, reply)
	u.used(r, usage)
	w.Header().Set("X-Request-ID", fmt.Sprintf("req_scripted%06d", r.Number))
	if r.Stream {
		stream(w, r, reply, usage)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if reply.Status != 0 {
		w.WriteHeader(reply.Status)
	}
	_, _ = w.Write(encode(completion(r, reply, usage)))
}

// usage is what the reply claims, or else what it used.
func (u *Upstream) usage(r *Request, reply Reply) Usage {
	if reply.Usage != nil {
		return *reply.Usage
	}
	n := u.opts.Count(reply.Text) + u.opts.Count(reply.Refusal) + u.opts.Count(reply.Reasoning)
	for _, c := range reply.ToolCalls {
		n += perMessage + u.opts.Count(c.Name) + u.opts.Count(c.Arguments)
	}
	return Usage{Prompt: r.Tokens, Completion: n, Cached: r.Cached}
}

// finish is the reply's finish_reason.
func (r Reply) finish() string {
	switch {
	case r.Finish != "":
		return r.Finish
	case len(r.ToolCalls) > 0:
		return "tool_calls"
	default:
		return "stop"
	}
}

// completion is the JSON form of an answer.
func completion(r *Request, reply Reply, usage Usage) wireAnswer {
	m := &wireMessage{Role: "assistant", Refusal: optional(reply.Refusal), Reasoning: reply.Reasoning, Calls: wireCalls(reply.ToolCalls)}
	if len(reply.ToolCalls) == 0 && reply.Refusal == "" || reply.Text != "" {
		m.Content = &reply.Text
	}
	a := envelope(r, "chat.completion")
	a.Choices = []wireChoice{{Message: m, Finish: optional(reply.finish())}}
	a.Usage = encodeUsage(usage)
	return a
}

// stream writes the answer as events, each flushed by itself: the opening
// delta, the content word by word, the finish, and where asked for the usage.
func stream(w http.ResponseWriter, r *Request, reply Reply, usage Usage) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	flush := http.NewResponseController(w).Flush
	send := func(data []byte) {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", bytes.TrimSuffix(data, []byte("\n")))
		_ = flush() // a writer that cannot flush sends the events at the end
	}
	event := func(choices []wireChoice, usage json.RawMessage) {
		a := envelope(r, "chat.completion.chunk")
		a.Choices = choices
		if r.includeUsage && usage == nil {
			usage = json.RawMessage("null")
		}
		a.Usage = usage
		send(encode(a))
	}
	delta := func(d wireDelta) { event([]wireChoice{{Delta: &d}}, nil) }

	empty := ""
	delta(wireDelta{Role: "assistant", Content: &empty})
	for _, word := range words(reply.Reasoning) {
		delta(wireDelta{Reasoning: word})
	}
	for _, word := range words(reply.Text) {
		delta(wireDelta{Content: &word})
	}
	for _, word := range words(reply.Refusal) {
		delta(wireDelta{Refusal: word})
	}
	for i, c := range reply.ToolCalls {
		delta(wireDelta{Calls: []wireCall{{Index: &i, ID: c.ID, Type: "function", Function: wireFunction{Name: c.Name}}}})
		for _, piece := range words(c.Arguments) {
			delta(wireDelta{Calls: []wireCall{{Index: &i, Function: wireFunction{Arguments: piece}}}})
		}
	}
	event([]wireChoice{{Delta: &wireDelta{}, Finish: optional(reply.finish())}}, nil)
	if r.includeUsage {
		event([]wireChoice{}, encodeUsage(usage))
	}
	send([]byte("[DONE]"))
}

// words cuts a text behind its spaces; together the pieces are the text.
func words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// envelope is what every answer and every event begins with.
func envelope(r *Request, object string) wireAnswer {
	return wireAnswer{
		ID:          fmt.Sprintf("chatcmpl-scripted%06d", r.Number),
		Object:      object,
		Created:     epoch + int64(r.Number),
		Model:       r.Model,
		Tier:        "default",
		Fingerprint: "fp_scripted",
	}
}
