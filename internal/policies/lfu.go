package policies

var lfuEntry = Entry{
	Name:    "lfu",
	Summary: "evicts the object requested least often since it was loaded",
	Source:  "Shah, Mitra, Matani, An O(1) algorithm for implementing the LFU cache eviction scheme, 2010",
	Params: []Param{
		{Name: "perfect", Default: false, Doc: "keep counting while an object is not resident, instead of starting again at 1"},
	},
	New: func(c Config) (Policy, error) { return newLFU(c), nil },
}

// lfu evicts from the lists of Frequencies. Of equally frequent objects the least recently requested leaves.
type lfu struct {
	frequencies Frequencies
	past        []uint32 // requests of each object before it was evicted; nil unless perfect
	free        int64    // objects that still fit, batch path only
}

func newLFU(c Config) *lfu {
	p := &lfu{frequencies: NewFrequencies(c.Objects, c.Requests), free: c.Capacity}
	if c.Params.Bool("perfect") {
		p.past = make([]uint32, c.Objects)
	}
	return p
}

func (p *lfu) Hit(r Request) { p.frequencies.Touch(r.Object) }

func (p *lfu) Miss(Request) {}

func (p *lfu) Victim(Request) Object {
	v := p.frequencies.OldestLeast()
	p.Remove(v)
	return v
}

func (p *lfu) Insert(r Request) {
	frequency := uint32(1)
	if p.past != nil {
		frequency += p.past[r.Object]
	}
	p.frequencies.Add(r.Object, frequency)
}

func (p *lfu) Remove(o Object) {
	if p.past != nil {
		p.past[o] = p.frequencies.Frequency(o)
	}
	p.frequencies.Remove(o)
}

func (p *lfu) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.frequencies.Has(o) {
			hits++
			p.frequencies.Touch(o)
			continue
		}
		if p.free > 0 {
			p.free--
		} else {
			p.Victim(Request{})
			evictions++
		}
		p.Insert(Request{Object: o})
	}
	return hits, evictions
}
