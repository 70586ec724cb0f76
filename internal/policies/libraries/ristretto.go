package libraries

import (
	"math"
	"math/bits"
	"slices"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var ristrettoEntries = []policies.Entry{{
	Name:   "ristretto",
	Look:   policies.Look{Color: policies.Blue, Mark: policies.Arrow},
	Memory: policies.Memory{PerObject: 12, PerSlot: 40},
	Summary: "admits an object unless it was requested less often than all of 5 sampled residents, the rarest of which " +
		"it replaces, as the library Ristretto does",
	Source: "Ristretto 2.4.2, github.com/dgraph-io/ristretto/v2; TinyLFU: Einziger, Friedman, Manes, ACM ToS 2017",
	Params: []policies.Param{
		{Name: "counters", Default: 0, Min: 0, Max: 1 << 40, Doc: "NumCounters, objects that the sketch has room " +
			"for; 0: 10 for each object that fits, or for each KiB if capacity counts bytes"},
		{Name: "buffer", Default: 64, Min: 1, Max: 1 << 20, Doc: "BufferItems, requests that are counted at once; 1: each " +
			"request at once"},
	},
	Bypass: true,
	Random: true,
	Keys:   func(policies.Values) bool { return true },
	New:    func(c policies.Config) (policies.Policy, error) { return newRistretto(c), nil },
}}

const (
	ristrettoSample = 5
	// countersPer is how many counters the library recommends per object, and per KiB its README has (10 million for
	// 1 GiB).
	countersPer = 10
	// tableCounters is the number of counters that have memory of their own. Larger caches count like the library, but
	// more objects share counters.
	tableCounters = 1 << 26
)

// ristretto refuses, or evicts, the least requested object of a sample. Hits change nothing but the sketch.
type ristretto struct {
	resident dense.Set
	keys     []uint64 // per object that has been missed
	key      func(policies.Object) uint64
	draws    random.Draws

	counts  ristrettoCounts
	door    bloom
	added   int64             // requests since the counts were halved
	period  int64             // requests after which they are
	pending []policies.Object // requests that are not counted yet
	buffer  int               // of them are counted at once
	sample  []policies.Object // what is left of the sample of the missed object
	free    int64
}

func newRistretto(c policies.Config) *ristretto {
	counters := int64(c.Params.Int("counters"))
	switch {
	case counters > 0:
	case c.Unit:
		counters = countersPer * min(c.Capacity, math.MaxInt64/countersPer)
	default:
		counters = countersPer * max(c.Capacity/1024, 1)
	}
	table := min(counters, tableCounters)
	if !c.Grows { // more have nothing to count
		table = min(table, max(64*int64(c.Objects), 1))
	}
	return &ristretto{
		resident: dense.NewSet(c.Objects),
		keys:     make([]uint64, c.Objects),
		key:      c.Key,
		draws:    random.NewDraws(c.Seed),
		counts:   newRistrettoCounts(table),
		door:     newBloom(table),
		period:   counters,
		buffer:   c.Params.Int("buffer"),
		sample:   make([]policies.Object, 0, ristrettoSample),
		free:     c.Capacity,
	}
}

func (p *ristretto) Hit(r policies.Request) { p.note(r.Object) }

func (p *ristretto) Miss(r policies.Request) {
	p.setKey(r.Object)
	if r.Reason == policies.Demand {
		p.note(r.Object)
	}
	p.sample = p.sample[:0]
}

// setKey computes the hash of an object: the library hashes an integer to itself.
func (p *ristretto) setKey(o policies.Object) {
	if p.key != nil {
		p.keys[o] = p.key(o) ^ 1<<63 // its sign is flipped
	} else {
		p.keys[o] = uint64(o)
	}
}

// note counts a request as soon as the buffer is full.
func (p *ristretto) note(o policies.Object) {
	p.pending = append(p.pending, o)
	if len(p.pending) < p.buffer {
		return
	}
	for _, o := range p.pending {
		p.count(p.keys[o])
	}
	p.pending = p.pending[:0]
}

func (p *ristretto) count(key uint64) {
	if !p.door.open(key) {
		p.counts.add(key)
	}
	if p.added++; p.added >= p.period {
		p.added = 0
		p.door.clear()
		p.counts.halve()
	}
}

func (p *ristretto) estimate(o policies.Object) int {
	key := p.keys[o]
	n := p.counts.of(key)
	if p.door.isOpen(key) {
		n++
	}
	return n
}

func (p *ristretto) Victim(r policies.Request) policies.Object {
	if r.Reason == policies.Shrink {
		p.sample = p.sample[:0]
	}
	for {
		at, least := p.leastOfSample()
		if r.Reason != policies.Shrink && p.estimate(r.Object) < least {
			return r.Object
		}
		o, last := p.sample[at], len(p.sample)-1
		p.sample[at] = p.sample[last]
		p.sample = p.sample[:last]
		if p.resident.Has(o) { // unless it was in the sample twice
			p.resident.Remove(o)
			return o
		}
	}
}

// leastOfSample fills the sample up, and returns the place of the first object with the fewest requests. What is drawn
// at once is distinct, but may be in the sample already.
func (p *ristretto) leastOfSample() (at, least int) {
	from := len(p.sample)
	for to := min(ristrettoSample, from+len(p.resident.All)); len(p.sample) < to; {
		o := p.resident.All[p.draws.Below(uint64(len(p.resident.All)))]
		if !slices.Contains(p.sample[from:], o) {
			p.sample = append(p.sample, o)
		}
	}
	least = math.MaxInt
	for i, o := range p.sample {
		if n := p.estimate(o); n < least {
			at, least = i, n
		}
	}
	return at, least
}

func (p *ristretto) Insert(r policies.Request) { p.resident.Add(r.Object) }
func (p *ristretto) Remove(o policies.Object)  { p.resident.Remove(o) }

func (p *ristretto) Grow(objects int) {
	p.resident.Grow(objects)
	p.keys = dense.Grown(p.keys, objects)
}

func (p *ristretto) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	for i, o := range objects {
		if p.resident.Has(o) {
			hits++
			p.note(o)
			continue
		}
		r := policies.Request{Object: o, Pos: first + i, Size: 1}
		p.Miss(r)
		if p.free > 0 {
			p.free--
		} else if p.Victim(r) == o {
			continue
		} else {
			evictions++
		}
		p.Insert(r)
	}
	return hits, evictions
}

// ristrettoCounts are the library's count-min sketch. Its four rows find the counter of a key by the same bits, which a
// number of the row flips: what shares a counter in one row does in all, so that one row says the same as four.
type ristrettoCounts struct {
	words []uint64 // of 16 counters
	mask  uint64
}

func newRistrettoCounts(counters int64) ristrettoCounts {
	counters = int64(dense.CeilPowerOfTwo(int(counters)))
	return ristrettoCounts{words: make([]uint64, (counters+dense.WordCounters-1)/dense.WordCounters),
		mask: uint64(counters - 1)}
}

func (c *ristrettoCounts) place(key uint64) (word, shift uint64) {
	at := key & c.mask
	return at / dense.WordCounters, at % dense.WordCounters * 4
}

func (c *ristrettoCounts) of(key uint64) int {
	word, shift := c.place(key)
	return int(c.words[word] >> shift & dense.MaxCount)
}

func (c *ristrettoCounts) add(key uint64) {
	word, shift := c.place(key)
	if c.words[word]>>shift&dense.MaxCount < dense.MaxCount {
		c.words[word] += 1 << shift
	}
}

func (c *ristrettoCounts) halve() {
	for i, w := range c.words {
		c.words[i] = w >> 1 & 0x7777777777777777
	}
}

// bloom is the library's doorkeeper: the first request of a key in a period opens it.
type bloom struct {
	words []uint64
	mask  uint64 // of a bit
	bits  uint   // of the hash that stand for the key: as many at its upper end, and at its lower
}

const (
	bloomBits   = 9.585058377 // per key, for one wrong answer in 100: -ln 0.01 / ln² 2
	bloomProbes = 7
	bloomLeast  = 512 // bits
)

func newBloom(keys int64) bloom {
	size := dense.CeilPowerOfTwo(max(int(float64(keys)*bloomBits), bloomLeast))
	return bloom{words: make([]uint64, size/64), mask: uint64(size - 1), bits: uint(bits.Len(uint(size - 1)))}
}

// open opens the door for a key, and reports whether it was shut.
func (b *bloom) open(key uint64) bool {
	shut := false
	at, step := b.first(key)
	for range bloomProbes {
		bit := at & b.mask
		if b.words[bit/64]>>(bit%64)&1 == 0 {
			b.words[bit/64] |= 1 << (bit % 64)
			shut = true
		}
		at += step
	}
	return shut
}

func (b *bloom) isOpen(key uint64) bool {
	at, step := b.first(key)
	for range bloomProbes {
		bit := at & b.mask
		if b.words[bit/64]>>(bit%64)&1 == 0 {
			return false
		}
		at += step
	}
	return true
}

// first returns the first bit of a key, and the distance of the next.
func (b *bloom) first(key uint64) (at, step uint64) { return key >> (64 - b.bits), key & b.mask }

func (b *bloom) clear() { clear(b.words) }
