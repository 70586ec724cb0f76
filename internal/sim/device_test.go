package sim_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

// namedDevice is a device on which nothing runs.
type namedDevice struct{ cuda.Device }

func (namedDevice) Name() string { return "test GPU" }

func cellsOnDevice(t *testing.T) (cells []sim.Cell) {
	for _, policy := range []string{"fifo", "lru", "arc"} {
		for _, n := range []int64{10, 20, 40} {
			cells = append(cells, simtest.Cell(t, policy, capacity.Of(n, false)))
		}
	}
	return cells
}

// Cells that the device replays are one job, the others are those of the CPU, and the records are the same.
func TestDeviceJobs(t *testing.T) {
	sim.ReplayFIFOOnDevice(t, nil)
	tr := policytest.Trace(4, 3000, 200)
	cells := cellsOnDevice(t)
	var notes []string
	on := sim.NewReplayer(tr, sim.ReplayerOptions{Device: cuda.Share(namedDevice{}),
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
	off := sim.NewReplayer(tr, sim.ReplayerOptions{})
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
	sim.ReplayFIFOOnDevice(t, lost)
	r := sim.NewReplayer(policytest.Trace(4, 300, 20), sim.ReplayerOptions{Device: cuda.Share(namedDevice{})})
	recs, err := r.ReplayJob(t.Context(), r.Jobs(cellsOnDevice(t))[1])
	if recs != nil || !errors.Is(err, lost) || err.Error() != "test GPU: the GPU was lost" {
		t.Errorf("records %v, error %v", recs, err)
	}
}

// Devices that go wrong without an error end replays with one: from the first launch on, after their self-test, and in
// the middle.
func TestFaultyDevices(t *testing.T) {
	tr := policytest.Trace(4, 600, 60)
	for name, cells := range map[string][]sim.Cell{
		"lru":  {simtest.Cell(t, "lru", capacity.Of(9, false))},
		"sets": {setsCell(t, "laru", "sets(ways=8,batch=4)", "oracle", 32, 1)},
		"ways": {setsCell(t, "lru", "sets(ways=2,slabs=1,batch=1)", "", 8, 1),
			setsCell(t, "lru", "sets(ways=4,slabs=1,batch=1)", "", 16, 1)},
	} {
		replay := func(fault cudatest.Fault, right int) (launches int, err error) {
			d := &cudatest.Faulty{Device: ptxrun.New(ptxrun.Options{}), Fault: fault, Right: right}
			r := sim.NewReplayer(tr, sim.ReplayerOptions{Device: cuda.Share(d)})
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
		for right := 0; right < launches; right += 1 + launches/brief.Of(9, 2) {
			for _, fault := range brief.Sample(2, cudatest.Garbage, cudatest.Nothing) {
				if _, err := replay(fault, right); err == nil || !cuda.Failed(err) {
					t.Errorf("%s, fault %d after %d launches: error %v", name, fault, right, err)
				}
			}
		}
	}
}
