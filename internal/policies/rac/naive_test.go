package rac

import (
	"cmp"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/policies"
)

// naive is algorithms 1 to 5 of the RAC paper (arXiv 2602.21547), exactly as written: an entry is inserted, then the
// least valuable one leaves, and everything is computed from the definitions each time.
type naive struct {
	capacity                        int
	alpha, lambda, damping          float64
	tauHit, tauRoute, tauEdge       float32
	window, shortlist, keep         int
	protectNew, reparent, sameTopic bool
	variant                         string
	pagerank, inTopic               bool
	labels                          []int32 // nil: by similarity
	sim                             func(a, b policies.Object) float32
	now, refreshes, newLinks        int
	resident                        map[policies.Object]*naiveEntry
	topics                          []*naiveTopic
	newcomer                        *naiveEntry

	// of rac-adaptive
	beta   float64
	weight float64       // exponent of the prevalence
	limit  int           // entries used last that stay
	recent []*naiveEntry // those, the one used last in front
}

type naiveEntry struct {
	id        policies.Object
	topic     *naiveTopic
	freq, dep int
	parent    *naiveEntry
	tIns      int
	tSeen     int
	uses      []int // times of the requests
	childUses []int // times of the requests that count for dep
}

type naiveTopic struct {
	label   int32
	hits    []int
	rep     policies.Object
	src     *naiveEntry
	members []*naiveEntry
}

// prevalence is Def. 1.
func (n *naive) prevalence(s *naiveTopic) (sum float64) {
	for _, i := range s.hits {
		sum += math.Exp2(-n.alpha * float64(n.now-i))
	}
	return sum
}

func (n *naive) importance(e *naiveEntry) float64 {
	if n.beta > 0 {
		return n.faded(e.uses) + n.lambda*n.faded(e.childUses)
	}
	if n.pagerank {
		return float64(e.freq) + n.lambda*float64(n.pageRank(e)-pageRankUnit)/pageRankUnit
	}
	return float64(e.freq) + n.lambda*float64(e.dep)
}

func (n *naive) faded(times []int) (sum float64) {
	for _, at := range times {
		sum += math.Exp2(-n.beta * float64(n.now-at))
	}
	return sum
}

// pageRank is the PageRank of e in units, where 1 is that of an entry without dependants.
func (n *naive) pageRank(e *naiveEntry) int64 {
	sum := int64(pageRankUnit)
	for _, c := range n.resident {
		if c.parent == e {
			sum += int64(math.Round(n.damping * float64(n.pageRank(c))))
		}
	}
	return sum
}

func (n *naive) value(e *naiveEntry) float64 {
	switch n.variant {
	case variantNoTP:
		return n.importance(e)
	case variantNoTSI:
		return n.prevalence(e.topic)
	case "topic-lru":
		return float64(e.topic.hits[len(e.topic.hits)-1])
	case "topic-lfu":
		return float64(len(e.topic.hits))
	}
	return math.Pow(n.prevalence(e.topic), n.weight) * n.importance(e)
}

// nearest orders topics by the similarity of their representatives to q.
func (n *naive) nearest(q policies.Object, topics []*naiveTopic) []*naiveTopic {
	var near []*naiveTopic
	for _, s := range topics {
		if n.sim(q, s.rep) >= n.tauRoute || s.rep == q {
			near = append(near, s)
		}
	}
	order := func(o policies.Object) int {
		if o == q {
			return -1
		}
		return int(o)
	}
	slices.SortFunc(near, func(a, b *naiveTopic) int {
		x, y := n.sim(q, a.rep), n.sim(q, b.rep)
		if a.rep == q || b.rep == q {
			x, y = 0, 0
		}
		return cmp.Or(cmp.Compare(y, x), cmp.Compare(order(a.rep), order(b.rep)))
	})
	return near
}

func (n *naive) searchTopic(q policies.Object) *naiveTopic {
	if n.labels != nil {
		for _, s := range n.topics {
			if s.label == n.labels[q] {
				return s
			}
		}
		return nil
	}
	list := n.nearest(q, n.topics)
	list = list[:min(len(list), n.shortlist)]
	for _, s := range list {
		if len(s.members) > 0 && s.src == nil {
			n.refresh(s)
		}
	}
	if list = n.nearest(q, list); len(list) > 0 {
		return list[0]
	}
	return nil
}

func (n *naive) refresh(s *naiveTopic) {
	n.refreshes++
	n.setSrc(s, slices.MaxFunc(s.members, func(a, b *naiveEntry) int {
		return cmp.Or(cmp.Compare(n.importance(a), n.importance(b)), cmp.Compare(a.tSeen, b.tSeen))
	}))
}

func (n *naive) setSrc(s *naiveTopic, e *naiveEntry) {
	s.src, s.rep = e, e.id
}

// lookup returns the entry that answers q.
func (n *naive) lookup(q policies.Object, z *naiveTopic) *naiveEntry {
	if e := n.resident[q]; e != nil {
		return e
	}
	var best *naiveEntry
	for _, e := range n.resident {
		if n.sim(q, e.id) < n.tauHit || n.inTopic && e.topic != z {
			continue
		}
		if best == nil || n.sim(q, e.id) > n.sim(q, best.id) || n.sim(q, e.id) == n.sim(q, best.id) && e.id < best.id {
			best = e
		}
	}
	return best
}

// arrive serves a query up to the evictions, and returns the entry that it hits, nil for a miss.
func (n *naive) arrive(q policies.Object) (hit *naiveEntry) {
	n.now++
	z := n.searchTopic(q)
	e := n.lookup(q, z)
	hit = e
	if hit != nil {
		z = hit.topic
	}
	if z == nil {
		z = &naiveTopic{rep: q}
		if n.labels != nil {
			z.label = n.labels[q]
		}
		n.topics = append(n.topics, z)
	}
	z.hits = append(z.hits, n.now)
	if hit == nil {
		e = &naiveEntry{id: q, topic: z, tIns: n.now}
	}
	n.updateTSI(e)
	n.newcomer = nil
	if hit != nil {
		n.use(e)
	}
	if hit == nil {
		n.newcomer = e
		n.resident[q] = e
		z.members = append(z.members, e)
		// Where importance fades, a new entry may be more important than the anchor, which stays nevertheless.
		if z.src == nil || n.beta == 0 && n.importance(e) > n.importance(z.src) {
			n.setSrc(z, e)
		}
	}
	return hit
}

// use makes e the entry used last.
func (n *naive) use(e *naiveEntry) {
	n.recent = slices.DeleteFunc(n.recent, func(m *naiveEntry) bool { return m == e })
	n.recent = slices.Insert(n.recent, 0, e)
	n.recent = n.recent[:min(len(n.recent), n.limit)]
}

// settle ends a request: the new entry is one like all others.
func (n *naive) settle() {
	if n.newcomer != nil && n.resident[n.newcomer.id] == n.newcomer {
		n.use(n.newcomer)
	}
	n.newcomer = nil
}

func (n *naive) updateTSI(e *naiveEntry) {
	e.freq++
	e.uses = append(e.uses, n.now)
	isNew := false
	if e.parent != nil && n.reparent && !n.has(e.parent) {
		e.parent = nil
	}
	if e.parent == nil {
		e.parent, isNew = n.detectParent(e), true
	}
	if e.parent != nil && n.has(e.parent) {
		p := n.resident[e.parent.id]
		if isNew {
			n.newLinks++
			p.dep += e.freq
			p.childUses = append(p.childUses, slices.Repeat([]int{n.now}, e.freq)...)
		} else {
			p.dep++
			p.childUses = append(p.childUses, n.now)
		}
	}
	e.tSeen = n.now
}

func (n *naive) has(parent *naiveEntry) bool {
	if n.pagerank {
		return n.resident[parent.id] == parent
	}
	return n.resident[parent.id] != nil
}

func (n *naive) detectParent(e *naiveEntry) (best *naiveEntry) {
	score := func(k *naiveEntry) float64 { return float64(n.sim(e.id, k.id)) / float64(n.now-k.tSeen) }
	for _, k := range n.resident {
		if k == e || n.now-k.tSeen < 1 || n.now-k.tSeen > n.window || n.sameTopic && k.topic != e.topic ||
			n.sim(e.id, k.id) < n.tauEdge || k.tIns >= e.tIns {
			continue
		}
		if best == nil || score(k) > score(best) || score(k) == score(best) && n.sim(e.id, k.id) > n.sim(e.id, best.id) {
			best = k
		}
	}
	return best
}

// victim returns the least valuable entry that may leave.
func (n *naive) victim() *naiveEntry {
	var least *naiveEntry
	for _, e := range n.resident {
		if e == n.newcomer && n.protectNew || slices.Contains(n.recent, e) {
			continue
		}
		if least == nil || cmp.Or(cmp.Compare(n.value(e), n.value(least)), cmp.Compare(e.tSeen, least.tSeen)) < 0 {
			least = e
		}
	}
	if least == nil {
		return n.recent[len(n.recent)-1]
	}
	return least
}

func (n *naive) evict(e *naiveEntry) {
	delete(n.resident, e.id)
	n.recent = slices.DeleteFunc(n.recent, func(m *naiveEntry) bool { return m == e })
	s := e.topic
	s.members = slices.DeleteFunc(s.members, func(m *naiveEntry) bool { return m == e })
	if s.src == e {
		s.src = nil
	}
	dead := n.dead()
	if len(s.members) == 0 && len(dead) > n.keep {
		least := slices.MinFunc(dead, func(a, b *naiveTopic) int {
			return cmp.Or(cmp.Compare(n.prevalence(a), n.prevalence(b)),
				cmp.Compare(a.hits[len(a.hits)-1], b.hits[len(b.hits)-1]))
		})
		n.topics = slices.DeleteFunc(n.topics, func(m *naiveTopic) bool { return m == least })
	}
}

func (n *naive) dead() (dead []*naiveTopic) {
	for _, s := range n.topics {
		if len(s.members) == 0 {
			dead = append(dead, s)
		}
	}
	return dead
}
