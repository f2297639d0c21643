package compaction

import "slices"

// history is a request's unpinned messages, grouped. Positions in it count
// unpinned messages only, so that a system message more or less moves nothing.
type history struct {
	msgs  []int // position → index into request.messages
	steps []step
	turns []turn
	done  int // how many positions belong to completed turns
}

// step is an assistant message with all the tool results that answer it:
// positions from ≤ p < to. A step is never split.
type step struct {
	from, to int
	turn     int // index into history.turns
}

// turn is a run of user messages and all that follows up to the next such run:
// positions from ≤ p < to. Its opening user messages are from ≤ p < users.
type turn struct {
	from, users, to int
}

// group finds the turns and steps of a request.
//
// A user message right after a tool result does not begin a turn: agents
// inject notes and images that way while they work.
func group(r *request) *history {
	h := &history{msgs: make([]int, 0, len(r.messages))}
	for i := range r.messages {
		if !r.messages[i].role.pinned() {
			h.msgs = append(h.msgs, i)
		}
	}
	h.findTurns(r)
	h.findSteps(r)
	if n := len(h.turns); n > 0 {
		h.done = h.turns[n-1].from
	}
	return h
}

func (h *history) role(r *request, pos int) role { return r.messages[h.msgs[pos]].role }

func (h *history) findTurns(r *request) {
	for p := range h.msgs {
		begins := p == 0
		if p > 0 && h.role(r, p) == roleUser {
			before := h.role(r, p-1)
			begins = before != roleUser && !before.result()
		}
		if begins {
			if n := len(h.turns); n > 0 {
				h.turns[n-1].to = p
			}
			h.turns = append(h.turns, turn{from: p, users: p, to: len(h.msgs)})
		}
		if t := &h.turns[len(h.turns)-1]; t.users == p && h.role(r, p) == roleUser {
			t.users = p + 1
		}
	}
}

// findSteps lets a step reach to the last tool result before the next
// assistant message, whatever stands in between: a result that comes late,
// after a user's note, still belongs to its call.
func (h *history) findSteps(r *request) {
	for t := range h.turns {
		open := -1
		for p := h.turns[t].from; p < h.turns[t].to; p++ {
			switch role := h.role(r, p); {
			case role == roleAssistant:
				h.steps = append(h.steps, step{from: p, to: p + 1, turn: t})
				open = len(h.steps) - 1
			case role.result() && open >= 0:
				h.steps[open].to = p + 1
			}
		}
	}
}

// turnAt returns the turn that position pos stands in.
func (h *history) turnAt(pos int) turn {
	for _, t := range slices.Backward(h.turns) {
		if t.from <= pos {
			return t
		}
	}
	return turn{}
}

// foldable is the longest prefix of the history, in positions, that a fold may
// stand in for. It ends where a completed step ends, before the final answer of
// the newest completed turn (that answer and the user text it belongs to stay),
// and before the first message that a transcript cannot carry.
func (h *history) foldable(r *request) int {
	limit := h.done
	for _, s := range slices.Backward(h.steps) {
		if s.to <= h.done {
			limit = s.from
			break
		}
	}
	for p := range limit {
		if m := &r.messages[h.msgs[p]]; m.opaque || m.role == roleOther {
			limit = p
			break
		}
	}
	end := 0
	for _, s := range h.steps {
		if s.to <= limit {
			end = s.to
		}
	}
	return end
}

// carried are the positions of the user messages that stay verbatim behind a
// fold of the first cut messages: those that opened the turn which the cut goes
// through. Both are equal when the cut stands between turns.
func (h *history) carried(cut int) (from, to int) {
	if cut <= 0 || cut > len(h.msgs) {
		return 0, 0
	}
	t := h.turnAt(cut - 1)
	if t.to == cut || t.users > cut {
		return 0, 0
	}
	return t.from, t.users
}

// result says that messages of the role answer a call.
func (r role) result() bool { return r == roleTool || r == roleFunction }
