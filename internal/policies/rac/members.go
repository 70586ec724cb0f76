package rac

import "github.com/cachesim/cachesim/internal/policies"

// entryState is what is known about an entry that is resident or about to be inserted.
type entryState struct {
	importance float64 // TSI
	dependants int64   // dep: requests to entries that build on it, or its PageRank less one in units of 1/pageRankUnit
	given      int64   // what it adds to dependants of its parent; structure=pagerank only
	requests   uint32  // freq
	inserted   uint32  // the request that made it an entry
	topic      topicID
	parent     policies.Object // the entry on which it builds, or none
	// inserted of the parent when it was found, to tell it from a later entry with the same number
	parentOf uint32
	// The evictable entries of a topic are a pairing heap with the least on top. These links are all of its memory. Adding
	// an entry takes constant time, removing one amortized logarithmic time in the topic's entries. back: the previous
	// sibling or, for the first one, the parent in the heap; none at the top
	child, sibling, back policies.Object
}

// before reports whether a is evicted before b of the same topic: the less important one is. Ties, or all if importance
// does not count, go to the one requested longer ago. No two were requested at the same time.
func (p *policy) before(a, b policies.Object) bool {
	if p.ranksMembers {
		if x, y := p.entries[a].importance, p.entries[b].importance; x != y {
			return x < y
		}
	}
	return p.seen[a] < p.seen[b]
}

// meld merges two heaps, either of which may be none, and returns the top. Neither top has siblings.
func (p *policy) meld(a, b policies.Object) policies.Object {
	switch {
	case a == none:
		return b
	case b == none:
		return a
	case p.before(b, a):
		a, b = b, a
	}
	top, under := &p.entries[a], &p.entries[b]
	if under.sibling = top.child; top.child != none {
		p.entries[top.child].back = b
	}
	top.child, under.back = b, a
	return a
}

// add makes o evictable.
func (p *policy) add(o policies.Object) {
	e := &p.entries[o]
	e.child, e.sibling, e.back = none, none, none
	t := &p.topics[e.topic]
	t.least = p.meld(t.least, o)
}

// take removes o from the evictable entries of its topic.
func (p *policy) take(o policies.Object) {
	e := &p.entries[o]
	t := &p.topics[e.topic]
	rest := p.meldSiblings(e.child)
	if o == t.least {
		t.least = rest
		return
	}
	if p.entries[e.back].child == o {
		p.entries[e.back].child = e.sibling
	} else {
		p.entries[e.back].sibling = e.sibling
	}
	if e.sibling != none {
		p.entries[e.sibling].back = e.back
	}
	t.least = p.meld(t.least, rest)
}

// meldSiblings merges a list of heaps: in pairs from the first on, then the pairs from the last on. These two passes
// make removal logarithmic (Fredman, Sedgewick, Sleator and Tarjan, The pairing heap, Algorithmica 1986).
func (p *policy) meldSiblings(first policies.Object) policies.Object {
	pairs := none // the last first, linked by sibling
	for first != none {
		a := first
		b := p.entries[a].sibling
		first = none
		p.entries[a].sibling, p.entries[a].back = none, none
		if b != none {
			first = p.entries[b].sibling
			p.entries[b].sibling, p.entries[b].back = none, none
		}
		pair := p.meld(a, b)
		p.entries[pair].sibling = pairs
		pairs = pair
	}
	top := none
	for pairs != none {
		next := p.entries[pairs].sibling
		p.entries[pairs].sibling = none
		top = p.meld(top, pairs)
		pairs = next
	}
	return top
}

// mostImportant returns the most important entry of s; ties go to the one requested last. The heap has the least on
// top, so it looks at all evictable entries of s, and at all that were used last, of any topic.
func (p *policy) mostImportant(s topicID) policies.Object {
	best := none
	consider := func(o policies.Object) {
		if best == none {
			best = o
			return
		}
		x, y := p.entries[o].importance, p.entries[best].importance
		if x > y || x == y && p.seen[o] > p.seen[best] {
			best = o
		}
	}
	for o := p.topics[s].least; o != none; o = p.following(o) {
		consider(o)
	}
	if p.recent.n == 0 {
		return best
	}
	for o, ok := p.recent.list.Front(0); ok; o, ok = p.recent.list.After(o) {
		if p.entries[o].topic == s {
			consider(o)
		}
	}
	return best
}

// following returns the entry that comes after o in a walk through the heap of its topic, or none after the last.
func (p *policy) following(o policies.Object) policies.Object {
	if child := p.entries[o].child; child != none {
		return child
	}
	for {
		e := &p.entries[o]
		if e.sibling != none {
			return e.sibling
		}
		// up to the parent in the heap: back along the siblings
		for e.back != none && p.entries[e.back].child != o {
			o = e.back
			e = &p.entries[o]
		}
		if e.back == none {
			return none
		}
		o = e.back
	}
}
