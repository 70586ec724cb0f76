package rac

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/similarity"
)

// none is the number of no object and no topic.
const none = ^uint32(0)

// topicID is the number of a topic. Numbers of forgotten topics are reused.
type topicID = uint32

// topic is what is known about a topic, with or without entries.
type topic struct {
	prevalence float64 // TP at the last request
	last       uint32  // the last request
	members    uint32  // entries, including the one that is about to be inserted
	least      policies.Object
	ranked     float64 // its place among the topics with evictable entries

	// when it got that place: its last request, and the importance of the least entry
	rankedAt    uint32
	rankedLeast float64

	// The representative is the query that others are compared with to join the topic. It is the anchor or, once the
	// anchor has been evicted, the last anchor until a new one is needed.
	anchor         policies.Object
	representative policies.Object

	label       uint32
	shortlisted uint32 // the last search that looked at it
}

// topicIndex finds the topic of a query: by similarity to representatives, or by label.
type topicIndex struct {
	topics []topic
	unused []topicID

	// Per label the topic, or none; nil if topics go by similarity. Each object without a label is a topic of its own,
	// with a label after the others.
	byLabel []topicID
	labels  []int32
	first   uint32 // the label of object 0 as a topic of its own

	similar   *similarity.Neighbours // nil if no similarities are known
	from      float32
	shortlist int
	presents  []topicID // per object: the topic that it represents, or none
	staleNear []int32   // per object: how many topics it could join that have entries but no anchor
	searches  uint32
	looked    []topicID // the topics of the last search

	refreshes int64
}

func newTopicIndex(c policies.Config, from float32) (topicIndex, error) {
	relations := c.Relations
	if relations == nil {
		relations = &policies.Relations{}
	}
	x := topicIndex{from: from, shortlist: c.Params.Int("shortlist"), similar: relations.Similar}
	switch {
	case c.Params.Text("routing") == routeLabel && relations.Topics == nil:
		return x, fmt.Errorf("routing=%s needs a trace with topic labels or with key prefixes; this one "+
			"has neither", routeLabel)
	case c.Params.Text("routing") == routeLabel || x.similar == nil:
		x.useLabels(relations.Topics, c.Objects)
		return x, nil
	}
	x.presents, x.staleNear = make([]topicID, c.Objects), make([]int32, c.Objects)
	for o := range x.presents {
		x.presents[o] = none
	}
	return x, nil
}

func (x *topicIndex) useLabels(labels []int32, objects int) {
	x.labels = labels
	for _, label := range labels {
		x.first = max(x.first, uint32(label+1))
	}
	x.byLabel = make([]topicID, int(x.first)+objects)
	for i := range x.byLabel {
		x.byLabel[i] = none
	}
}

// grow makes room for objects up to objects-1.
func (x *topicIndex) grow(objects int) {
	if x.byLabel != nil {
		x.byLabel = dense.GrownWith(x.byLabel, int(x.first)+objects, none)
		return
	}
	x.presents = dense.GrownWith(x.presents, objects, none)
	x.staleNear = dense.Grown(x.staleNear, objects)
}

func (x *topicIndex) labelOf(o policies.Object) uint32 {
	if int(o) < len(x.labels) && x.labels[o] >= 0 {
		return uint32(x.labels[o])
	}
	return x.first + o
}

// found makes a topic for a query that belongs to none.
func (x *topicIndex) found(q policies.Object) topicID {
	var s topicID
	if n := len(x.unused); n > 0 {
		s = x.unused[n-1]
		x.unused = x.unused[:n-1]
	} else {
		s = topicID(len(x.topics))
		x.topics = append(x.topics, topic{})
	}
	x.topics[s] = topic{least: none, anchor: none, representative: none}
	if x.byLabel != nil {
		x.topics[s].label = x.labelOf(q)
		x.byLabel[x.labelOf(q)] = s
	}
	return s
}

// forget removes a topic without entries.
func (x *topicIndex) forget(s topicID) {
	if x.byLabel != nil {
		x.byLabel[x.topics[s].label] = none
	} else {
		x.represent(s, none)
	}
	x.unused = append(x.unused, s)
}

// represent makes q the representative of s. q represents no other topic: such a topic would have been nearest when q
// became an entry of s.
func (x *topicIndex) represent(s topicID, q policies.Object) {
	if old := x.topics[s].representative; old != none {
		x.presents[old] = none
	}
	if x.topics[s].representative = q; q != none {
		x.presents[q] = s
	}
}

// isStale reports whether t has entries and none of them is its anchor.
func (t *topic) isStale() bool { return t.members > 0 && t.anchor == none }

// countStale adds to the number of stale topics that queries could join, for those that could join t. Anchors leave far
// less often than queries hit, so that it is cheaper to count here than to search with each query.
func (x *topicIndex) countStale(t *topic, change int32) {
	if x.staleNear == nil {
		return
	}
	x.staleNear[t.representative] += change
	ids, similarities := x.similar.Of(t.representative)
	for i, id := range ids {
		if similarities[i] < x.from {
			return
		}
		x.staleNear[id] += change
	}
}

// mayRenew reports whether a search for the topic of q may renew anchors.
func (x *topicIndex) mayRenew(q policies.Object) bool {
	return x.staleNear != nil && x.staleNear[q] > 0
}

// join counts o among the entries of s. A new entry does not replace the anchor: a single request gives the least
// importance there is, unless importance fades, and then anchors would move all the time.
func (x *topicIndex) join(s topicID, o policies.Object) {
	t := &x.topics[s]
	t.members++
	if t.anchor == none {
		x.settle(s, o)
	}
}

// settle makes o, an entry of s, its anchor.
func (x *topicIndex) settle(s topicID, o policies.Object) {
	t := &x.topics[s]
	t.anchor = o
	if x.byLabel == nil && t.representative != o {
		x.represent(s, o)
	}
}

// leave removes o from the entries of s. The representative of s stays.
func (x *topicIndex) leave(s topicID, o policies.Object) {
	t := &x.topics[s]
	wasStale := t.isStale()
	t.members--
	if t.anchor == o {
		t.anchor = none
	}
	switch {
	case t.isStale() && !wasStale:
		x.countStale(t, 1)
	case wasStale && !t.isStale():
		x.countStale(t, -1)
	}
}

// search returns the topic of a query: the one of the shortlist whose representative is nearest, if it is near enough.
// Ties go to the representative that came first in the trace. Topics on the shortlist that have lost their anchor get a
// new one first.
func (p *policy) search(q policies.Object) topicID {
	x := &p.topicIndex
	if x.byLabel != nil {
		return x.byLabel[x.labelOf(q)]
	}
	ids, similarities := x.similar.Of(q)
	x.searches++
	x.looked = x.looked[:0]
	refreshed := 0
	renews := x.mayRenew(q)
	nearest := x.look(q)
	for i, id := range ids {
		// The first topic found is the nearest. The others matter only while there are anchors to renew.
		if similarities[i] < x.from || !renews && nearest != none || len(x.looked) == x.shortlist {
			break
		}
		if s := x.look(id); nearest == none {
			nearest = s
		}
	}
	for _, s := range x.looked {
		if t := &x.topics[s]; t.isStale() {
			x.countStale(t, -1)
			x.settle(s, p.mostImportant(s))
			refreshed++
		}
	}
	if refreshed == 0 {
		return nearest
	}
	x.refreshes += int64(refreshed)
	return x.nearestLooked(q)
}

// look puts the topic that o represents on the shortlist, and returns it.
func (x *topicIndex) look(o policies.Object) topicID {
	s := x.presents[o]
	if s != none {
		x.topics[s].shortlisted = x.searches
		x.looked = append(x.looked, s)
	}
	return s
}

// nearestLooked returns the topic of the shortlist whose representative is nearest to q.
func (x *topicIndex) nearestLooked(q policies.Object) topicID {
	if x.isLooked(x.presents[q]) {
		return x.presents[q]
	}
	ids, similarities := x.similar.Of(q)
	for i, id := range ids {
		if similarities[i] < x.from {
			break
		}
		if x.isLooked(x.presents[id]) {
			return x.presents[id]
		}
	}
	return none
}

func (x *topicIndex) isLooked(s topicID) bool {
	return s != none && x.topics[s].shortlisted == x.searches
}
