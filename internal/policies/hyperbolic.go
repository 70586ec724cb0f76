package policies

import (
	"math"

	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/random"
)

var hyperbolicEntry = Entry{
	Name:    "hyperbolic",
	Look:    Look{Color: Violet, Mark: Circle},
	Memory:  Memory{PerObject: 4, PerSlot: 14},
	Summary: "evicts, of a random sample, the object with the fewest requests per time since it was loaded (and per byte)",
	Source:  "Blankstein, Sen, Freedman, Hyperbolic caching: flexible caching for Web applications, USENIX ATC 2017",
	Params: []Param{
		{Name: "samples", Default: 64, Min: 1, Max: 1 << 20, Doc: "resident objects drawn per eviction, with replacement; " +
			"all are compared if there are no more than that"},
		{Name: "sized", Default: true, Doc: "divide the priority by the object's size"},
	},
	Random: true,
	New: func(c Config) (Policy, error) {
		p := &hyperbolic{
			slots:   dense.NewSlots[hyperbolicInfo](c.Objects),
			draws:   random.NewDraws(c.Seed),
			samples: c.Params.Int("samples"),
			free:    c.Capacity,
		}
		if !c.Unit && c.Params.Bool("sized") {
			p.sizes = dense.NewCharges(c.Objects, c.Unit)
		}
		return p, nil
	},
}

// hyperbolic gives an object the priority n/(t*size) after n requests in t positions since it was loaded.
type hyperbolic struct {
	slots   dense.Slots[hyperbolicInfo]
	sizes   dense.Charges // of resident objects; nil if sizes do not matter
	draws   random.Draws
	samples int
	free    int64 // objects that still fit, batch path only
}

type hyperbolicInfo struct {
	requests uint32 // since the object was loaded
	loaded   uint32 // position
}

func (p *hyperbolic) Hit(r Request) { p.slots.Info(r.Object).requests++ }

func (p *hyperbolic) Miss(Request) {}

func (p *hyperbolic) Victim(r Request) Object {
	var slot uint64
	if p.sizes == nil {
		slot = p.leastOfSample(uint32(r.Pos))
	} else {
		slot = p.leastOfSampleBySize(uint32(r.Pos))
	}
	v := p.slots.Objects[slot]
	p.slots.Remove(v)
	return v
}

// lower reports whether a has the lower priority at position now, or the same and was loaded earlier. The fractions are
// compared exactly: requests and ages have 32 bits.
func lower(a, b hyperbolicInfo, now uint32) bool {
	x, y := uint64(a.requests)*uint64(now-b.loaded), uint64(b.requests)*uint64(now-a.loaded)
	return x < y || x == y && a.loaded < b.loaded
}

func (p *hyperbolic) leastOfSample(now uint32) uint64 {
	infos := p.slots.Dense()
	if len(infos) <= p.samples {
		least := 0
		for slot := range infos {
			if lower(infos[slot], infos[least], now) {
				least = slot
			}
		}
		return uint64(least)
	}
	n, draws := uint64(len(infos)), p.draws
	least := draws.Below(n)
	lowest := infos[least]
	for range p.samples - 1 {
		slot := draws.Below(n)
		if info := infos[slot]; lower(info, lowest, now) {
			least, lowest = slot, info
		}
	}
	p.draws = draws
	return least
}

// leastOfSampleBySize is leastOfSample with sizes. The priorities are compared in floating point.
func (p *hyperbolic) leastOfSampleBySize(now uint32) uint64 {
	infos := p.slots.Dense()
	n, draws := uint64(len(infos)), p.draws
	all := len(infos) <= p.samples
	least, lowest, loaded := uint64(0), math.Inf(1), uint32(0)
	for i := range min(n, uint64(p.samples)) {
		slot := i
		if !all {
			slot = draws.Below(n)
		}
		info := infos[slot]
		size := p.sizes[p.slots.Objects[slot]]
		priority := float64(info.requests) / (float64(now-info.loaded) * float64(size))
		if priority < lowest || priority == lowest && info.loaded < loaded {
			least, lowest, loaded = slot, priority, info.loaded
		}
	}
	p.draws = draws
	return least
}

func (p *hyperbolic) Insert(r Request) {
	p.sizes.Set(r.Object, r.Size)
	p.slots.Add(r.Object, hyperbolicInfo{requests: 1, loaded: uint32(r.Pos)})
}

func (p *hyperbolic) Grow(objects int) {
	p.slots.Grow(objects)
	p.sizes.Grow(objects)
}

func (p *hyperbolic) Remove(o Object) { p.slots.Remove(o) }

func (p *hyperbolic) ReplayUnit(objects []Object, first int) (hits, evictions int) {
	for i, o := range objects {
		if p.slots.Has(o) {
			hits++
			p.slots.Info(o).requests++
			continue
		}
		r := Request{Object: o, Pos: first + i}
		if p.free > 0 {
			p.free--
		} else {
			p.Victim(r)
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}
