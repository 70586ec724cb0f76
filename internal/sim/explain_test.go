package sim

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/capacity"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// What Explain tells adds up to what a replay counts, for every policy.
func TestExplainAddsUp(t *testing.T) {
	trace := zipfTrace(t, 3000, 200)
	for o := range trace.NumObjects {
		trace.Keys = append(trace.Keys, stream.Key{Num: uint64(o)})
	}
	r := NewReplayer(trace, ReplayerOptions{})
	for _, e := range policies.Registry.All() {
		if e.Kind == policies.Bound || e.Units == policies.UnitsBytes || e.NeedsTime != nil {
			continue
		}
		parts := Parts{Policy: mustSpec(e.Name), Cache: cache.ExactSpec()}
		c := Cell{Parts: parts, Capacity: capacity.Of(20, false)}
		if e.Predicts {
			predictor := must.Get(predict.Registry.Parse("oracle"))(t)
			c.Predictor = &predictor
		}
		rec := must.Get(r.Replay(t.Context(), c))(t)
		var hits, evictions int64
		must.Do(t, r.Explain(t.Context(), c, func(d Decision) error {
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
	trace := fromKeys("abcbcb")
	trace.ObjectSizes = []int64{0, 10, 10}
	c := Cell{Parts: Parts{Policy: mustSpec("fifo"), Cache: cache.ExactSpec()}, Capacity: capacity.Of(10, true)}
	var told []string
	must.Do(t, NewReplayer(trace, ReplayerOptions{}).Explain(t.Context(), c, func(d Decision) error {
		told = append(told, fmt.Sprintf("%d:%d%v", d.Pos, d.Query, d.Evicted))
		return nil
	}))
	if got, want := strings.Join(told, " "), "1:1[] 2:2[1] 3:1[2] 4:2[1] 5:1[2]"; got != want {
		t.Errorf("explained %s, want %s", got, want)
	}
}

// zipfTrace returns a generated trace of objects that are numbered in order of first appearance.
func zipfTrace(t testing.TB, requests, objects int) *traces.Trace {
	t.Helper()
	w := must.Get(workload.Generated(fmt.Sprintf("zipf(requests=%d,objects=%d)", requests, objects), 1))(t)
	return must.Get(w.Load(t.Context(), nil, traces.LoadOptions{}))(t)
}

func TestExplainRefuses(t *testing.T) {
	r := NewReplayer(zipfTrace(t, 100, 20), ReplayerOptions{})
	capacity := capacity.Of(5, false)
	sets, err := cache.Registry.Parse("sets")
	must.Do(t, err)
	for _, test := range []struct {
		cell Cell
		want string
	}{
		{Cell{Parts: Parts{Policy: mustSpec("lru"), Cache: sets}, Capacity: capacity}, "use exact or semantic"},
		{Cell{Parts: Parts{Policy: mustSpec("pfoo-l"), Cache: cache.ExactSpec()}, Capacity: capacity}, "makes no decisions"},
	} {
		err := r.Explain(t.Context(), test.cell, func(Decision) error { return nil })
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s in %s gives %v, want %s", test.cell.Policy, test.cell.Cache, err, test.want)
		}
	}
	stop := errors.New("enough")
	calls := 0
	cell := Cell{Parts: Parts{Policy: mustSpec("lru"), Cache: cache.ExactSpec()}, Capacity: capacity}
	err = r.Explain(t.Context(), cell, func(Decision) error {
		calls++
		return stop
	})
	if err != stop || calls != 1 {
		t.Errorf("after %d calls: %v, want the first to end it", calls, err)
	}
}
