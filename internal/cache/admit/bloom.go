package admit

import (
	"math"
	"math/bits"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

var bloomEntry = Entry{
	Name: "bloom",
	Summary: "admits objects that have missed before, as far back as its Bloom filters remember; some are mistaken for " +
		"others and admitted at once",
	Source: "Berg et al., The CacheLib caching engine, OSDI 2020, section 4.2 (reject first); Bloom, Space/time " +
		"trade-offs in hash coding with allowable errors, CACM 1970",
	Params: []params.Param{
		{Name: "entries", Default: 1_000_000, Min: 1, Max: 1 << 24, Doc: "missed objects that are remembered at most"},
		{Name: "splits", Default: 4, Min: 1, Max: 64, Doc: "filters that share them; when the newest has its part, the " +
			"oldest is emptied"},
		{Name: "error", Default: 0.01, Min: 1e-6, Max: 0.5, Doc: "probability that a full filter takes a new object for " +
			"one of its own"},
	},
	New: func(c Config) (Admission, error) {
		v := c.Params
		return newBloom(v.Int("entries"), v.Int("splits"), v.Float("error")), nil
	},
}

// bloom remembers missed objects in filters of bits. The newest filter takes them in; when it has its part, the oldest
// is emptied and becomes the newest.
//
// Memory: log2(1/error) / ln(2) bits for each entry, 1.2 bytes at an error of 1%.
type bloom struct {
	filters     [][]uint64
	bits        uint64 // of one filter
	hashes      uint64 // bits of an object
	newest      int
	taken, part int // objects that the newest filter has taken in, and can
}

func newBloom(entries, splits int, wrong float64) *bloom {
	b := &bloom{filters: make([][]uint64, splits), part: (entries + splits - 1) / splits}
	// Of a full filter half of the bits are set, so that each of an object's bits halves the error.
	halvings := -random.Log(wrong) / math.Ln2
	b.hashes = uint64(max(1, math.Round(halvings)))
	words := int(math.Ceil(float64(b.part)*halvings/math.Ln2)+63) / 64
	b.bits = uint64(words) * 64
	for i := range b.filters {
		b.filters[i] = make([]uint64, words)
	}
	return b
}

func (*bloom) Request(requests.Request, int) {}

// Admit takes the object into the newest filter, and admits it if a filter has it already.
func (b *bloom) Admit(r requests.Request) bool {
	if b.has(b.newest, r.Object) {
		return true
	}
	known := false
	for i := range b.filters {
		known = known || b.has(i, r.Object)
	}
	b.add(r.Object)
	return known
}

func (b *bloom) has(filter int, o requests.Object) bool {
	place, step := placesOf(o)
	for range b.hashes {
		bit, _ := bits.Mul64(place, b.bits)
		if b.filters[filter][bit/64]>>(bit%64)&1 == 0 {
			return false
		}
		place += step
	}
	return true
}

func (b *bloom) add(o requests.Object) {
	if b.taken == b.part {
		b.taken, b.newest = 0, (b.newest+1)%len(b.filters)
		clear(b.filters[b.newest])
	}
	b.taken++
	place, step := placesOf(o)
	for range b.hashes {
		bit, _ := bits.Mul64(place, b.bits)
		b.filters[b.newest][bit/64] |= 1 << (bit % 64)
		place += step
	}
}

// placesOf returns where the first bit of an object is, as a share of a filter in units of 2^-64, and how far it is
// from each bit to the next.
func placesOf(o requests.Object) (place, step uint64) {
	place = random.Scramble(uint64(o))
	return place, random.Scramble(place) | 1
}
