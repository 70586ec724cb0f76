package queues

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var clock2QPlusEntry = policies.Entry{
	Name:    "clock2q-plus",
	Look:    policies.Look{Color: policies.Blue, Mark: policies.Hexagon},
	Memory:  policies.Memory{PerObject: 27, PerSlot: 21},
	Aliases: []string{"clock2qplus"},
	Summary: "s3fifo whose main queue is a clock, and whose small queue does not count the requests that follow soon " +
		"after an object's load",
	Source: "Zhai et al., Clock2Q+: a simple and efficient replacement algorithm for metadata cache in VMware vSAN, " +
		"VLDB 2026 (arXiv:2511.21958)",
	Params: []policies.Param{
		{Name: "small", Default: 0.1, Min: 0, Max: 1, Doc: "share of the capacity for the small queue"},
		{Name: "ghost", Default: 0.9, Min: 0, Max: 16, Doc: "capacity of the ghost queue as a share of the cache's"},
		{Name: "window", Default: 0.5, Min: 0, Max: 16, Doc: "share of the small queue that must enter it after an object " +
			"before the object's requests count"},
		{Name: "move", Default: 1, Min: 0, Max: 63, Doc: "requests counted in the small queue that move an object to the " +
			"main queue"},
		{Name: "bits", Default: 1, Min: 1, Max: 6, Doc: "width of an object's counter of requests"},
	},
	New: func(c policies.Config) (policies.Policy, error) {
		return newProbation(c, "clock2q-plus", c.Params.Float("window"), false)
	},
}

var s4fifoEntry = policies.Entry{
	Name:    "s4fifo",
	Look:    policies.Look{Color: policies.Vermilion, Mark: policies.Hexagon},
	Memory:  policies.Memory{PerObject: 27, PerSlot: 21},
	Aliases: []string{"s4-fifo"},
	Summary: "s3fifo with the parameters that a model chooses: a share of the small queue, the latest to enter, is on " +
		"probation, and requests there do not count",
	Source: "Xia, Nixon, Marthen, Bhandari and Yang, Learning-augmented heuristics: simple, yet smart, robust and " +
		"interpretable cache eviction, OSDI 2026, section 4",
	Params: []policies.Param{
		{Name: "small", Default: 0.1, Min: 0, Max: 1, Doc: "share of the capacity for the small queue"},
		{Name: "ghost", Default: 0.9, Min: 0, Max: 16, Doc: "capacity of the ghost queue as a share of the cache's"},
		{Name: "skip", Default: 0.25, Min: 0, Max: 1, Doc: "share of what is in the small queue that is on probation"},
		{Name: "move", Default: 2, Min: 0, Max: 3, Doc: "requests counted in the small queue that move an object to the " +
			"main queue"},
		{Name: "bits", Default: 2, Min: 1, Max: 6, Doc: "width of an object's counter of requests"},
	},
	New: func(c policies.Config) (policies.Policy, error) {
		return newProbation(c, "s4fifo", c.Params.Float("skip"), true)
	},
}

// probation is S3-FIFO with a small queue in which an object's requests count only when enough has entered after it.
type probation struct {
	queues  *s3fifo
	share   float64
	ofQueue bool    // share is of the objects in the small queue; otherwise of its limit
	window  int64   // unless ofQueue, what must have entered after an object
	entered []int64 // per object: entries when it had entered the small queue
	entries int64   // what has entered it: objects if ofQueue, otherwise what they are charged

	pushed []uint32 // the same on the batch path, where entries are the pushes of the ring
}

func newProbation(c policies.Config, name string, share float64, ofQueue bool) (policies.Policy, error) {
	queues, err := newS3FIFO(c, name, true)
	if err != nil {
		return nil, err
	}
	p := &probation{queues: queues, share: share, ofQueue: ofQueue, entered: make([]int64, c.Objects)}
	p.measure()
	return p, nil
}

// measure sets the window for the limit of the small queue.
func (p *probation) measure() {
	p.window = int64(math.Ceil(p.share * float64(p.queues.Limit[s3Small])))
}

func (p *probation) Resize(capacity int64) {
	p.queues.Resize(capacity)
	p.measure()
}

func (p *probation) Grow(objects int) {
	p.queues.Grow(objects)
	p.entered = dense.Grown(p.entered, objects)
}

// counts reports whether requests count for an object after which later has entered the small queue, which holds
// queued. The authors of s4fifo take the object itself for one that has entered.
func (p *probation) counts(later, queued int64) bool {
	if p.ofQueue {
		return later+1 >= dense.Multiple(queued, p.share)
	}
	return later >= p.window
}

func (p *probation) Hit(r policies.Request) {
	o := r.Object
	if p.queues.In(s3Main, o) || p.counts(p.entries-p.entered[o], p.queued()) {
		p.queues.Hit(r)
	}
}

// queued returns how many objects have entered the small queue since its oldest one, with that.
func (p *probation) queued() int64 {
	oldest, _ := p.queues.List.Back(s3Small)
	return p.entries - p.entered[oldest] + 1
}

func (p *probation) Miss(r policies.Request)                   { p.queues.Miss(r) }
func (p *probation) Admit(r policies.Request) bool             { return p.queues.Admit(r) }
func (p *probation) Victim(r policies.Request) policies.Object { return p.queues.Victim(r) }
func (p *probation) Remove(o policies.Object)                  { p.queues.Remove(o) }

func (p *probation) Insert(r policies.Request) {
	p.queues.Insert(r)
	if p.queues.In(s3Small, r.Object) {
		p.entries += p.entry(r.Size)
		p.entered[r.Object] = p.entries
	}
}

// entry returns what an object of a size adds to entries.
func (p *probation) entry(size int64) int64 {
	if p.ofQueue {
		return 1
	}
	return size
}

// Resized implements SizeFollower: the object is as if it had entered with its new size.
func (p *probation) Resized(o policies.Object, size int64) {
	if p.queues.In(s3Small, o) {
		by := p.entry(size) - p.entry(p.queues.Charged.Of(o))
		p.entries += by
		p.entered[o] += by
	}
	p.queues.Resized(o, size)
}

func (p *probation) ReplayUnit(objects []policies.Object, _ int) (hits, evictions int) {
	b := &p.queues.batch
	if b.state == nil {
		*b = newS3Batch(p.queues.config, p.queues)
		p.pushed = make([]uint32, p.queues.config.Objects)
	}
	state, top := b.state, b.top
	for _, o := range objects {
		s := state[o]
		if s >= s3InSmall {
			hits++
			if s < top && (s%s3Request == s3InMain || p.counts(int64(b.small.Head-p.pushed[o]), int64(b.small.Len()))) {
				state[o] = s + s3Request
			}
			continue
		}
		if b.free == 0 {
			evictions++
		}
		if b.load(o) {
			p.pushed[o] = b.small.Head
		}
	}
	return hits, evictions
}
