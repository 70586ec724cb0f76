package sim

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/must"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces/capacity"
)

// namedDevice is a device on which nothing runs.
type namedDevice struct{ cuda.Device }

func (namedDevice) Name() string { return "test GPU" }

// replayFIFOOnDevice lets "the device" replay fifo above capacity 10, by the replays of the CPU.
func replayFIFOOnDevice(t *testing.T, fail error) {
	before := deviceReplays
	t.Cleanup(func() { deviceReplays = before })
	deviceReplays = []*deviceReplay{{
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
	}}
}

func cellsOnDevice(t *testing.T) (cells []Cell) {
	for _, policy := range []string{"fifo", "lru", "arc"} {
		for _, n := range []int64{10, 20, 40} {
			cells = append(cells, cellOf(t, policy, capacity.Capacity{Amount: n, Simulated: n}, 1))
		}
	}
	return cells
}

// Cells that the device replays are one job, the others are those of the CPU, and the records are the same.
func TestDeviceJobs(t *testing.T) {
	replayFIFOOnDevice(t, nil)
	tr := policytest.Trace(4, 3000, 200)
	cells := cellsOnDevice(t)
	var notes []string
	on := NewReplayer(tr, ReplayerOptions{Device: cuda.Share(namedDevice{}),
		Note: func(text string) { notes = append(notes, text) }})
	jobs := on.Jobs(cells)
	if len(jobs) != 8 || len(jobs[1].Cells()) != 2 || jobs[0].OnDevice() || !jobs[1].OnDevice() ||
		on.Need(jobs[1]) < 1<<30 {
		t.Errorf("jobs %v", jobs)
	}
	want := []string{"replaying on test GPU: fifo; on the CPU: fifo (its cache is too small); " +
		"on the CPU: lru, arc (no kernel replays them)"}
	if !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	off := NewReplayer(tr, ReplayerOptions{})
	for _, job := range jobs {
		got := must.Get(on.ReplayJob(t.Context(), job))(t)
		for k, c := range job.Cells() {
			want := must.Get(off.Replay(t.Context(), c))(t)
			if !reflect.DeepEqual(got[k].Record, want.Record) {
				t.Errorf("%s: %v, on the CPU %v", c.Key(), got[k], want)
			}
		}
	}
}

func TestDeviceErrorsNameIt(t *testing.T) {
	lost := errors.New("the GPU was lost")
	replayFIFOOnDevice(t, lost)
	r := NewReplayer(policytest.Trace(4, 300, 20), ReplayerOptions{Device: cuda.Share(namedDevice{})})
	recs, err := r.ReplayJob(t.Context(), r.Jobs(cellsOnDevice(t))[1])
	if recs != nil || !errors.Is(err, lost) || err.Error() != "test GPU: the GPU was lost" {
		t.Errorf("records %v, error %v", recs, err)
	}
}

// Devices that go wrong without an error end replays with one: from the first launch on, after their self-test, and in
// the middle.
func TestFaultyDevices(t *testing.T) {
	tr := policytest.Trace(4, 600, 60)
	for name, cells := range map[string][]Cell{
		"lru":  {cellOf(t, "lru", capacity.Capacity{Amount: 9, Simulated: 9}, 0)},
		"sets": {setsCell(t, "laru", "sets(ways=8,batch=4)", "oracle", 32, 1)},
		"ways": {setsCell(t, "lru", "sets(ways=2,slabs=1,batch=1)", "", 8, 1),
			setsCell(t, "lru", "sets(ways=4,slabs=1,batch=1)", "", 16, 1)},
	} {
		replay := func(fault cudatest.Fault, right int) (launches int, err error) {
			d := &cudatest.Faulty{Device: ptxrun.New(ptxrun.Options{}), Fault: fault, Right: right}
			r := NewReplayer(tr, ReplayerOptions{Device: cuda.Share(d)})
			recs, err := r.ReplayJob(t.Context(), r.Jobs(cells)[0])
			if (recs != nil) == (err != nil) {
				t.Errorf("%s: records %v and error %v", name, recs, err)
			}
			return d.Launches, err
		}
		launches, err := replay(cudatest.Nothing, math.MaxInt)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, tested := replay(cudatest.Nothing, 0)
		if tested == nil || !strings.Contains(tested.Error(), "PTX interpreter: the self-test of ") {
			t.Errorf("%s: error %v of a device that does nothing", name, tested)
		}
		for right := 0; right < launches; right += 1 + launches/9 {
			for _, fault := range []cudatest.Fault{cudatest.Nothing, cudatest.Garbage} {
				if _, err := replay(fault, right); err == nil || !cuda.Failed(err) {
					t.Errorf("%s, fault %d after %d launches: error %v", name, fault, right, err)
				}
			}
		}
	}
}
