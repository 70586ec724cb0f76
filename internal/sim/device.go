package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/kv"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/attend"
	"github.com/cachesim/cachesim/internal/cuda/reuse"
	"github.com/cachesim/cachesim/internal/sim/onepass"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// deviceReplay is a kind of replay that a GPU does for many cells at once. Its counts equal those on the CPU.
type deviceReplay struct {
	// computes names what the device does if the CPU does the rest, such as series; "" if the device replays whole cells.
	computes string
	// group returns a key: cells with the same key are one job. If this kind of replay is for cells such as c, but cannot
	// serve c itself, why says the reason, as in "its predictor learns"; the key is then "". If this kind is not for such
	// cells, both are "".
	group func(c Cell) (key, why string)
	// test shows whether the device computes such replays as it should.
	test *cuda.SelfTest
	// bytes estimates the host's memory for a job, in addition to the trace and the next uses.
	bytes func(r *Replayer, job []Cell) int64
	// replay replays a job, and calls r.options.Progress as replays on the CPU do.
	replay func(ctx context.Context, r *Replayer, d cuda.Device, job []Cell) ([]outcome, error)
}

// deviceReplays lists what GPUs replay.
var deviceReplays = []*deviceReplay{setsOnDevice, lruOnDevice, headsOnDevice}

// noKernel is why the device does not replay cells for which there is no kind of replay.
const noKernel = "no kernel replays them"

// site is where a cell is replayed, and with which others.
type site struct {
	device *deviceReplay // nil: on the CPU
	key    string        // cells on the same device with the same key are one job; "": the cell needs a replay of its own
	why    string        // why the device, if there is one, does not replay the cell
}

// siteOf decides whether the device or the CPU replays a cell. Models of time, pools, prefetchers and series need the
// requests one by one, unless the device computes only a part.
func (r *Replayer) siteOf(c Cell) site {
	if r.differs(c) {
		if other, joined, err := r.inBlocks(c); err == nil { // what fails is reported by the replay
			s := other.siteOf(joined)
			if s.key != "" {
				s.key += fmt.Sprintf(", blocks of %d tokens of %d requests", r.blockTokens(c), len(other.trace.Objects))
			}
			return s
		}
	}
	cpu := site{key: r.passOf(c)}
	if r.options.Device == nil {
		return cpu
	}
	cpu.why = noKernel
	for _, kind := range deviceReplays {
		key, why := kind.group(c)
		switch {
		case key == "" && why == "":
			continue
		case kind.computes != "":
			return site{device: kind, key: key}
		case len(r.trace.Removals) > 0 || r.trace.Ops != nil:
			cpu.why = "reads, writes and deletions are told apart on the CPU"
			return cpu
		case c.Series.IsSet():
			cpu.why = "a series is made on the CPU"
			return cpu
		case c.Model != nil || c.Allocator != nil || c.Prefetcher != nil || c.Router != nil ||
			c.Admission != nil:
			cpu.why = "models, allocators, admissions and prefetchers run on the CPU"
			return cpu
		case key != "":
			return site{device: kind, key: key}
		}
		cpu.why = why
	}
	return cpu
}

// replayOnDevice replays a job when no other computation uses the device.
func (r *Replayer) replayOnDevice(ctx context.Context, job Job) (outcomes []outcome, err error) {
	err = r.options.Device.Compute(ctx, job.device.test, func(d cuda.Device) (err error) {
		outcomes, err = job.device.replay(ctx, r, d, job.cells)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.options.Device.Name(), err)
	}
	return outcomes, nil
}

// noteSites says which cells the device replays, or computes a part of, and why the CPU replays the others.
func (r *Replayer) noteSites(cells []Cell, sites []site) {
	if r.options.Device == nil || r.options.Note == nil || len(cells) == 0 {
		return
	}
	var device, cpu []siteNote // in order of appearance
	names := map[siteNote][]string{}
	for i, c := range cells {
		at := sites[i].note(r.options.Device.Name())
		switch {
		case names[at] != nil:
		case sites[i].device != nil:
			device = append(device, at)
		default:
			cpu = append(cpu, at)
		}
		names[at] = append(names[at], nameOf(c))
	}
	var texts []string
	for _, at := range append(device, cpu...) {
		text := at.where + ": " + listed(names[at])
		if at.why != "" {
			text += " (" + at.why + ")"
		}
		texts = append(texts, text)
	}
	r.options.Note("replaying " + strings.Join(texts, "; "))
}

// siteNote is what a note says of a site.
type siteNote struct{ where, why string }

func (s site) note(device string) siteNote {
	switch {
	case s.device == nil:
		return siteNote{"on the CPU", s.why}
	case s.device.computes != "":
		return siteNote{"on the CPU, " + s.device.computes + " on " + device, ""}
	}
	return siteNote{"on " + device, ""}
}

func nameOf(c Cell) string {
	name := c.Policy.String()
	if c.Reuse != nil {
		name = c.Reuse.String()
	}
	if !cache.IsExact(c.Cache) {
		name += " in " + c.Cache.String()
	}
	return name
}

// mostListed is the number of names in a note.
const mostListed = 8

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

// headsOnDevice computes full attention for the cache of a language model. Sets, stores and metrics stay on the CPU.
var headsOnDevice = &deviceReplay{
	computes: "full attention",
	group: func(c Cell) (key, why string) {
		if !cache.ServesHeads(c.Cache) {
			return "", ""
		}
		return "heads", ""
	},
	test: attend.SelfTest,
	bytes: func(r *Replayer, job []Cell) int64 {
		return r.needOfHeads(job, shapeOnDevice(attention.Of(r.trace.Kind).Shape).Longest())
	},
	replay: replayHeadsOnDevice,
}

func shapeOnDevice(s *attention.Shape) attend.Shape {
	return attend.Shape{Tokens: s.Tokens(), Steps: s.Steps, Group: s.Group(), Dim: s.Dim, Scale: float32(s.Scale)}
}

func replayHeadsOnDevice(ctx context.Context, r *Replayer, d cuda.Device, job []Cell) (outcomes []outcome, err error) {
	shape := attention.Of(r.trace.Kind).Shape
	most := min(parallel.Jobs(r.options.Jobs), shape.Heads())
	workers, err := attend.Open(d, shapeOnDevice(shape), most)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, workers.Close()) }()
	var all []kv.Attention
	for _, w := range workers.All {
		all = append(all, w)
	}
	return r.replayHeads(ctx, job, all)
}

// lruOnDevice replays LRU at any number of capacities in objects, by reuse distances.
var lruOnDevice = &deviceReplay{
	group: func(c Cell) (key, why string) {
		lru := c.Policy.Entry.OnePass || c.Policy.Entry.ReuseDistances
		switch {
		case !lru || !cache.IsExact(c.Cache):
			return "", ""
		case c.Capacity.Bytes:
			return "", "the GPU counts reuse distances in objects, not in bytes"
		}
		return "reuse distances", ""
	},
	test:   reuse.SelfTest,
	bytes:  func(r *Replayer, _ []Cell) int64 { return 16 * int64(r.trace.NumObjects) }, // distances and hits
	replay: replayLRUOnDevice,
}

func replayLRUOnDevice(ctx context.Context, r *Replayer, d cuda.Device, job []Cell) (outcomes []outcome, err error) {
	v := r.view(job[0].Capacity)
	longest := 0
	for _, part := range v.trace.Parts() {
		longest = max(longest, v.warmup, len(part.Objects)-v.warmup)
	}
	stack, err := reuse.NewStack(d, v.trace.NumObjects, longest)
	if err != nil {
		return nil, err
	}
	defer func() {
		if failed := stack.Close(); err == nil {
			err = failed
		}
	}()
	return r.replayStack(ctx, job, func(*traces.Trace) (onepass.Stack, error) {
		return deviceStack{stack, simulated(job)}, stack.Restart()
	})
}

type deviceStack struct {
	stack      *reuse.Stack
	capacities []int64
}

func (s deviceStack) Window() int { return s.stack.Chunk() }
func (s deviceStack) Serve(objects []uint32, counted bool) error {
	return s.stack.Serve(objects, counted)
}
func (s deviceStack) Resident() []int64 { return onepass.ResidentsIn(s.capacities, s.stack.Seen()) }

func (s deviceStack) Hits() (hits, hitBytes []int64, err error) {
	distances, err := s.stack.Distances()
	if err != nil {
		return nil, nil, err
	}
	hits = onepass.HitsIn(s.capacities, distances)
	return hits, make([]int64, len(hits)), nil
}
