package prompts

import (
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// chains gives the blocks of prompts their keys. A block is the tokens of its id together with everything before them
// in the prompt: it is identified by the block before it and by its id, like a node of a trie. Its key is its id if the
// id was first seen after that block, so ids that are hashes of the whole prefix stay as they are. An id that also
// comes after another block, or twice in a prompt, gets a key made of both there.
type chains struct {
	ids *stream.Numbering // the ids seen so far, and the keys made
	// parents has, per number, the key before it when it was first seen. It has no meaning in roots and made.
	parents []uint64
	roots   stream.Bitset // per number: it was first seen at the start of a prompt
	made    stream.Bitset // per number: it is a made key
	others  map[chainLink]uint64
	before  uint64 // key of the last block
}

// chainLink is an id and the key before it; root means that there is none.
type chainLink struct {
	before, id uint64
	root       bool
}

func newChains() *chains { return &chains{ids: stream.NewNumbering(), others: map[chainLink]uint64{}} }

// resolve replaces the id in rec, the next block of its prompt, by the key of the block. It returns false if there are
// more ids than a trace can have objects.
func (c *chains) resolve(rec *stream.Record) bool {
	link := chainLink{id: rec.Num, root: rec.Begins}
	if !rec.Begins {
		link.before = c.before
	}
	number, isNew := c.number(link.id)
	switch {
	case isNew:
		c.parents[number] = link.before
		if link.root {
			c.roots.Set(int(number))
		}
	case c.made.Has(int(number)), c.roots.Has(int(number)) != link.root, c.parents[number] != link.before:
		rec.Num = c.other(link)
	}
	c.before = rec.Num
	return !c.ids.Full
}

// number returns the number of an id or a key, and whether it is new.
func (c *chains) number(id uint64) (number uint32, isNew bool) {
	number = c.ids.OfNumber(id)
	if c.ids.Len() == len(c.parents) {
		return number, false
	}
	c.parents = append(c.parents, 0)
	return number, true
}

// other returns the key of a block whose id was first seen elsewhere.
func (c *chains) other(link chainLink) uint64 {
	if key, ok := c.others[link]; ok {
		return key
	}
	key := random.Scramble(random.Scramble(link.before) + link.id)
	for !c.ids.Full {
		number, isNew := c.number(key)
		if isNew {
			c.made.Set(int(number))
			break
		}
		key++ // in use
	}
	c.others[link] = key
	return key
}
