package libraries

import (
	"math/bits"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var guavaEntries = []policies.Entry{{
	Name:   "guava",
	Look:   policies.Look{Color: policies.Olive, Mark: policies.Pentagon},
	Memory: policies.Memory{PerObject: 9},
	Summary: "LRU in each of 4 segments, among which the hashes of keys divide the objects, as the cache of the " +
		"library Guava does",
	Source: "Guava 33.8.0, com.google.common.cache",
	Params: []policies.Param{{Name: "concurrency", Default: 4, Min: 1, Max: 128, Doc: "concurrencyLevel: segments, " +
		"rounded up to a power of two, but fewer in caches of less than 20 per segment"}},
	Keys: func(policies.Values) bool { return true },
	New:  func(c policies.Config) (policies.Policy, error) { return newGuava(c), nil },
}}

// guava evicts from the segment of the object that is loaded, also where the cache still has room in others.
type guava struct {
	dense.Segments
	dense.Late
	key   func(policies.Object) uint64
	shift int // of a hash, whose upper bits choose the segment
	unit  bool
}

func newGuava(c policies.Config) *guava {
	n := 1
	for n < c.Params.Int("concurrency") && int64(n)*20 <= c.Capacity {
		n *= 2
	}
	p := &guava{
		Segments: dense.NewSegments(c.Objects, c.Unit, make([]int64, n)...),
		key:      c.Key,
		shift:    32 - bits.Len(uint(n-1)),
		unit:     c.Unit,
	}
	p.Resize(c.Capacity)
	return p
}

// Resize divides another capacity among the same segments. By objects each has room for one, so that all can be loaded.
func (p *guava) Resize(capacity int64) {
	n := int64(len(p.Limit))
	for i := range p.Limit {
		p.Limit[i] = capacity / n
		if int64(i) < capacity%n {
			p.Limit[i]++
		}
		if p.unit {
			p.Limit[i] = max(p.Limit[i], 1)
		}
	}
}

// segment returns the segment of an object by the hash that the library makes of java.lang.Long's.
func (p *guava) segment(o policies.Object) int {
	h := o
	if p.key != nil {
		k := p.key(o) ^ 1<<63 // its sign is flipped
		h = uint32(k) ^ uint32(k>>32)
	}
	h += h<<15 ^ 0xffffcd7d
	h ^= h >> 10
	h += h << 3
	h ^= h >> 6
	h += h<<2 + h<<14
	return int(uint64(h^h>>16) >> p.shift)
}

func (p *guava) Hit(r policies.Request) {
	if p.Has(r.Object) { // otherwise it leaves soon
		p.Renew(r.Object)
	}
}

func (p *guava) Miss(policies.Request) {}

// Admit implements policies.Admitter: an object larger than its segment is dropped at once, and no other one for it.
func (p *guava) Admit(r policies.Request) bool { return r.Size <= p.Limit[p.segment(r.Object)] }

func (p *guava) Victim(r policies.Request) policies.Object {
	if len(p.Late) > 0 {
		return p.Next()
	}
	from := p.fullest()
	if r.Reason != policies.Shrink {
		if own := p.segment(r.Object); !p.List.Empty(own) {
			from = own
		}
	}
	o, _ := p.Pop(from)
	return o
}

// fullest returns the segment with most above its limit.
func (p *guava) fullest() (at int) {
	for i := range p.Limit {
		if p.List.Empty(at) || !p.List.Empty(i) && p.Used[i]-p.Limit[i] > p.Used[at]-p.Limit[at] {
			at = i
		}
	}
	return at
}

func (p *guava) Insert(r policies.Request) {
	at := p.segment(r.Object)
	p.Load(at, r.Object, r.Size)
	p.shrink(at)
}

// shrink evicts the objects requested longest ago until a segment keeps its limit.
func (p *guava) shrink(at int) {
	for p.Used[at] > p.Limit[at] {
		o, _ := p.Pop(at)
		p.Late = append(p.Late, o)
	}
}

// Resized implements policies.SizeFollower. An object that has outgrown its segment leaves it, and no other one for it.
func (p *guava) Resized(o policies.Object, size int64) {
	p.Segments.Resized(o, size)
	at := p.Of(o)
	if size > p.Limit[at] {
		p.Take(o)
		p.Late = append(p.Late, o)
	}
	p.shrink(at)
}

func (p *guava) Remove(o policies.Object) {
	if !p.Strike(o) {
		p.Take(o)
	}
}
