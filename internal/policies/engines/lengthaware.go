package engines

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// lengthAware is Mooncake's LengthAwareCache. Its paper only says that it is similar to LFU and gives priority to
// blocks that occur later in requests. Our reading: among the blocks with the fewest requests since they were loaded,
// it evicts the one farthest from the beginning of its prompt, or nearest to it. Ties go to the one requested longest
// ago.
type lengthAware struct {
	holds     bool
	deepFirst bool
	heap      dense.KeyedHeap // of the residents that may be evicted
	first     int             // the position at which the current prompt begins
	groups    []int           // where further prompts begin, if nobody reports them
	event     uint32
	count     []uint32 // per object: requests since its load
	depth     []uint32 // per object: blocks before it in its prompt
	at        []uint32 // per object: the event of its last request
}

func newLengthAware(c policies.Config) *lengthAware {
	return &lengthAware{
		holds: c.Holds, deepFirst: c.Params.Text("later") == laterEvicted, heap: dense.NewKeyedHeap(c.Objects),
		groups: c.Groups, count: make([]uint32, c.Objects), depth: make([]uint32, c.Objects),
		at: make([]uint32, c.Objects),
	}
}

// Begin implements PromptHolder, in caches that hold what prompts use.
func (p *lengthAware) Begin(prompt policies.Prompt) {
	p.BeginGroup(prompt.First)
	p.event++
	for _, o := range prompt.Hits {
		p.use(o)
	}
}

// BeginGroup implements policies.GroupFollower.
func (p *lengthAware) BeginGroup(first int) { p.first, p.groups = first, nil }

func (p *lengthAware) Split(policies.Object, policies.Object) {}
func (p *lengthAware) Finish([]policies.Object)               {}

func (p *lengthAware) use(o policies.Object) {
	p.count[o]++
	p.at[o] = p.event
}

func (p *lengthAware) Hit(r policies.Request) {
	p.note()
	if p.use(r.Object); !p.holds {
		p.Release(r.Object)
	}
}

func (p *lengthAware) Miss(policies.Request) { p.note() }

// note counts requests as events where prompts are not reported.
func (p *lengthAware) note() {
	if !p.holds {
		p.event++
	}
}

func (p *lengthAware) Insert(r policies.Request) {
	for len(p.groups) > 0 && p.groups[0] <= r.Pos {
		p.first, p.groups = p.groups[0], p.groups[1:]
	}
	p.depth[r.Object] = uint32(r.Pos - p.first)
	p.count[r.Object] = 0
	if p.use(r.Object); !p.holds {
		p.Release(r.Object)
	}
}

func (p *lengthAware) Victim(policies.Request) policies.Object {
	o, _ := p.heap.Least()
	p.heap.Remove(o)
	return o
}

func (p *lengthAware) Remove(o policies.Object) { p.heap.Remove(o) }
func (p *lengthAware) Hold(o policies.Object)   { p.heap.Remove(o) }

func (p *lengthAware) Release(o policies.Object) {
	depth := p.depth[o]
	if p.deepFirst {
		depth = ^depth
	}
	p.heap.Set(o, float64(p.count[o]), uint64(depth)<<32|uint64(p.at[o]))
}

func (p *lengthAware) Grow(objects int) {
	p.heap.Grow(objects)
	p.count, p.depth, p.at = dense.Grown(p.count, objects), dense.Grown(p.depth, objects), dense.Grown(p.at, objects)
}
