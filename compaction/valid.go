package compaction

import (
	"errors"
	"fmt"
)

// sent is one outgoing message as the check sees it: index is its place in
// the request, -1 for a message that Pleat adds.
type sent struct {
	index int
	role  role
}

func (l layout) sent(r *request) []sent {
	var out []sent
	for _, p := range l {
		if p.added != nil {
			out = append(out, sent{index: -1, role: p.role})
			continue
		}
		for i := p.from; i < p.to; i++ {
			out = append(out, sent{index: i, role: r.messages[i].role})
		}
	}
	return out
}

// check compares what is to be sent with what came in: whatever held of the
// request's messages must hold of the outgoing ones. It repeats no decision of
// arrange, so that a fault there is caught here and the original goes out.
func (l layout) check(r *request) error {
	in := layout{{from: 0, to: len(r.messages)}}.sent(r)
	out := l.sent(r)
	switch {
	case len(out) == 0 || out[len(out)-1].index != len(r.messages)-1:
		return errors.New("the last message is not the client's last message")
	case firstRole(in) == roleUser && firstRole(out) != roleUser:
		return errors.New("the first message after the system ones is not the user's")
	}
	if err := checkPinned(in, out); err != nil {
		return err
	}
	if err := checkResults(in, out); err != nil {
		return err
	}
	for _, exempt := range []bool{false, true} {
		if alternates(r, in, exempt) && !alternates(r, out, exempt) {
			return fmt.Errorf("user and assistant do not alternate (tool traffic exempted: %t)", exempt)
		}
	}
	return nil
}

// firstRole is the role of the first message that is no instruction.
func firstRole(list []sent) role {
	for _, m := range list {
		if !m.role.pinned() {
			return m.role
		}
	}
	return roleOther
}

// checkPinned: every instruction is there, once, in its order.
func checkPinned(in, out []sent) error {
	next := 0
	for _, m := range out {
		if m.index < 0 || !m.role.pinned() {
			continue
		}
		for next < len(in) && !in[next].role.pinned() {
			next++
		}
		if next == len(in) || in[next].index != m.index {
			return fmt.Errorf("instruction %d is out of place", m.index)
		}
		next++
	}
	for ; next < len(in); next++ {
		if in[next].role.pinned() {
			return fmt.Errorf("instruction %d is missing", next)
		}
	}
	return nil
}

// checkResults: every kept tool result follows the very assistant message that
// it followed, and every kept assistant message has all of its results.
func checkResults(in, out []sent) error {
	owner := make(map[int]int, len(in)) // tool result → assistant message
	results := map[int]int{}            // assistant message → number of results
	last := -1
	for _, m := range in {
		switch {
		case m.role == roleAssistant:
			last = m.index
		case m.role.result():
			owner[m.index] = last
			results[last]++
		}
	}
	last = -1
	for _, m := range out {
		switch {
		case m.role == roleAssistant:
			if m.index >= 0 {
				last = m.index
			} else {
				last = -1
			}
		case m.role.result():
			if owner[m.index] != last {
				return fmt.Errorf("tool result %d does not follow its call", m.index)
			}
			results[last]--
		}
	}
	for _, m := range out {
		if m.role == roleAssistant && m.index >= 0 && results[m.index] > 0 {
			return fmt.Errorf("assistant message %d has lost a tool result", m.index)
		}
	}
	return nil
}

// alternates says whether user and assistant messages take turns, the user
// first. Chat templates check it in two ways: over all messages, or with tool
// results and the assistant messages that call tools left out.
func alternates(r *request, list []sent, exemptTools bool) bool {
	want := roleUser
	for _, m := range list {
		if m.role.pinned() {
			continue
		}
		calls := m.index >= 0 && len(r.messages[m.index].calls) > 0
		if exemptTools && (m.role.result() || calls) {
			continue
		}
		if m.role != want {
			return false
		}
		if want = roleUser; m.role == roleUser {
			want = roleAssistant
		}
	}
	return true
}
