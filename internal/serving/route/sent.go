package route

import "github.com/cachesim/cachesim/internal/policies/dense"

// sentBlocks remember for each node which blocks were sent to it, in the order in which they were touched.
type sentBlocks struct {
	of      []sentTo
	holders []uint16 // per block: the nodes that have it
}

type sentTo struct {
	has    []bool // nil before the first prompt
	recent dense.Lists
	blocks int64
}

// sentBytes is their memory per block of the trace and node.
const sentBytes = 8 + 1 + 2

func newSentBlocks(c Config) sentBlocks {
	return sentBlocks{of: make([]sentTo, c.Nodes), holders: make([]uint16, c.Objects)}
}

// known returns how many of the first blocks some node has, all of them.
func (s *sentBlocks) known(blocks []dense.Object) (n int) {
	for n < len(blocks) && s.holders[blocks[n]] > 0 {
		n++
	}
	return n
}

func (s *sentBlocks) has(node int, block dense.Object) bool {
	return s.of[node].has != nil && s.of[node].has[block]
}

// touch adds a block, or moves it to the front.
func (s *sentBlocks) touch(node int, block dense.Object) {
	one := &s.of[node]
	switch {
	case one.has == nil:
		one.has, one.recent = make([]bool, len(s.holders)), dense.NewLists(len(s.holders), 1)
	case one.has[block]:
		one.recent.MoveToFront(0, block)
		return
	}
	one.has[block] = true
	one.blocks++
	one.recent.PushFront(0, block)
	s.holders[block]++
}

// shrink evicts the blocks that were touched longest ago until a node has at most room.
func (s *sentBlocks) shrink(node int, room int64) {
	for one := &s.of[node]; one.blocks > room; {
		block := one.recent.PopBack(0)
		one.has[block] = false
		one.blocks--
		s.holders[block]--
	}
}

// keep forgets the nodes from n on.
func (s *sentBlocks) keep(n int) {
	for node := n; node < len(s.of); node++ {
		s.shrink(node, 0)
	}
}
