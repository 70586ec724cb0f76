package admission

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var feedbackParams = []params.Param{
	{Name: "percent-pivot", Default: 0.0, Min: 0, Max: 1, Doc: "share of the first window by which it may shrink"},
	{Name: "pivot-increment", Default: 8, Min: 1, Max: 1 << 20, Doc: "objects by which the window grows at once"},
	{Name: "pivot-decrement", Default: 4, Min: 1, Max: 1 << 20, Doc: "objects by which it shrinks at once"},
	{Name: "maximum-window-size", Default: 256, Min: 1, Max: 1 << 40, Doc: "objects in the window at most"},
	{Name: "maximum-sample-size", Default: 1024, Min: 2, Max: 1 << 40,
		Doc: "requests in a sample at most; else the capacity"},
	{Name: "adaptive-fpp", Default: 0.03, Min: 1e-6, Max: 0.9, Doc: "share of wrong answers of the filter"},
}

// refusals count requests in samples, and remember what was refused in the same half of one: to refuse it was an error
// if it is requested again.
type refusals struct {
	sample            int64
	requests          int64
	sampled, adjusted int64 // samples that have begun; the one in which an error was last answered
	refused           membership
}

func newRefusals(v params.Values, capacity int64) refusals {
	s := max(2, min(int64(v.Int("maximum-sample-size")), capacity))
	return refusals{sample: s, refused: newMembership(3*s, v.Float("adaptive-fpp"))}
}

// request counts a request before it is served.
func (f *refusals) request() {
	if f.requests%f.sample == 0 {
		f.sampled++
	}
	if f.requests%(f.sample/2) == 0 {
		f.refused.clear()
	}
	f.requests++
}

// feedback enlarges the window when an object is refused that was refused before in the same half of a sample, and
// admits that one; it shrinks it if a sample went by without such an error.
type feedback struct {
	refusals
	pivot, most int64 // objects by which the window has grown, and may
	more, fewer int64
	policy      *wTinyLFU
	returned    []policies.Object // moved into the window, where the requested object is older
}

func newFeedback(c climberConfig, p *wTinyLFU) *feedback {
	largest := int64(c.Int("maximum-window-size"))
	p.Limit[inWindow] = min(p.Limit[inWindow], largest)
	return &feedback{
		refusals: newRefusals(c.Values, c.capacity),
		pivot:    int64(c.Float("percent-pivot") * float64(p.Limit[inWindow])),
		most:     min(largest, p.Limit[inProtected]),
		more:     int64(c.Int("pivot-increment")),
		fewer:    int64(c.Int("pivot-decrement")),
		policy:   p,
	}
}

// readmits reports whether a candidate that has lost is kept nevertheless, and moves the border.
func (f *feedback) readmits(candidate policies.Object) bool {
	code := f.policy.code(candidate)
	if f.adjusted != f.sampled {
		if f.refused.has(code) {
			f.grow(candidate)
			return true
		}
		if f.sampled > f.adjusted+1 {
			f.shrink()
		}
	}
	f.refused.put(code)
	return false
}

// grow moves the candidate back into the window, and after it the victims that come after the next one.
func (f *feedback) grow(candidate policies.Object) {
	p := f.policy
	for i := int64(0); i < f.more && f.pivot < f.most; i++ {
		f.adjusted = f.sampled
		f.pivot++
		p.Limit[inWindow]++
		p.Limit[inProtected]--
		p.spill(inProtected)
		o := candidate
		if i > 0 {
			victim, ok := p.List.Back(inProbation)
			if !ok {
				return
			}
			if o, ok = p.List.Before(victim); !ok {
				return
			}
		}
		p.Take(o)
		p.Put(inWindow, o)
		f.returned = append(f.returned, o)
	}
}

func (f *feedback) shrink() {
	for range min(f.fewer, f.pivot) {
		f.pivot--
		f.policy.shrinkByOne()
		f.adjusted = f.sampled
	}
}

// loaded makes what was moved into the window newer than the object that has just entered it.
func (f *feedback) loaded() {
	for _, o := range f.returned {
		if f.policy.In(inWindow, o) {
			f.policy.Renew(o)
		}
	}
	f.returned = f.returned[:0]
}

// membership is the Bloom filter of Caffeine's simulator: four bits for each hash.
type membership struct {
	words []uint64
	shift uint
}

func newMembership(expected int64, wrong float64) membership {
	bits := int(float64(expected) * (-math.Log(wrong) / (math.Ln2 * math.Ln2)))
	words := dense.CeilPowerOfTwo(max(2, bits/64))
	shift := uint(32)
	for n := words; n > 1; n /= 2 {
		shift--
	}
	return membership{make([]uint64, words), shift}
}

func (m *membership) bit(code uint64, i int) (word uint32, mask uint64) {
	h := uint32(dense.SeedHash(code, i))
	return h >> m.shift, 1 << (h & 63)
}

func (m *membership) has(code uint64) bool {
	for i := range 4 {
		if word, mask := m.bit(code, i); m.words[word]&mask == 0 {
			return false
		}
	}
	return true
}

func (m *membership) put(code uint64) {
	for i := range 4 {
		word, mask := m.bit(code, i)
		m.words[word] |= mask
	}
}

func (m *membership) clear() { clear(m.words) }
