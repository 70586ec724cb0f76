package sim_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

// TestGroupsLongerThanAWindow replays a trace whose groups do not end where windows do, with sizes that are spread over
// the requests.
func TestGroupsLongerThanAWindow(t *testing.T) {
	tr := policytest.Trace(3, 3*sim.LongestWindow, 200)
	want := must.Get(simtest.TryRun(t.Context(), tr, simtest.Options{Policies: "lru",
		Capacities: []capacity.Capacity{{Amount: 500, Simulated: 500, Bytes: true}}}))(t)
	grouped := *tr
	grouped.Groups = []int{0, 10, sim.LongestWindow + 7, 2*sim.LongestWindow + 9}
	got := must.Get(simtest.TryRun(t.Context(), &grouped, simtest.Options{Policies: "lru",
		Capacities: []capacity.Capacity{{Amount: 500, Simulated: 500, Bytes: true}}}))(t)
	if got[0].Int(metric.Hits) != want[0].Int(metric.Hits) || got[0].Int(metric.HitBytes) != want[0].Int(metric.HitBytes) {
		t.Errorf("%d hits with groups, %d without", got[0].Int(metric.Hits), want[0].Int(metric.Hits))
	}
}

// slowPolicy takes its time for each request.
type slowPolicy struct {
	policies.Policy
	wait func()
}

func (p slowPolicy) Hit(r policies.Request)  { p.wait(); p.Policy.Hit(r) }
func (p slowPolicy) Miss(r policies.Request) { p.wait(); p.Policy.Miss(r) }

// slowed returns a cell of lru, each request of which waits.
func slowed(t *testing.T, wait func()) sim.Cell {
	t.Helper()
	c := simtest.Cell(t, "lru", capacity.Of(10, false))
	inner := c.Policy.Entry.New
	c.Policy.Entry.New = func(config policies.Config) (policies.Policy, error) {
		p, err := inner(config)
		return slowPolicy{p, wait}, err
	}
	return c
}

// Whoever interrupts a replay in which each request trains or predicts again does not wait for thousands of them.
func TestWindowsAreShortWhereRequestsAreSlow(t *testing.T) {
	tr := policytest.Trace(4, 100, 50)
	longest := 0
	progress := func(n int64) { longest = max(longest, int(n)) }
	synctest.Test(t, func(t *testing.T) {
		c := slowed(t, func() { time.Sleep(sim.WindowTime) })
		must.Get(sim.NewReplayer(tr, sim.ReplayerOptions{Progress: progress}).Replay(t.Context(), c))(t)
	})
	if longest > sim.ShortestWindow {
		t.Errorf("%d requests between two looks at the context, want %d at most", longest, sim.ShortestWindow)
	}
}

func TestWindowsGrowWhereRequestsAreFast(t *testing.T) {
	for _, c := range []struct {
		length int
		took   time.Duration
		want   int
	}{
		{sim.ShortestWindow, 0, 2 * sim.ShortestWindow},
		{sim.LongestWindow, 0, sim.LongestWindow},
		{64, sim.WindowTime / 2, 64},
		{64, 2 * sim.WindowTime, 32},
		{sim.ShortestWindow, time.Hour, sim.ShortestWindow},
	} {
		if got := sim.NextWindow(c.length, c.took); got != c.want {
			t.Errorf("after %d requests in %v: %d, want %d", c.length, c.took, got, c.want)
		}
	}
}

// A single request may take for ever: nobody waits for it after the context has ended.
func TestReplayDoesNotWaitForARequest(t *testing.T) {
	tr := policytest.Trace(4, 100, 50)
	forever := make(chan struct{})
	defer close(forever)
	for name, replay := range map[string]func(context.Context, sim.Cell) error{
		"replay": func(ctx context.Context, c sim.Cell) error {
			_, err := sim.NewReplayer(tr, sim.ReplayerOptions{}).Replay(ctx, c)
			return err
		},
		"explain": func(ctx context.Context, c sim.Cell) error {
			return sim.NewReplayer(tr, sim.ReplayerOptions{}).Explain(ctx, c, func(sim.Decision) error { return nil })
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		err := replay(ctx, slowed(t, func() { cancel(); <-forever }))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want %v", name, err, context.Canceled)
		}
	}
}
