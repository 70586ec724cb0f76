package onepass

import (
	"math/bits"
	"slices"

	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/traces"
)

// Firsts knows which requests of a trace are the first to load their object, or come before it and load nothing: these
// miss in every cache. It needs an eighth of a byte per request.
type Firsts struct {
	trace *traces.Trace
	bits  []uint64 // of the requests
	// before has what was requested before every firstsStep-th request.
	before []Requested
}

// Requested is the objects that a part of a trace requests.
type Requested struct {
	Objects, Bytes int64
	Cold           int64 // requests that count, and miss in every cache
}

const firstsStep = 1 << 12 // a multiple of 64

// NewFirsts looks through a trace.
func NewFirsts(t *traces.Trace) *Firsts {
	f := &Firsts{trace: t, bits: make([]uint64, (len(t.Objects)+63)/64)}
	seen := make([]uint64, (t.NumObjects+63)/64)
	var sum Requested
	for pos, o := range t.Objects {
		if pos%firstsStep == 0 {
			f.before = append(f.before, sum)
		}
		if seen[o/64]>>(o%64)&1 == 0 {
			if !t.Passes(pos) {
				seen[o/64] |= 1 << (o % 64)
			}
			f.bits[pos/64] |= 1 << (pos % 64)
			f.add(&sum, pos)
		}
	}
	return f
}

func (f *Firsts) add(sum *Requested, pos int) {
	if !f.trace.Passes(pos) {
		sum.Objects++
		if f.trace.HasSizes() {
			sum.Bytes += f.trace.Size(pos)
		}
	}
	if !f.trace.Fills() || !f.trace.IsWrite(pos) {
		sum.Cold++
	}
}

// Until returns what is requested before a position.
func (f *Firsts) Until(pos int) Requested {
	if len(f.before) == 0 {
		return Requested{}
	}
	step := min(pos/firstsStep, len(f.before)-1)
	sum := f.before[step]
	f.each(step*firstsStep, pos, func(pos int) bool { f.add(&sum, pos); return true })
	return sum
}

// each calls do for the first requests between two positions, until it returns false.
func (f *Firsts) each(from, to int, do func(pos int) bool) {
	for pos := from; pos < to; {
		word := f.bits[pos/64] >> (pos % 64)
		if word == 0 {
			pos += 64 - pos%64
			continue
		}
		if pos += bits.TrailingZeros64(word); pos >= to || !do(pos) {
			return
		}
		pos++
	}
}

// FilledAt returns the position of the first request at which what was requested no longer fits, or the end.
func (f *Firsts) FilledAt(c capacity.Capacity) int {
	size := func(r Requested) int64 {
		if c.Bytes {
			return r.Bytes
		}
		return r.Objects
	}
	fits := func(r Requested) bool { return size(r) <= c.Simulated }
	step, _ := slices.BinarySearchFunc(f.before, true, func(r Requested, _ bool) int {
		if fits(r) {
			return -1
		}
		return 1
	})
	if step == 0 {
		return len(f.trace.Objects)
	}
	sum, at := f.before[step-1], len(f.trace.Objects)
	f.each((step-1)*firstsStep, min(step*firstsStep, len(f.trace.Objects)), func(pos int) bool {
		if f.add(&sum, pos); !fits(sum) {
			at = pos
			return false
		}
		return true
	})
	return at
}
