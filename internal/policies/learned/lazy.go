package learned

import (
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// lazyParam says which object a lazy cache evicts.
var lazyParam = policies.Param{Name: "lazy", Default: "recency", Choices: []string{"recency", byLoad},
	Doc: "which of the objects that the followed policy does not hold is evicted: the one requested longest ago, as in " +
		"OptiSys-ZJU/Cache-Coliseum; or the one loaded longest ago, as in adampolak/mts-with-predictions"}

// byLoad is the value of lazyParam for the object loaded longest ago.
const byLoad = "load"

// lazy is a cache that follows one of several simulated caches, its targets. On a miss it loads only the missed object.
// It evicts an object that its target does not hold: the least recently requested or, if byLoad, the least recently
// loaded. So it never has more misses than a target that it follows all the time, however often the target exchanges
// objects. Switching to another target has no immediate cost.
//
// Every operation takes logarithmic time in the capacity. Memory: 1 byte per object, and 8 per object and target.
type lazy struct {
	resident []bool
	byLoad   bool       // it evicts what was loaded longest ago
	surplus  []forecast // per target: residents that it does not hold, by recency
}

func newLazy(objects, targets int, byLoad bool) lazy {
	l := lazy{resident: make([]bool, objects), byLoad: byLoad, surplus: make([]forecast, targets)}
	for t := range l.surplus {
		l.surplus[t] = newForecast(equalPredictions{}, objects)
	}
	return l
}

// grow makes room for objects up to objects-1.
func (l *lazy) grow(objects int) {
	l.resident = dense.Grown(l.resident, objects)
	for t := range l.surplus {
		l.surplus[t].grow(objects)
	}
}

// equalPredictions makes recency decide which member of a forecast is the latest.
type equalPredictions struct{}

func (equalPredictions) Observe(predict.Object, int)                       {}
func (equalPredictions) Predict(_ []predict.Object, _ int, next []float64) { clear(next) }
func (equalPredictions) Steady() bool                                      { return true }

// targetLoads records that target t now holds o.
func (l *lazy) targetLoads(t int, o policies.Object) {
	if l.surplus[t].has(o) {
		l.surplus[t].remove(o)
	}
}

// targetEvicts records that target t no longer holds o.
func (l *lazy) targetEvicts(t int, o policies.Object) {
	if l.resident[o] {
		l.surplus[t].add(o)
	}
}

// request records a request to o, which every target now holds, before o is loaded if it is not resident.
func (l *lazy) request(o policies.Object, pos int) {
	if l.byLoad && l.resident[o] {
		return // the order is by load, which a hit does not change
	}
	for t := range l.surplus {
		l.surplus[t].request(o, pos)
	}
}

// evict makes room for an object that is in target t, at the request at pos. There are as many residents as t can hold,
// so some are not in t.
func (l *lazy) evict(t, pos int) policies.Object {
	v := l.surplus[t].latest(pos)
	l.remove(v)
	return v
}

// insert records that o is now resident. Every target holds it.
func (l *lazy) insert(o policies.Object) { l.resident[o] = true }

// insertBeside records that o, which no target holds, is now resident.
func (l *lazy) insertBeside(o policies.Object, pos int) {
	l.resident[o] = true
	for t := range l.surplus {
		l.surplus[t].request(o, pos)
		l.surplus[t].add(o)
	}
}

func (l *lazy) remove(o policies.Object) {
	l.resident[o] = false
	for t := range l.surplus {
		l.targetLoads(t, o) // only residents are surplus
	}
}

// simulated is a cache under some policy that stores nothing.
type simulated struct {
	dense.Set
	policy   policies.Policy
	capacity int
}

// newSimulated returns an empty cache under the policy that m makes. The caller reports each request to the predictor.
func newSimulated(c policies.Config, m maker) (*simulated, error) {
	c.Holds = false
	if c.Predictor != nil {
		c.Predictor = unobserved{c.Predictor}
	}
	policy, err := m(c)
	if err != nil {
		return nil, err
	}
	return &simulated{Set: dense.NewSet(c.Objects), policy: policy, capacity: int(c.Capacity)}, nil
}

// unobserved is a predictor that gets its requests from elsewhere.
type unobserved struct{ predict.Predictor }

func (unobserved) Observe(predict.Object, int) {}

// Unwrap implements predict.Wrapper, so that predictions which last are kept.
func (u unobserved) Unwrap() predict.Predictor { return u.Predictor }

// serve serves one request, or loads an object without one; victim was evicted if evicted.
func (s *simulated) serve(r policies.Request) (victim policies.Object, evicted, hit bool) {
	if s.Has(r.Object) {
		if r.Reason == policies.Demand {
			s.policy.Hit(r)
		}
		return 0, false, true
	}
	s.policy.Miss(r)
	if len(s.All) == s.capacity {
		victim, evicted = s.policy.Victim(r), true
		s.Remove(victim)
	}
	s.policy.Insert(r)
	s.Add(r.Object)
	return victim, evicted, false
}

// giveUp removes the object that the policy would evict first.
func (s *simulated) giveUp(pos int) policies.Object {
	victim := s.policy.Victim(policies.Request{
		Object: policies.NoObject, Query: policies.NoObject, Pos: pos, Reason: policies.Shrink,
	})
	s.Remove(victim)
	return victim
}

// resize changes the capacity; evicted is called for each object that no longer fits.
func (s *simulated) resize(capacity int64, pos int, evicted func(victim policies.Object)) {
	s.capacity = int(capacity)
	if p, ok := s.policy.(policies.Resizer); ok {
		p.Resize(capacity)
	}
	for len(s.All) > s.capacity {
		evicted(s.giveUp(pos))
	}
}

// grow makes room for objects up to objects-1.
func (s *simulated) grow(objects int) {
	s.Set.Grow(objects)
	if p, ok := s.policy.(policies.Grower); ok {
		p.Grow(objects)
	}
}
