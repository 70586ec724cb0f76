package sim_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// What Explain tells adds up to what a replay counts, for every policy.
func TestExplainAddsUp(t *testing.T) {
	trace := simtest.Generated(t, "zipf(requests=3000,objects=200)", traces.Needs{})
	for o := range trace.NumObjects {
		trace.Keys = append(trace.Keys, stream.Key{Num: uint64(o)})
	}
	r := sim.NewReplayer(trace, sim.ReplayerOptions{})
	for _, e := range policytest.Ready() {
		if e.Kind == policies.Bound || e.Units == policies.UnitsBytes || e.NeedsTime != nil ||
			policies.Can[policies.HeadServer](e) || e.ShortInside {
			continue
		}
		c := simtest.Cell(t, e.Name, capacity.Of(20, false), "predictor=oracle")
		rec := must.Get(r.Replay(t.Context(), c))(t)
		var hits, evictions int64
		must.Do(t, r.Explain(t.Context(), c, func(d sim.Decision) error {
			if d.Hit {
				hits++
			}
			evictions += int64(len(d.Evicted))
			return nil
		}))
		if hits != rec.Int(metric.Hits) || evictions != rec.Int(metric.Evictions) {
			t.Errorf("%s: explained %d hits and %d evictions, replayed %d and %d", e.Name, hits, evictions,
				rec.Int(metric.Hits), rec.Int(metric.Evictions))
		}
	}
}

// Decisions name requests and objects of the whole trace where those of size 0 are left out.
func TestExplainOverZeroSizes(t *testing.T) {
	trace := simtest.FromKeys("abcbcb")
	trace.ObjectSizes = []int64{0, 10, 10}
	c := simtest.Cell(t, "fifo", capacity.Of(10, true))
	var told []string
	must.Do(t, sim.NewReplayer(trace, sim.ReplayerOptions{}).Explain(t.Context(), c, func(d sim.Decision) error {
		told = append(told, fmt.Sprintf("%d:%d%v", d.Pos, d.Query, objectsOf(d.Evicted)))
		return nil
	}))
	if got, want := strings.Join(told, " "), "1:1[] 2:2[1] 3:1[2] 4:2[1] 5:1[2]"; got != want {
		t.Errorf("explained %s, want %s", got, want)
	}
}

func TestExplainRefuses(t *testing.T) {
	r := sim.NewReplayer(simtest.Generated(t, "zipf(requests=100,objects=20)", traces.Needs{}), sim.ReplayerOptions{})
	size := capacity.Of(5, false)
	for _, test := range []struct {
		cell sim.Cell
		want string
	}{
		{simtest.Cell(t, "lru", size, "cache=sets"), "use the cache exact or semantic"},
		{simtest.Cell(t, "pfoo-l", size), "makes no decisions"},
	} {
		err := r.Explain(t.Context(), test.cell, func(sim.Decision) error { return nil })
		must.Fail(t, err, test.want, test.cell.Policy, test.cell.Cache)
	}
	stop := errors.New("enough")
	calls := 0
	err := r.Explain(t.Context(), simtest.Cell(t, "lru", size), func(sim.Decision) error {
		calls++
		return stop
	})
	if err != stop || calls != 1 {
		t.Errorf("after %d calls: %v, want the first to end it", calls, err)
	}
}

func objectsOf(left []sim.Left) (objects []policies.Object) {
	for _, l := range left {
		objects = append(objects, l.Object)
	}
	return objects
}
