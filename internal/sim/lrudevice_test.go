package sim_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

// LRU at all capacities is one job of the device, and has the records of the CPU: after a warm-up, over files that each
// start empty, and whether the capacities are in order.
func TestLRUOnDevice(t *testing.T) {
	for seed := range brief.Of[uint64](4, 2) {
		tr := policytest.Trace(seed, 2500, 100)
		options := sim.ReplayerOptions{}
		if seed%2 == 0 {
			tr.Starts = []int{0, 500, 501, 1700}
		} else {
			options.Warmup = int(seed) * 200
		}
		var cells []sim.Cell
		for _, policy := range []string{"lru", "lru-stack"} {
			for _, c := range []int64{21, 1, 500, 60, 7} {
				cells = append(cells, simtest.Cell(t, policy, capacity.Of(c, false)))
			}
		}
		bytes := simtest.Cell(t, "lru", capacity.Of(90, true))
		off := sim.NewReplayer(tr, options)
		served := int64(0)
		options.Progress = func(n int64) { served += n }
		options.Device = cuda.Share(ptxrun.New(ptxrun.Options{Seed: seed}))
		on := sim.NewReplayer(tr, options)
		jobs := on.Jobs(append(slices.Clone(cells), bytes))
		if len(jobs) != 2 || !jobs[0].OnDevice() || jobs[1].OnDevice() {
			t.Fatalf("jobs %v; want one on the device, and one on the CPU for the capacity in bytes", jobs)
		}
		got := must.Get(on.ReplayJob(t.Context(), jobs[0]))(t)
		if served != int64(len(tr.Objects)) {
			t.Errorf("progress of %d requests, want %d", served, len(tr.Objects))
		}
		for k, c := range jobs[0].Cells() {
			want := must.Get(off.Replay(t.Context(), c))(t)
			if !reflect.DeepEqual(got[k].Record, want.Record) {
				t.Errorf("seed %d, %s:\ndevice %+v\nCPU    %+v", seed, c.Key(), got[k], want)
			}
		}
	}
}

// Errors of the device leave no records: too little memory, and a device that is lost.
func TestLRUOnDeviceFails(t *testing.T) {
	tr := policytest.Trace(1, 500, 50)
	cell := simtest.Cell(t, "lru", capacity.Of(9, false))
	for _, test := range []struct {
		options ptxrun.Options
		want    string
	}{
		{ptxrun.Options{Memory: 1000}, "need at least"},
		{ptxrun.Options{Fail: 25}, ptxrun.ErrLost.Error()},
	} {
		r := sim.NewReplayer(tr, sim.ReplayerOptions{Device: cuda.Share(ptxrun.New(test.options))})
		_, err := r.Replay(t.Context(), cell)
		must.Fail(t, err, test.want)
		if strings.Contains(test.want, "lost") && !errors.Is(err, ptxrun.ErrLost) {
			t.Errorf("error %v does not wrap that of the device", err)
		}
	}
}
