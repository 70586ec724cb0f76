package learned

import (
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// marking is shared by the marking policies. A request marks its object. A phase begins with a miss when every resident
// is marked; then all marks are cleared. Until then, a marked object is not evicted. Objects resident at the start of
// the phase are stale, all others clean.
//
// Marking policies differ in which unmarked object they evict.
type marking struct {
	policies.ByPredictions
	predictor predict.Predictor
	unmarked  forecast
	marked    dense.Set
	phase     uint32   // counts phases
	startedIn []uint32 // per object: the last phase at whose start it was resident
	bits      *rand.Rand
	capacity  int

	// choose returns the unmarked object to evict for a request to o at pos.
	choose func(o policies.Object, pos int) policies.Object
	// resized and grown report a new capacity and further objects; nil if choose depends on neither.
	resized func(capacity int64)
	grown   func(objects int)
}

func newMarking(c policies.Config) *marking {
	return &marking{
		predictor: c.Predictor, unmarked: newForecast(c.Predictor, c.Objects), marked: dense.NewSet(c.Objects),
		startedIn: make([]uint32, c.Objects), bits: rand.New(rand.NewPCG(c.Seed, 0)), capacity: int(c.Capacity),
	}
}

func (m *marking) Hit(r policies.Request) { m.hit(r.Object, r.Pos) }
func (m *marking) Miss(policies.Request)  {}

func (m *marking) Victim(r policies.Request) policies.Object {
	if r.Reason != policies.Demand {
		return m.giveUp(r.Pos)
	}
	return m.evict(r.Object, r.Pos)
}

// giveUp chooses and forgets a victim without a request, so that no phase begins. It takes the unmarked object that is
// predicted to be requested last or, if all are marked, roughly the one marked first.
func (m *marking) giveUp(pos int) (victim policies.Object) {
	if m.unmarked.size() > 0 {
		victim = m.unmarked.latest(pos)
	} else {
		victim = m.marked.All[0]
	}
	m.Remove(victim)
	return victim
}

// Insert leaves an object unmarked if it was not requested.
func (m *marking) Insert(r policies.Request) {
	if r.Reason != policies.Demand {
		m.unmarked.add(r.Object)
		m.unmarked.request(r.Object, r.Pos)
		return
	}
	m.load(r.Object, r.Pos)
}

func (m *marking) Remove(o policies.Object) {
	if m.unmarked.has(o) {
		m.unmarked.remove(o)
		return
	}
	m.marked.Remove(o)
}

func (m *marking) Resize(capacity int64) {
	m.capacity = int(capacity)
	if m.resized != nil {
		m.resized(capacity)
	}
}

func (m *marking) Grow(objects int) {
	m.unmarked.grow(objects)
	m.marked.Grow(objects)
	m.startedIn = dense.Grown(m.startedIn, objects)
	if m.grown != nil {
		m.grown(objects)
	}
}

func (m *marking) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	for i, o := range objects {
		if m.marked.Has(o) {
			hits++
			m.observe(o, first+i)
			continue
		}
		if m.unmarked.has(o) {
			hits++
			m.hit(o, first+i)
			continue
		}
		if m.unmarked.size()+len(m.marked.All) == m.capacity {
			m.evict(o, first+i)
			evictions++
		}
		m.load(o, first+i)
	}
	return hits, evictions
}

func (m *marking) hit(o policies.Object, pos int) {
	if m.unmarked.has(o) {
		m.unmarked.remove(o)
		m.marked.Add(o)
	}
	m.observe(o, pos)
}

func (m *marking) load(o policies.Object, pos int) {
	m.marked.Add(o)
	m.observe(o, pos)
}

func (m *marking) observe(o policies.Object, pos int) {
	m.unmarked.request(o, pos)
	m.predictor.Observe(o, pos)
}

func (m *marking) evict(o policies.Object, pos int) policies.Object {
	if m.unmarked.size() == 0 {
		m.startPhase()
	}
	v := m.choose(o, pos)
	m.unmarked.remove(v)
	return v
}

func (m *marking) startPhase() {
	m.phase++
	for _, o := range m.unmarked.members {
		m.startedIn[o] = m.phase
	}
	for _, o := range m.marked.All {
		m.startedIn[o] = m.phase
		m.unmarked.add(o)
	}
	m.marked.Clear()
}

// stale reports whether o was resident when the phase began.
func (m *marking) stale(o policies.Object) bool {
	return o != policies.NoObject && m.startedIn[o] == m.phase && m.phase > 0 // startedIn is 0 for none, too
}

// random returns one of the unmarked objects, uniformly.
func (m *marking) random() policies.Object {
	return m.unmarked.members[m.bits.IntN(m.unmarked.size())]
}

// randomOfAll returns one of the resident objects, uniformly.
func (m *marking) randomOfAll() policies.Object {
	i := m.bits.IntN(m.unmarked.size() + len(m.marked.All))
	if i < len(m.marked.All) {
		return m.marked.All[i]
	}
	return m.unmarked.members[i-len(m.marked.All)]
}
