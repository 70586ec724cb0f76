package sampled

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var hyperbolicEntry = policies.Entry{
	Name:    "hyperbolic",
	Look:    policies.Look{Color: policies.Violet, Mark: policies.Circle},
	Memory:  policies.Memory{PerObject: 4, PerSlot: 22},
	Summary: "evicts, of a random sample, the object with the fewest requests per time since it was loaded (and per byte)",
	Source:  "Blankstein, Sen, Freedman, Hyperbolic caching: flexible caching for Web applications, USENIX ATC 2017",
	Params: []policies.Param{
		{Name: "samples", Default: 64, Min: 1, Max: 1 << 20, Doc: "resident objects drawn per eviction, with replacement; " +
			"all are compared if there are no more than that"},
		{Name: "leeway", Default: 0.1, Min: 0, Max: 1, Doc: "a new object starts with leeway + (1 - leeway) * the priority " +
			"of the last victim as its count; 1: with one request, as the paper's formula says"},
		{Name: "sized", Default: true, Doc: "divide the priority by the object's size"},
		{Name: "rule", Default: "simulator", Choices: []string{"simulator", "redis"}, Doc: "which of the authors' programs " +
			"to follow: simulator, an object that is loaded before anything was evicted starts with one request; redis, it " +
			"starts with leeway, and a miss takes two units of time"},
	},
	Random: true,
	New: func(c policies.Config) (policies.Policy, error) {
		samples := c.Params.Int("samples")
		p := &hyperbolic{
			slots:      dense.NewSlots[hyperbolicInfo](c.Objects),
			draws:      random.NewDraws(c.Seed),
			drawn:      make([]uint32, samples),
			priorities: make([]float64, samples),
			leeway:     c.Params.Float("leeway"),
			redis:      c.Params.Text("rule") == "redis",
			free:       c.Capacity,
		}
		if !c.Unit && c.Params.Bool("sized") {
			p.sizes = dense.NewCharges(c.Objects, c.Unit)
		}
		return p, nil
	},
}

// hyperbolic gives an object the priority n/(t*size), t positions after it was loaded. n counts its requests since
// then; the first one counts as in the authors' programs (kantai/hyperbolic-caching and redis-hyperbolic-caching).
type hyperbolic struct {
	slots      dense.Slots[hyperbolicInfo]
	sizes      dense.Charges // of resident objects; nil if sizes do not matter
	draws      random.Draws
	drawn      []uint32  // the slots of a sample
	priorities []float64 // theirs
	leeway     float64
	victim     float64 // priority of the last victim; 0 before the first
	redis      bool    // rule=redis
	loads      uint32  // with rule=redis
	free       int64   // objects that still fit, batch path only
}

type hyperbolicInfo struct {
	count  float64 // requests since the object was loaded; the first counts more or less than 1
	loaded uint32  // time
}

// priority returns the priority at a time, without the size. An object that was loaded at that very time counts as one
// unit old.
func (i hyperbolicInfo) priority(now uint32) float64 { return i.count / float64(max(now-i.loaded, 1)) }

func (p *hyperbolic) Hit(r policies.Request) { p.slots.Info(r.Object).count++ }
func (p *hyperbolic) Miss(policies.Request)  {}

func (p *hyperbolic) Victim(r policies.Request) policies.Object { return p.evict(p.now(r.Pos)) }

func (p *hyperbolic) evict(now uint32) policies.Object {
	slot, priority := p.leastOfSample(now)
	p.victim = priority
	return p.slots.Empty(slot)
}

// leastOfSample returns the slot of the lowest priority in a sample, and that priority. Ties go to the object that was
// loaded earlier. No branch of the first loop depends on a priority, which the processor could not predict, so that it
// divides one number right after the other.
func (p *hyperbolic) leastOfSample(now uint32) (least uint32, lowest float64) {
	infos, drawn := p.slots.Dense(), p.draw()
	priorities := p.priorities[:len(drawn)]
	lowestBits := uint64(math.MaxUint64) // like numbers that are not negative their bits compare
	for i, slot := range drawn {
		priority := infos[slot].priority(now)
		if p.sizes != nil {
			priority /= float64(p.sizes[p.slots.Objects[slot]])
		}
		priorities[i] = priority
		lowestBits = min(lowestBits, math.Float64bits(priority))
	}
	lowest = math.Float64frombits(lowestBits)
	loaded := uint64(math.MaxUint64)
	for i, priority := range priorities {
		if priority != lowest {
			continue
		}
		if at := uint64(infos[drawn[i]].loaded); at < loaded {
			least, loaded = drawn[i], at
		}
	}
	return least, lowest
}

// draw returns the slots of a sample: all of them if there are no more.
func (p *hyperbolic) draw() []uint32 {
	n := p.slots.Len()
	if n > len(p.drawn) {
		p.draws.Fill(p.drawn, uint64(n))
		return p.drawn
	}
	all := p.drawn[:n]
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}

func (p *hyperbolic) Insert(r policies.Request) {
	p.sizes.Set(r.Object, r.Size)
	p.insert(r.Object, r.Size, r.Pos)
}

func (p *hyperbolic) insert(o policies.Object, size int64, pos int) {
	p.slots.Add(o, hyperbolicInfo{count: p.first(size), loaded: p.now(pos)})
	if p.redis {
		p.loads++
	}
}

// now returns the time of a request by its position. In Redis a client gets an object and, on a miss, sets it: its
// clock counts both.
func (p *hyperbolic) now(pos int) uint32 { return uint32(pos) + p.loads }

// first returns the count with which an object of a size starts. One position later its priority is between the last
// victim's and that of an object with one request.
func (p *hyperbolic) first(size int64) float64 {
	if p.victim == 0 && !p.redis {
		return 1
	}
	guess := p.victim
	if p.sizes != nil {
		guess *= float64(size)
	}
	return p.leeway + float64((1-p.leeway)*guess)
}

// Resized implements SizeFollower. The requests so far count by the size that the object has now.
func (p *hyperbolic) Resized(o policies.Object, size int64) { p.sizes.Set(o, size) }

func (p *hyperbolic) Grow(objects int) {
	p.slots.Grow(objects)
	p.sizes.Grow(objects)
}

func (p *hyperbolic) Remove(o policies.Object) { p.slots.Remove(o) }

func (p *hyperbolic) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	for i, o := range objects {
		if p.slots.Has(o) {
			hits++
			p.slots.Info(o).count++
			continue
		}
		if p.free > 0 {
			p.free--
		} else {
			p.evict(p.now(first + i))
			evictions++
		}
		p.insert(o, 1, first+i)
	}
	return hits, evictions
}
