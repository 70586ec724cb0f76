package sim

import (
	"context"
	"runtime"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/sim/feed"
	"github.com/cachesim/cachesim/internal/sim/ontrace"
)

// What tests use of the inside of this package.
const (
	LongestWindow  = feed.LongestWindow
	ShortestWindow = feed.ShortestWindow
	WindowTime     = feed.WindowTime
	ModelledBytes  = modelledBytes
	ReplayBytes    = replayBytes
)

var (
	NextWindow = feed.NextWindow
	TopicsOf   = ontrace.Topics
)

// NeedOf estimates the memory of a job of one cell.
func (r *Replayer) NeedOf(c Cell) int64 { return r.Need(Job{cells: []Cell{c}}) }

func (r *Replayer) Slots(c Cell) int64 { return r.slots(c) }

// EmptyCache returns the cache of a cell before its first request.
func (r *Replayer) EmptyCache(ctx context.Context, c Cell) (cache.Cache, error) {
	v := r.view(c.Capacity)
	served, _, err := r.build(ctx, c, v.trace, 0, v.nextUse, nil)
	return served, err
}

// MemoryOf returns the bytes that the cache of a cell allocates in its replay, whether they are collected or not: a
// policy makes its tables when it begins, and allocates little afterwards.
func MemoryOf(t *testing.T, r *Replayer, c Cell) int64 {
	t.Helper()
	v := r.view(c.Capacity)
	v.nextUse()
	before := Allocated()
	served := must.Get(r.EmptyCache(t.Context(), c))(t)
	must.Get(Replay(t.Context(), v.trace, served, ReplayOptions{Bytes: c.Capacity.Bytes}))(t)
	return Allocated() - before
}

// Allocated returns the bytes that the program has allocated so far.
func Allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// replayOnDevice lets devices replay nothing else, until the test ends.
func replayOnDevice(t *testing.T, r *deviceReplay) {
	before := deviceReplays
	t.Cleanup(func() { deviceReplays = before })
	deviceReplays = []*deviceReplay{r}
}

// ReplaySetsUntested lets devices replay only sets, without self-tests.
func ReplaySetsUntested(t *testing.T) { replayUntested(t, *setsOnDevice) }

// ReplayHeadsUntested lets devices compute only full attention, without self-tests.
func ReplayHeadsUntested(t *testing.T) { replayUntested(t, *headsOnDevice) }

func replayUntested(t *testing.T, r deviceReplay) {
	r.test = nil
	replayOnDevice(t, &r)
}

// ReplayFIFOOnDevice lets "the device" replay fifo above capacity 10, by the replays of the CPU.
func ReplayFIFOOnDevice(t *testing.T, fail error) {
	replayOnDevice(t, &deviceReplay{
		group: func(c Cell) (key, why string) {
			switch {
			case c.Policy.Name() != "fifo":
				return "", ""
			case c.Capacity.Simulated <= 10:
				return "", "its cache is too small"
			}
			return "all", ""
		},
		bytes: func(*Replayer, []Cell) int64 { return 1 << 30 },
		replay: func(ctx context.Context, r *Replayer, _ cuda.Device, job []Cell) (outcomes []outcome, err error) {
			for _, c := range job {
				one, err := r.replayOne(ctx, c)
				if err != nil {
					return nil, err
				}
				outcomes = append(outcomes, one...)
			}
			return outcomes, fail
		},
	})
}
