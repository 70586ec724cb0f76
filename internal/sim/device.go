package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cuda"
)

// deviceReplay is a kind of replay that a GPU does for many cells at once. Its counts are those of replays on the CPU.
type deviceReplay struct {
	// group returns a key: cells with the same key are one job. If this kind of replay is for cells such as c, but cannot
	// serve c itself, why says the reason, as in "its predictor learns"; the key is then "". If this kind is not for such
	// cells, both are "".
	group func(r *Replayer, c Cell) (key, why string)
	// test shows whether the device computes such replays as it should.
	test *cuda.SelfTest
	// bytes estimates the host's memory for a job, in addition to the trace and the next uses.
	bytes func(r *Replayer, job []Cell) int64
	// replay replays a job, and calls r.options.Progress as replays on the CPU do.
	replay func(ctx context.Context, r *Replayer, d cuda.Device, job []Cell) ([]outcome, error)
}

// deviceReplays lists what GPUs replay.
var deviceReplays = []*deviceReplay{setsOnDevice, lruOnDevice}

// noKernel is why the device does not replay cells for which there is no kind of replay.
const noKernel = "no kernel replays them"

// onDevice returns how the device replays a cell and the key of its job, or why it does not. Models of time, pools,
// prefetchers and series need the requests one by one.
func (r *Replayer) onDevice(c Cell) (kind *deviceReplay, key, why string) {
	why = noKernel
	for _, kind := range deviceReplays {
		key, reason := kind.group(r, c)
		switch {
		case key == "" && reason == "":
			continue
		case c.Series.Asked():
			return nil, "", "a series is made on the CPU"
		case c.Model != nil || c.Allocator != nil || c.Prefetcher != nil:
			return nil, "", "models, allocators and prefetchers run on the CPU"
		case key != "":
			return kind, key, ""
		}
		why = reason
	}
	return nil, "", why
}

// deviceJobs groups the cells that the device replays into jobs, and returns the other cells.
func (r *Replayer) deviceJobs(cells []Cell) (jobs [][]Cell, others []Cell) {
	if r.options.Device == nil {
		return nil, cells
	}
	type group struct {
		kind *deviceReplay
		key  string
	}
	at := map[group]int{}
	for _, c := range cells {
		kind, key, _ := r.onDevice(c)
		if kind == nil {
			others = append(others, c)
			continue
		}
		i, known := at[group{kind, key}]
		if !known {
			i = len(jobs)
			at[group{kind, key}] = i
			jobs = append(jobs, nil)
		}
		jobs[i] = append(jobs[i], c)
	}
	return jobs, others
}

// OnDevice reports whether the device, and not the CPU, replays a job.
func (r *Replayer) OnDevice(job []Cell) bool { return r.deviceReplayOf(job) != nil }

// deviceReplayOf returns how the device replays a job; nil if the CPU does.
func (r *Replayer) deviceReplayOf(job []Cell) *deviceReplay {
	if r.options.Device == nil {
		return nil
	}
	kind, key, _ := r.onDevice(job[0])
	for _, c := range job[1:] {
		if other, k, _ := r.onDevice(c); other != kind || k != key {
			return nil
		}
	}
	return kind
}

// replayOnDevice replays a job when no other computation uses the device.
func (r *Replayer) replayOnDevice(ctx context.Context, kind *deviceReplay, job []Cell) (outcomes []outcome, err error) {
	err = r.options.Device.Compute(ctx, kind.test, func(d cuda.Device) (err error) {
		outcomes, err = kind.replay(ctx, r, d, job)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.options.Device.Name(), err)
	}
	return outcomes, nil
}

// notePlaces says which cells the device replays, and why the CPU replays the others.
func (r *Replayer) notePlaces(cells []Cell) {
	if r.options.Device == nil || r.options.Note == nil || len(cells) == 0 {
		return
	}
	var device []string
	var reasons []string // in order of appearance
	cpu := map[string][]string{}
	for _, c := range cells {
		name := c.Policy.String()
		if !cache.IsExact(c.Cache) {
			name += " in " + c.Cache.String()
		}
		kind, _, why := r.onDevice(c)
		if kind != nil {
			device = append(device, name)
			continue
		}
		if cpu[why] == nil {
			reasons = append(reasons, why)
		}
		cpu[why] = append(cpu[why], name)
	}
	var texts []string
	if len(device) > 0 {
		texts = append(texts, fmt.Sprintf("on %s: %s", r.options.Device.Name(), listed(device)))
	}
	for _, why := range reasons {
		texts = append(texts, fmt.Sprintf("on the CPU: %s (%s)", listed(cpu[why]), why))
	}
	r.options.Note("replaying " + strings.Join(texts, "; "))
}

// mostListed is the number of names in a note.
const mostListed = 8

// listed returns names, each once, shortened if there are many.
func listed(names []string) string {
	var once []string
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	if more := len(once) - mostListed; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(once[:mostListed], ", "), more)
	}
	return strings.Join(once, ", ")
}
