// Package turns finds which prompts go on from which: by how they begin, or by the lengths and the order that a log
// states.
package turns

// Threads finds conversations by their prompts: one that begins with an earlier prompt, and is longer, continues its
// conversation.
type Threads struct {
	size int // tokens in a block
	// ends has the last prompt that ended so, by the hash of the tokens that are compared.
	ends map[uint64]ended
	// tails says at which lengths prompts end after a full block, given by its hash: bit n for n modulo 64 tokens. All
	// hashes are mixed with what the prompts are served by, as others are no turns of one conversation.
	tails map[uint64]uint64
	Begun uint64 // conversations
}

// ended is a prompt with all of its tokens, and its conversation.
type ended struct {
	conversation uint64
	tokens       int
}

func New(size int) *Threads {
	return &Threads{size: size, ends: map[uint64]ended{}, tails: map[uint64]uint64{}}
}

// Of returns the conversation of a prompt, given by hashes of its first 1, 2, 3, ... tokens. Only the first whole
// tokens are compared with later prompts, as the last one may have another end there. Prompts shorter than a block
// begin too many others by chance: nothing continues them.
func (t *Threads) Of(hashes []uint64, whole int, scope uint64) uint64 {
	conversation, ok := t.find(hashes, scope)
	if !ok {
		conversation = t.Begun
		t.Begun++
	}
	if full := whole / t.size * t.size; full > 0 {
		t.ends[hashes[whole-1]^scope] = ended{conversation, len(hashes)}
		t.tails[hashes[full-1]^scope] |= 1 << ((whole - full) % 64)
	}
	return conversation
}

// find returns the conversation of the longest prompt that this one begins with.
func (t *Threads) find(hashes []uint64, scope uint64) (conversation uint64, ok bool) {
	longest := len(hashes) - 1
	for full := longest / t.size * t.size; full > 0; full -= t.size {
		tails := t.tails[hashes[full-1]^scope]
		if tails == 0 {
			continue
		}
		for end := min(full+t.size-1, longest); end >= full; end-- {
			if tails>>((end-full)%64)&1 == 0 {
				continue
			}
			if earlier, ok := t.ends[hashes[end-1]^scope]; ok && earlier.tokens < len(hashes) {
				return earlier.conversation, true
			}
		}
	}
	return 0, false
}
