package rac

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies"
)

// touch counts the current request to o, or its load, and updates its importance. A request also links o to the entry
// that it builds on, and moves that entry to its new place.
func (p *policy) touch(o policies.Object, requested bool) {
	e := &p.entries[o]
	e.requests++
	if p.fades() {
		e.importance += p.sums.importance.now
	}
	p.seen[o] = p.clock
	if p.links && requested {
		p.link(o)
	}
	p.weigh(o)
}

// weigh computes the importance of o, unless it is a sum that fades.
func (p *policy) weigh(o policies.Object) {
	if p.fades() {
		return
	}
	e := &p.entries[o]
	e.importance = float64(e.requests) + float64(p.lambda*(float64(e.dependants)*p.dependantsPerUnit))
}

// link reports the request to o to the entry that o builds on.
func (p *policy) link(o policies.Object) {
	e := &p.entries[o]
	isNew := false
	if e.parent == none || p.reparent && !p.hasParent(e) {
		e.parent = p.detectParent(o)
		isNew = e.parent != none
	}
	switch {
	case e.parent == none || p.seen[e.parent] == 0:
		return
	case isNew:
		p.figures.links++
		e.parentOf, e.given = p.entries[e.parent].inserted, 0
	}
	switch {
	case !p.pagerank && isNew: // dep is a sum of frequencies (definition 2), so earlier requests count, too
		p.raise(e.parent, int64(e.requests))
	case !p.pagerank:
		p.raise(e.parent, 1)
	case isNew:
		p.give(o)
	}
}

// hasParent reports whether the parent of e, which has one, is resident. With PageRank an entry that was evicted and
// loaded again counts as another node.
func (p *policy) hasParent(e *entryState) bool {
	return p.seen[e.parent] != 0 && (!p.pagerank || p.entries[e.parent].inserted == e.parentOf)
}

// detectParent returns the entry that o, just requested, builds on. Candidates are similar entries that were requested
// within the window and inserted before it. The highest similarity per request since wins; ties go to the more similar
// entry, then to the one requested last.
func (p *policy) detectParent(o policies.Object) policies.Object {
	if p.similar == nil {
		return none
	}
	parent, best := none, -1.0
	ids, similarities := p.similar.Of(o)
	self := &p.entries[o]
	for i, id := range ids {
		similarity := similarities[i]
		// No later candidate is more similar, and a score is at most the similarity: o itself is the last request.
		if similarity < p.tauEdge || float64(similarity) < best {
			break
		}
		seen := p.seen[id]
		if seen == 0 || p.clock-seen > p.window {
			continue
		}
		k := &p.entries[id]
		if p.sameTopic && k.topic != self.topic || k.inserted >= self.inserted {
			continue
		}
		if score := float64(similarity) / float64(p.clock-seen); score > best {
			parent, best = id, score
		}
	}
	return parent
}

// raise adds to the dependants of o, which is resident, and moves it to its new place.
func (p *policy) raise(o policies.Object, amount int64) {
	e := &p.entries[o]
	moves := p.ranksMembers && !p.recent.has(o)
	if moves {
		p.take(o)
	}
	e.dependants += amount
	if p.fades() {
		e.importance += float64(p.lambda * float64(amount) * p.sums.importance.now)
	}
	p.weigh(o)
	if moves {
		p.add(o)
		p.rank(e.topic)
	}
}

// pageRankUnit is the number of units in a PageRank of 1. PageRank is counted in whole units, so that it does not
// depend on the order in which links came and went.
const pageRankUnit = 1 << 20

// give updates what o adds to the PageRank of the entry that it builds on, and so on along the chain. A change shrinks
// by the damping at every step, and ends when it is less than a unit.
func (p *policy) give(o policies.Object) {
	for {
		e := &p.entries[o]
		given := int64(math.Round(p.damping * float64(pageRankUnit+e.dependants)))
		change := given - e.given
		if change == 0 {
			return
		}
		e.given = given
		p.raise(e.parent, change)
		o = e.parent
		if up := &p.entries[o]; up.parent == none || !p.hasParent(up) {
			return
		}
	}
}

// unlink takes back what o, which is removed, has added to the PageRank of others.
func (p *policy) unlink(o policies.Object) {
	e := &p.entries[o]
	if !p.pagerank || e.parent == none || !p.hasParent(e) || e.given == 0 {
		return
	}
	p.raise(e.parent, -e.given)
	o = e.parent
	if up := &p.entries[o]; up.parent != none && p.hasParent(up) {
		p.give(o)
	}
}
