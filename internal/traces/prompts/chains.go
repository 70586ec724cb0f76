package prompts

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// chains number the blocks of prompts in order of first appearance. A block is the tokens of its id together with
// everything before them in the prompt. So it is identified by its id and the previous block, like a node of a trie.
//
// The new blocks of a prompt have consecutive numbers, so only the first of them is in the index: a prompt takes a
// lookup where it begins, and one for each fork on its way. Memory: 8 bytes per block, and about 40 per prompt.
type chains struct {
	ids     memory.Chunks[uint64] // per block
	follows stream.Bitset         // per block: it follows the one with the number before
	index   map[link]uint32       // of the others
	last    uint32                // the block before the next one, within a prompt
}

// link identifies a block: by the one before it, noBlock if it begins a prompt, and by its id.
type link struct{ before, id uint64 }

const noBlock = math.MaxUint64

func newChains() *chains { return &chains{index: map[link]uint32{}} }

// next returns the number of the next block, and whether it is new; ok is false if there are more blocks than a trace
// can have objects.
func (c *chains) next(id uint64, begins bool) (number uint32, isNew, ok bool) {
	newest := c.ids.Len() - 1
	of := link{noBlock, id}
	if !begins {
		of.before = uint64(c.last)
		behind := int(c.last) + 1
		if behind <= newest && c.ids.At(behind) == id && c.follows.Has(behind) {
			c.last++
			return c.last, false, true
		}
		if behind > newest && behind < stream.MaxCount {
			c.follows.Set(behind)
			c.ids.Append(id)
			c.last++
			return c.last, true, true
		}
	}
	number, known := c.index[of]
	if !known {
		if c.ids.Len() >= stream.MaxCount {
			return 0, false, false
		}
		number = uint32(c.ids.Len())
		c.ids.Append(id)
		c.index[of] = number
	}
	c.last = number
	return number, !known, true
}

// names gives blocks distinct keys. The key of a block is its id if no block with that id or key came before it, so ids
// that are hashes of the whole prefix stay as they are. An id that also comes after another block, or twice in a
// prompt, gets a key made of both there.
type names struct {
	used   *stream.Numbering // the keys so far
	made   map[uint32]uint64 // per block whose key is not its id
	before uint64            // key of the last block
}

func newNames() *names { return &names{used: stream.NewNumbering(), made: map[uint32]uint64{}} }

// of returns the key of the next block, which has a number and an id; false if there are too many.
func (n *names) of(number uint32, isNew bool, id uint64, begins bool) (key uint64, ok bool) {
	if begins {
		n.before = 0
	}
	key = id
	switch {
	case !isNew:
		if made, ok := n.made[number]; ok {
			key = made
		}
	case !n.take(id):
		for key = random.Scramble(random.Scramble(n.before) + id); !n.used.Full && !n.take(key); key++ {
		}
		n.made[number] = key
	}
	n.before = key
	return key, !n.used.Full
}

// take reserves a key; false if it is in use.
func (n *names) take(key uint64) bool {
	before := n.used.Len()
	n.used.OfNumber(key)
	return n.used.Len() > before
}
