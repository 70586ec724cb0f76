package learned

import (
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// following is shared by policies that consult a simulated cache under fpb. Their lazy cache follows another simulated
// cache, which may exchange objects without a request.
type following struct {
	predictor predict.Predictor
	followed  *simulated // fpb
	cache     lazy       // the real residents
	simulated dense.Set  // the objects of the followed cache
	// serve updates the simulated cache for a request.
	serve    func(policies.Request)
	capacity int
	pos      int // of the last request
}

func newFollowing(c policies.Config, byLoad bool) (following, error) {
	followed, err := newSimulated(c, fpbAlone)
	return following{predictor: c.Predictor, followed: followed, cache: newLazy(c.Objects, 1, byLoad),
		simulated: dense.NewSet(c.Objects), capacity: int(c.Capacity)}, err
}

// resize changes the capacity of the cache of fpb and empties the simulated one. The real residents stay until their
// room is needed. evicted is called for each object that fpb evicts.
func (f *following) resize(capacity int64, evicted func(victim policies.Object)) {
	f.capacity = int(capacity)
	f.followed.resize(capacity, f.pos, evicted)
	for len(f.simulated.All) > 0 {
		f.drop(f.simulated.All[len(f.simulated.All)-1])
	}
}

func (f *following) Grow(objects int) {
	f.followed.grow(objects)
	f.cache.grow(objects)
	f.simulated.Grow(objects)
}

func (f *following) Hit(r policies.Request) {
	f.request(r)
	f.predictor.Observe(r.Object, r.Pos)
}

// Miss changes the simulated cache only if the trace requests the object: other loads go beside it.
func (f *following) Miss(r policies.Request) {
	if r.Reason == policies.Demand {
		f.request(r)
	}
}

// Victim takes an object that the simulated cache does not hold. For a request of the trace there always is one;
// otherwise the least recently requested resident is evicted.
func (f *following) Victim(r policies.Request) policies.Object {
	if f.cache.surplus[0].size() > 0 {
		return f.cache.evict(0, r.Pos)
	}
	v := f.leastRecent()
	f.cache.remove(v)
	return v
}

// leastRecent returns the least recently requested resident, for when the simulated cache holds them all.
func (f *following) leastRecent() policies.Object {
	oldest, requested := policies.NoObject, f.cache.surplus[0].requested
	for _, o := range f.simulated.All {
		if f.cache.resident[o] && (oldest == policies.NoObject || requested[o] < requested[oldest]) {
			oldest = o
		}
	}
	return oldest
}

func (f *following) Insert(r policies.Request) {
	switch {
	case r.Reason == policies.Demand:
		f.cache.insert(r.Object)
		f.predictor.Observe(r.Object, r.Pos)
	case f.simulated.Has(r.Object):
		f.cache.insert(r.Object)
		f.cache.request(r.Object, r.Pos)
	default:
		f.cache.insertBeside(r.Object, r.Pos)
	}
}

func (f *following) Remove(o policies.Object) { f.cache.remove(o) }

func (f *following) request(r policies.Request) {
	f.pos = r.Pos
	f.serve(r)
	f.cache.request(r.Object, r.Pos)
}

// load puts o into the simulated cache.
func (f *following) load(o policies.Object) {
	f.simulated.Add(o)
	f.cache.targetLoads(0, o)
}

// drop removes o from the simulated cache.
func (f *following) drop(o policies.Object) {
	f.simulated.Remove(o)
	f.cache.targetEvicts(0, o)
}
