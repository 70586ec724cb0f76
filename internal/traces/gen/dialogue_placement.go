package gen

import "slices"

// placement knows, while sessions are ordered, which of them are requested long after their last use.
type placement struct {
	plan       *dialoguePlan
	episode    int     // current
	lastOf     []int32 // per session: the last episode that used it, -1 before the first
	anchorLast []int32 // per anchor
	weights    []int   // per episode: number of questions last used in it
	far        int     // last episode followed by at least capacity distinct questions, -1 if there is none
	since      int     // distinct questions after it

	candidates, later []int32
}

func newPlacement(p *dialoguePlan) *placement {
	never := []int32{-1}
	return &placement{plan: p, lastOf: slices.Repeat(never, len(p.pool)),
		anchorLast: slices.Repeat(never, maxAnchors*len(p.anchors)), weights: make([]int, len(p.topicOf)), far: -1}
}

// take returns the next session of a topic: a new one, or a repeated one with a long or a short reuse. which, in [0,1),
// chooses among several. If none is of the requested kind, it returns a new one or, if all have been used, one of the
// other kind. With spare, sessions whose anchors were used recently are taken only if there are no others.
func (m *placement) take(topic int, repeat, long, spare bool, which float64) int32 {
	number := int32(-1)
	if repeat {
		number = m.choose(topic, m.isKnown(long), spare, which)
	}
	for _, kind := range []func(int32) bool{m.isNew, m.isKnown(long), m.isKnown(!long)} {
		if number < 0 {
			number = m.choose(topic, kind, spare, which)
		}
	}
	m.ask(number)
	return number
}

// isNew reports whether a session has not been used yet.
func (m *placement) isNew(number int32) bool { return m.lastOf[number] < 0 }

// isKnown returns a function that reports whether a session was used before and its reuse would be long, or not long.
func (m *placement) isKnown(long bool) func(number int32) bool {
	return func(number int32) bool { return !m.isNew(number) && m.isFar(m.lastOf[number]) == long }
}

// isFar reports whether a reuse of an episode's questions would be long.
func (m *placement) isFar(episode int32) bool { return int(episode) <= m.far }

// choose returns a session of a topic of that kind, -1 if there is none.
func (m *placement) choose(topic int, isKind func(int32) bool, spare bool, which float64) int32 {
	m.candidates, m.later = m.candidates[:0], m.later[:0]
	for i := range m.plan.sessions {
		number := int32(topic*m.plan.sessions + i)
		if !isKind(number) {
			continue
		}
		m.candidates = append(m.candidates, number)
		if m.anchorsFar(number) {
			m.later = append(m.later, number)
		}
	}
	from := m.candidates
	if spare && len(m.later) > 0 {
		from = m.later
	}
	if len(from) == 0 {
		return -1
	}
	return from[int(which*float64(len(from)))]
}

// anchorsFar reports whether no anchor of a session was used recently.
func (m *placement) anchorsFar(number int32) bool {
	family := int(m.plan.pool[number].family)
	for i := range int(m.plan.anchors[family]) {
		if !m.isFar(m.anchorLast[maxAnchors*family+i]) {
			return false
		}
	}
	return true
}

// ask records that a session is used in the current episode.
func (m *placement) ask(number int32) {
	s := m.plan.pool[number]
	anchors := int(m.plan.anchors[s.family])
	m.move(&m.lastOf[number], int(s.length)-anchors)
	for i := range anchors {
		m.move(&m.anchorLast[maxAnchors*int(s.family)+i], 1)
	}
	// A question counts in the last episode that used it, so since is the reuse distance of the questions of far.
	for m.far+1 < m.episode && m.since-m.weights[m.far+1] >= m.plan.capacity {
		m.far++
		m.since -= m.weights[m.far]
	}
	m.episode++
}

// move records that n questions, last used in the episode last, are used in the current one.
func (m *placement) move(last *int32, n int) {
	if *last >= 0 {
		m.weights[*last] -= n
	}
	if int(*last) <= m.far {
		m.since += n
	}
	*last = int32(m.episode)
	m.weights[m.episode] += n
}
