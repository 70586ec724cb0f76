package sim_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// headsTrace returns a generated trace of KV heads with three query heads each.
func headsTrace(t testing.TB, layers, kvHeads, dim, context, steps int) *traces.Trace {
	t.Helper()
	text := fmt.Sprintf("attention(layers=%d,query-heads=%d,kv-heads=%d,head-dim=%d,context=%d,steps=%d)", layers,
		3*kvHeads, kvHeads, dim, context, steps)
	return simtest.Generated(t, text, traces.Needs{Attention: true})
}

// headsCell returns a cell whose heads have a set of a tenth of all tokens.
func headsCell(t testing.TB, tr *traces.Trace, cache, reuse string) sim.Cell {
	c := simtest.Cell(t, "one-set", capacity.Of(int64(tr.NumObjects/10), false), "cache="+cache, "reuse="+reuse)
	c.Seed = 1
	return c
}

func headsCells(t testing.TB, tr *traces.Trace) (cells []sim.Cell) {
	for _, reuse := range []string{"threshold(tau=0.7)", "bound(recall=0.5)", "qsac"} {
		for _, cache := range []string{"attention(dense=0,recent=20)",
			"attention(dense=0,recent=20,append=window,queries=predicted)"} {
			cells = append(cells, headsCell(t, tr, cache, reuse))
		}
	}
	cells[0].Series = series.Window{Requests: 2} // steps
	store := simtest.Cell(t, "lru", cells[0].Capacity, "cache=attention(dense=0,recent=20)", "retriever=blocks")
	store.Seed = 1
	return append(cells, store)
}

// Cells of the cache of a language model are one job, in which the device computes full attention, and have the records
// of the CPU, whether runs of steps end within a head or not.
func TestHeadsOnDevice(t *testing.T) {
	tr := headsTrace(t, 1, brief.Of(3, 1), 20, 150, 7)
	cells := headsCells(t, tr)
	off := sim.NewReplayer(tr, sim.ReplayerOptions{})
	for _, memory := range []int64{64 << 20, 42 << 10} {
		var notes []string
		var served atomic.Int64
		on := sim.NewReplayer(tr, sim.ReplayerOptions{Jobs: 2,
			Device:   cuda.Share(cudatest.Device(t, ptxrun.Options{Seed: 3, Memory: memory})),
			Note:     func(text string) { notes = append(notes, text) },
			Progress: func(n int64) { served.Add(n) }})
		if memory < 1<<20 {
			sim.ReplayHeadsUntested(t) // the self-test needs more memory than the heads
		}
		jobs := on.Jobs(cells)
		if len(jobs) != 1 || !jobs[0].OnDevice() || on.Need(jobs[0]) <= 0 {
			t.Fatalf("%d jobs; want one on the device that needs memory", len(jobs))
		}
		got := must.Get(on.ReplayJob(t.Context(), jobs[0]))(t)
		for k, c := range jobs[0].Cells() {
			want := must.Get(off.Replay(t.Context(), c))(t)
			if !reflect.DeepEqual(got[k].Record, want.Record) || !reflect.DeepEqual(got[k].Series, want.Series) {
				t.Errorf("%s:\ndevice %+v\nCPU    %+v", c.Key(), got[k].Record, want.Record)
			}
		}
		if served.Load() != int64(len(tr.Objects)) {
			t.Errorf("progress of %d requests, want %d", served.Load(), len(tr.Objects))
		}
		const prefix = "replaying on the CPU, full attention on "
		if len(notes) != 1 || !strings.HasPrefix(notes[0], prefix) ||
			!strings.Contains(notes[0], ": threshold in attention(") {
			t.Errorf("notes %q, want one that begins with %q", notes, prefix)
		}
	}
}

// With a device the host has the probabilities of more steps at once, as many as are computed.
func TestHeadsOnDeviceNeedMemory(t *testing.T) {
	const dim, context, steps, onCPU = 8, 150, 100, 10
	tr := headsTrace(t, 1, 1, dim, context, steps)
	cells := []sim.Cell{headsCell(t, tr, "attention(dense=0,recent=20)", "static")}
	off := sim.NewReplayer(tr, sim.ReplayerOptions{Jobs: 1})
	on := sim.NewReplayer(tr, sim.ReplayerOptions{Jobs: 1, Device: cuda.Share(namedDevice{})})
	more := on.Need(on.Jobs(cells)[0]) - off.Need(off.Jobs(cells)[0])
	if least := int64(4 * 3 * context * (steps - onCPU)); more < least {
		t.Errorf("%d bytes more, want at least %d", more, least)
	}
}

// Errors of the device leave no records: too little memory, and devices that go wrong without an error in the
// self-test, after it, and after the replay.
func TestHeadsOnFaultyDevices(t *testing.T) {
	tr := headsTrace(t, 1, 1, 8, 130, 3)
	cells := []sim.Cell{headsCell(t, tr, "attention(dense=0,recent=20)", "static")}
	replay := func(d cuda.Device) error {
		r := sim.NewReplayer(tr, sim.ReplayerOptions{Jobs: 1, Device: cuda.Share(d)})
		recs, err := r.ReplayJob(t.Context(), r.Jobs(cells)[0])
		if (recs != nil) == (err != nil) {
			t.Errorf("records %v and error %v", recs, err)
		}
		return err
	}
	const want = "attention to 1036 tokens needs at least 1 MiB on the GPU"
	err := replay(ptxrun.New(ptxrun.Options{Memory: 10 << 10}))
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	right := &cudatest.Faulty{Device: ptxrun.New(ptxrun.Options{}), Right: 100}
	must.Do(t, replay(right))
	if right.Launches != 9 {
		t.Errorf("%d launches, want the three of a run in each of two self-tests and in the replay", right.Launches)
	}
	for launch := 0; launch < right.Launches; launch += brief.Of(1, 4) {
		fault := []cudatest.Fault{cudatest.Nothing, cudatest.Garbage}[launch%2]
		err := replay(&cudatest.Faulty{Device: ptxrun.New(ptxrun.Options{}), Fault: fault, Right: launch})
		if !cuda.Failed(err) {
			t.Errorf("fault %d after %d launches: error %v", fault, launch, err)
		}
	}
}

// inMemory is an attention trace whose heads have been read.
type inMemory struct {
	shape *attention.Shape
	heads []attention.Head
}

func (m *inMemory) Shape() *attention.Shape { return m.shape }
func (m *inMemory) End() error              { return nil }
func (m *inMemory) Close() error            { return nil }

func (m *inMemory) Next(h *attention.Head) error {
	*h, m.heads = m.heads[0], m.heads[1:]
	return nil
}

// readHeads makes every pass over a trace read its heads from memory.
func readHeads(b *testing.B, tr *traces.Trace) {
	columns := attention.Of(tr.Kind)
	open := must.Get(columns.Open(b.Context(), attention.Options{}))(b)
	heads := make([]attention.Head, columns.Shape.Heads())
	for i := range heads {
		must.Do(b, open.Next(&heads[i]))
	}
	must.Do(b, open.Close())
	columns.Open = func(context.Context, attention.Options) (attention.Trace, error) {
		return &inMemory{columns.Shape, heads}, nil
	}
}

// BenchmarkGPUHeads replays eight heads of 32 K tokens with three queries per step, on one core and on all, in one cell
// and in seven.
func BenchmarkGPUHeads(b *testing.B) {
	device := cudatest.GPU(b)
	tr := headsTrace(b, 1, 8, 128, 32<<10, 200)
	readHeads(b, tr)
	cells := headsCells(b, tr)
	for _, jobs := range []int{1, 0} {
		for _, n := range []int{1, len(cells)} {
			b.Run(fmt.Sprintf("jobs=%d/cells=%d", parallel.Jobs(jobs), n), func(b *testing.B) {
				compareOnGPU(b, tr, device, cells[:n], jobs)
			})
		}
	}
}
