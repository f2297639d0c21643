package compaction

// layout is what is to be sent, piece by piece and in order. It is decided
// before a byte is written, so that it can be checked against what came in.
type layout []piece

// piece is either messages of the request, kept as they are, or one message
// that Pleat adds.
type piece struct {
	from, to int    // indexes into request.messages, from ≤ i < to; for kept messages
	role     role   // of an added message
	added    []byte // an added message, encoded; nil for kept ones
}

// arrange lays out a request in which a fold stands in for the first cut
// unpinned messages: the leading instructions, the first keep user messages,
// the fold, the instructions whose neighbours were folded, the user messages of
// the turn that the cut goes through, and all the rest.
func arrange(r *request, h *history, cut, keep int, text string) layout {
	var out layout
	first := h.msgs[0]
	rest := len(r.messages)
	if cut < len(h.msgs) {
		rest = h.msgs[cut]
	}
	out = out.keep(0, first)
	for _, p := range h.kept(r, cut, keep) {
		out = append(out.keep(h.msgs[p], h.msgs[p]+1), acknowledged())
	}
	out = append(out, piece{role: roleUser, added: plainMessage("user", text)})
	if h.acknowledge(r, cut) {
		out = append(out, acknowledged())
	}
	for i := first; i < rest; i++ {
		if r.messages[i].role.pinned() {
			out = out.keep(i, i+1)
		}
	}
	for _, p := range h.carried(r, cut, keep) {
		out = out.keep(h.msgs[p], h.msgs[p]+1)
	}
	return out.keep(rest, len(r.messages))
}

func acknowledged() piece {
	return piece{role: roleAssistant, added: plainMessage("assistant", acknowledgement)}
}

// acknowledge says whether a fold of the first cut messages needs an answer of
// the assistant's: it does unless one follows anyway. (A call is none: templates
// that leave tool traffic out of account would see two user messages meet.)
func (h *history) acknowledge(r *request, cut int) bool {
	return h.turnOfCut(cut) >= 0 || cut >= len(h.msgs) || h.role(r, cut) != roleAssistant ||
		len(r.messages[h.msgs[cut]].calls) > 0
}

// keep adds the messages from ≤ i < to, joined to the piece before where they
// follow it directly, so that the bytes between them are kept as well.
func (l layout) keep(from, to int) layout {
	if from >= to {
		return l
	}
	if n := len(l); n > 0 && l[n-1].added == nil && l[n-1].to == from {
		l[n-1].to = to
		return l
	}
	return append(l, piece{from: from, to: to})
}

// splice writes the body: the request's own bytes around and inside the
// messages, without the member "pleat".
//
// Messages in short go out in their short form.
func (l layout) splice(r *request, short map[int]shortened) []byte {
	size := len(r.body)
	for _, p := range l {
		size += len(p.added) + 1
	}
	out := make([]byte, 0, size)
	out = r.appendAround(out, span{0, r.list.from})
	out = append(out, '[')
	for i, p := range l {
		if i > 0 {
			out = append(out, ',')
		}
		if p.added != nil {
			out = append(out, p.added...)
			continue
		}
		at := r.messages[p.from].from
		for i := p.from; i < p.to && len(short) > 0; i++ {
			if s, ok := short[i]; ok {
				out = append(append(out, r.body[at:r.messages[i].from]...), s.raw...)
				at = r.messages[i].to
			}
		}
		out = append(out, r.body[at:r.messages[p.to-1].to]...)
	}
	out = append(out, ']')
	return r.appendAround(out, span{r.list.to, len(r.body)})
}

// appendAround appends the bytes of s that are not the member "pleat".
func (r *request) appendAround(out []byte, s span) []byte {
	if r.pleat.from >= s.from && r.pleat.to <= s.to && r.pleat.from < r.pleat.to {
		out = append(out, r.body[s.from:r.pleat.from]...)
		return append(out, r.body[r.pleat.to:s.to]...)
	}
	return append(out, r.body[s.from:s.to]...)
}

// withoutPleat is the request's body without the member "pleat": the very
// slice that came in where there is none.
func (r *request) withoutPleat() []byte {
	if r.pleat.from >= r.pleat.to {
		return r.body
	}
	return r.appendAround(make([]byte, 0, len(r.body)), span{0, len(r.body)})
}
