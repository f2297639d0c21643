package compaction

// chunk is one of the eight parts of a request. Their order is the order in
// which a request with named parts is sent: what seldom changes stands in
// front, where providers' prompt caches find it, and what matters now stands
// at the end, where models attend to it (after Aider's ChatChunks).
type chunk uint8

const (
	chunkSystem chunk = iota
	chunkExamples
	chunkReadonlyFiles
	chunkRepo
	chunkDone
	chunkChatFiles
	chunkCur
	chunkReminder
)

// chunks assigns each message its chunk by place. A request whose parts
// nobody named is sent in its own order, so the result says what a message is
// and not where it goes: a system message between turns is in done and pinned.
func (h *history) chunks(r *request) []chunk {
	out := make([]chunk, len(r.messages))
	firstUnpinned, lastUser := len(r.messages), -1
	for _, i := range h.msgs {
		firstUnpinned = min(firstUnpinned, i)
		if r.messages[i].role == roleUser {
			lastUser = i
		}
	}
	cur := len(r.messages)
	if h.done < len(h.msgs) {
		cur = h.msgs[h.done]
	}
	for i := range r.messages {
		m := &r.messages[i]
		switch {
		case m.role.pinned() && m.example():
			out[i] = chunkExamples
		case m.role.pinned() && i < firstUnpinned:
			out[i] = chunkSystem
		case m.role.pinned() && lastUser >= 0 && i > lastUser:
			out[i] = chunkReminder
		case i < cur:
			out[i] = chunkDone
		default:
			out[i] = chunkCur
		}
	}
	return out
}

// pinned says that messages of the role are instructions: they stay where they
// are, and stand in no fold, no hash and no sum that is compared with the trigger.
func (r role) pinned() bool { return r == roleSystem || r == roleDeveloper }
