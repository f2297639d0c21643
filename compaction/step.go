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

// newest is the position at which the newest step of the current turn begins:
// what stands before it in the turn is completed. It is done where the turn has
// no step before its newest.
func (h *history) newest() int {
	n := len(h.steps)
	if n < 2 || h.steps[n-2].from < h.done {
		return h.done
	}
	return h.steps[n-1].from
}

// foldable is the longest prefix, in positions, that a fold may stand in for.
// It ends where a completed step ends, and before the first message that a
// transcript cannot carry. Of the completed turns the newest one's final answer
// stays, with the user text it belongs to; if steps of the current turn may go
// (inTurn), all of it may, and of the current turn all but the newest step.
//
// A call that was never answered holds up nothing once the assistant has spoken
// again: only the newest step's calls can still be open.
func (h *history) foldable(r *request, inTurn bool) int {
	limit := h.done
	for _, s := range slices.Backward(h.steps) {
		if s.to <= h.done {
			limit = s.from
			break
		}
	}
	if newest := h.newest(); inTurn && newest > h.done {
		limit = newest
	}
	return h.cleanUntil(r, limit)
}

// cleanUntil is the last step's end up to limit that no message stands before
// which a transcript cannot carry.
func (h *history) cleanUntil(r *request, limit int) int {
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

// maxNotes is how many notes of a turn stay verbatim behind a fold.
const maxNotes = 8

// carried are the positions of the user messages that stay verbatim behind a
// fold of the first cut messages: of the turn that the cut goes through those
// that opened it, those that are among the conversation's first keep ones, and
// the newest notes before the cut, if they are text alone (an agent's screenshots
// are work, not words). There are none when the cut stands between turns.
func (h *history) carried(r *request, cut, keep int) []int {
	at := h.turnOfCut(cut)
	if at < 0 {
		return nil
	}
	t, first := h.turnAt(at), h.firstUsers(r, keep)
	var out []int
	for p := t.from; p < cut; p++ {
		if p < t.users || p < first && h.role(r, p) == roleUser {
			out = append(out, p)
		}
	}
	certain := len(out)
	for p := max(t.users, first); p < cut; p++ {
		if h.role(r, p) != roleUser {
			continue
		}
		if o := r.outline(h.msgs[p]); o.textOnly() {
			out = append(out, p)
		}
	}
	if notes := len(out) - certain; notes > maxNotes {
		out = slices.Delete(out, certain, certain+notes-maxNotes)
	}
	return out
}

// firstUsers is the position behind the first n user messages.
func (h *history) firstUsers(r *request, n int) int {
	for p := range h.msgs {
		if n == 0 {
			return p
		}
		if h.role(r, p) == roleUser {
			n--
		}
	}
	return len(h.msgs)
}

// turnOfCut is the position at which the turn begins that a cut goes through;
// negative if the cut stands between turns, or in a turn that no user opened.
func (h *history) turnOfCut(cut int) int {
	if cut <= 0 || cut > len(h.msgs) {
		return -1
	}
	t := h.turnAt(cut - 1)
	if t.to == cut || t.users > cut || t.users == t.from {
		return -1
	}
	return t.from
}

// kept are the positions of the first n user messages before a cut that stay
// verbatim in front of a fold. Those of the turn that the cut goes through stand
// behind it, with what else is carried, or they would change places.
func (h *history) kept(r *request, cut, n int) []int {
	end := min(cut, h.firstUsers(r, n))
	if at := h.turnOfCut(cut); at >= 0 {
		end = min(end, at)
	}
	var out []int
	for p := range end {
		if h.role(r, p) == roleUser {
			out = append(out, p)
		}
	}
	return out
}

// result says that messages of the role answer a call.
func (r role) result() bool { return r == roleTool || r == roleFunction }
