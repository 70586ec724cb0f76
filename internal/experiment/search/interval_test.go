package search_test

import (
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment/search"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results/target"
	"github.com/cachesim/cachesim/internal/traces"
)

// A single deletion keeps LRU out of one pass over the trace, and changes nothing about how sure its capacity is.
func TestIntervalsWithoutAPass(t *testing.T) {
	of := target.Target{Value: 0.5, Share: true}
	for name, course := range map[string]course{"phased": phased(300), "daily": daily(3)} {
		tr := logOf(course, 3, length)
		inPass := newReplays(t, tr, 0).answer(of, []string{"lru", "arc"}, capacity.Of(100*mib, true))
		deleted := *tr
		deleted.Removals = []traces.Removal{{Before: 10, Object: tr.Objects[5]}}
		byReplays := newReplays(t, &deleted, 0).answer(of, []string{"lru", "arc"}, capacity.Of(100*mib, true))
		for _, policy := range []string{"lru", "arc"} {
			want, got := needOf(inPass, policy).Interval, needOf(byReplays, policy).Interval
			if want == nil || got == nil {
				t.Fatalf("%s, %s: %v in one pass, and %v by replays", name, policy, want, got)
			}
			near := func(a, b int64) bool { return abs(float64(a)/float64(b)-1) < 0.1 }
			if !near(got.Low, want.Low) || !near(got.High, want.High) {
				t.Errorf("%s, %s: %+v by replays, and %+v in one pass", name, policy, *got, *want)
			}
		}
		if byReplays.Replays > 20 {
			t.Errorf("%s: %d replays", name, byReplays.Replays)
		}
	}
}

// A search of cells whose table has what the origin sees, minute by minute, is no other than one of those without.
func TestSeriesChangeNoAnswer(t *testing.T) {
	tr := logOf(phased(300), 3, 2000)
	answer := func(window series.Window) target.Answer {
		g, o := newReplays(t, tr, 0).group(target.Default, []string{"lru", "arc"}, capacity.Of(100*mib, true))
		for i := range g.Policies {
			g.Policies[i].Cell.Series = window
		}
		return must.Get(search.Answer(g, o))(t)
	}
	without, with := answer(series.Window{}), answer(series.Window{Span: time.Minute})
	if !sameNeeds(without, with) || without.Replays != with.Replays || !needOf(with, "lru").Exact {
		t.Errorf("%s (%d replays)\nwith a series: %s (%d)", without.Sentence(), without.Replays, with.Sentence(),
			with.Replays)
	}
}
