package sim

import (
	"runtime"
	"testing"

	"github.com/cachesim/cachesim/internal/base/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/capacity"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

func generated(t *testing.T, generator string) *traces.Trace {
	t.Helper()
	w := must.Get(workload.Generated(generator, 1))(t)
	return must.Get(w.Load(t.Context(), nil, traces.LoadOptions{Needs: traces.Needs{Sizes: true, Times: true}}))(t)
}

// What an Entry says about its memory is held against what the policy takes, at a capacity and in units for which it
// may not have been measured.
func TestPoliciesTakeTheMemoryThatTheySay(t *testing.T) {
	trace := generated(t, "zipf(requests=60000,objects=40000,alpha=0.6,size=lognormal)")
	oracle := must.Get(predict.Registry.Parse("oracle"))(t)
	for _, e := range policies.Registry.All() {
		if e.New == nil || e.Relates {
			continue // of similar queries the similarity takes most
		}
		parts := Parts{Policy: mustSpec(e.Name), Cache: cache.ExactSpec()}
		c := Cell{Parts: parts, Capacity: capacity.Of(int64(trace.NumObjects)/5, false)}
		if e.Units == policies.UnitsBytes {
			c.Capacity = capacity.Of(trace.Footprint()/5, true)
		}
		if e.Predicts {
			c.Predictor = &oracle
		}
		r := NewReplayer(trace, ReplayerOptions{})
		taken := memoryOf(t, r, c)
		said := e.Memory.Bytes(int64(trace.NumObjects), r.slots(c), c.Capacity.Bytes)
		const constant = 400 << 10 // small tables of their own
		if taken > 2*said+constant || said > 3*taken+constant {
			t.Errorf("%s takes %d bytes and says %d", e.Name, taken, said)
		}
	}
}

// memoryOf returns the bytes that the cache of a cell allocates in its replay, whether they are collected or not: a
// policy makes its tables when it begins, and allocates little afterwards.
func memoryOf(t *testing.T, r *Replayer, c Cell) int64 {
	t.Helper()
	v := r.view(c.Capacity)
	v.nextUse()
	before := allocated()
	cache, _ := must.Get2(r.build(t.Context(), c, v.trace, 0, v.nextUse, nil))(t)
	must.Get(Replay(t.Context(), v.trace, cache, ReplayOptions{Bytes: c.Capacity.Bytes}))(t)
	return allocated() - before
}

// allocated returns the bytes that the program has allocated so far.
func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// A predictor that follows a formula needs no room for the rows that others learn from.
func TestPredictorsNeedWhatTheyKeep(t *testing.T) {
	trace := generated(t, "zipf(requests=100000,objects=1000)")
	need := func(name string) int64 {
		predictor := must.Get(predict.Registry.Parse(name))(t)
		parts := Parts{Policy: mustSpec("laru"), Cache: cache.ExactSpec(), Predictor: &predictor}
		c := Cell{Parts: parts, Capacity: capacity.Of(100, false)}
		return NewReplayer(trace, ReplayerOptions{}).Need(Job{cells: []Cell{c}})
	}
	for _, learns := range []string{"gbm", "auto"} {
		for _, other := range []string{"ewma", "popu", "oracle"} {
			if more := need(learns) - need(other); more < 10<<20 {
				t.Errorf("%s needs %d bytes more than %s, want those of its rows", learns, more, other)
			}
		}
	}
}
