package boosted

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// firstHalving is the logarithm of the time in which counter 0 would halve; counter i halves in 2^(firstHalving+i).
const firstHalving = 9

// mostHalvings is after how many a counter is 0: smaller numbers are slow to compute with.
const mostHalvings = 1000

// featureNames are the columns of a row, with so many times between requests and counters.
func featureNames(deltas, counters int) []string {
	names := []string{"age"}
	for i := range deltas {
		names = append(names, fmt.Sprintf("delta_%d", i+2))
	}
	names = append(names, "within")
	for i := range counters {
		names = append(names, fmt.Sprintf("edc_%d", i+1))
	}
	return append(names, "size")
}

// histories are the features of objects that were requested more than once while they were tracked; others have none to
// keep. Memory: 4 bytes per object, and 4 per delta and counter of each history.
type histories struct {
	deltas, counters int
	changes          []int    // columns of a row that change while an object is not requested
	of               []uint32 // per object: its history + 1, 0 if it has none
	made             uint32   // histories, used or not
	pages            []page
	unused           []uint32 // histories that may be used again
	decay            decay
}

// page has the columns of pageSize histories. Pages stay where they are, so that more of them copy nothing.
type page struct {
	past []int32 // the times between the last requests, the last one first; 0: none
	edc  []float32
}

const pageSize = 64

func newHistories(objects, deltas, counters int) histories {
	h := histories{deltas: deltas, counters: counters, of: make([]uint32, objects), decay: newDecay(counters)}
	h.changes = []int{0}
	for i := range counters {
		h.changes = append(h.changes, 2+deltas+i)
	}
	return h
}

// kept returns the columns of a history, by its number + 1.
func (h *histories) kept(number uint32) (past []int32, edc []float32) {
	p, n := &h.pages[(number-1)/pageSize], int((number-1)%pageSize)
	return p.past[n*h.deltas:][:h.deltas], p.edc[n*h.counters:][:h.counters]
}

// add enters the time between the last two requests of an object.
func (h *histories) add(o policies.Object, delta int32) {
	if h.of[o] == 0 {
		h.of[o] = h.allocate()
	}
	past, edc := h.kept(h.of[o])
	if len(past) > 0 {
		copy(past[1:], past)
		past[0] = delta
	}
	factor := h.decay.slowest(delta)
	for i := len(edc) - 1; i >= 0; i-- {
		edc[i] = float32(1 + float64(float64(edc[i])*factor))
		factor *= factor
	}
}

// allocate returns the number + 1 of a history as it is after one request, when all counters are 1.
func (h *histories) allocate() (number uint32) {
	if n := len(h.unused); n > 0 {
		number, h.unused = h.unused[n-1], h.unused[:n-1]
	} else {
		if h.made%pageSize == 0 {
			h.pages = append(h.pages, page{make([]int32, pageSize*h.deltas), make([]float32, pageSize*h.counters)})
		}
		h.made++
		number = h.made
	}
	past, edc := h.kept(number)
	clear(past)
	for i := range edc {
		edc[i] = 1
	}
	return number
}

// clear forgets the history of an object.
func (h *histories) clear(o policies.Object) {
	if number := h.of[o]; number != 0 {
		h.unused = append(h.unused, number)
		h.of[o] = 0
	}
}

// missing is a time between requests that there were not; the paper has infinity.
var missing = math.NaN()

// fill writes the features of an object at an age to the beginning of a row: the age, the deltas, the number of deltas
// within a window before the last request, and the counters.
func (h *histories) fill(o policies.Object, age, window int32, row []float64) {
	row[0] = float64(age)
	deltas, edc := row[1:1+h.deltas], row[2+h.deltas:][:h.counters]
	h.fillCounters(o, age, edc)
	for i := range deltas {
		deltas[i] = missing
	}
	row[1+h.deltas] = 0
	if h.of[o] == 0 {
		return
	}
	past, _ := h.kept(h.of[o])
	within, sum := 0, int64(0)
	for i, delta := range past {
		if delta == 0 {
			continue
		}
		deltas[i] = float64(delta)
		if sum += int64(delta); sum < int64(window) {
			within++
		}
	}
	row[1+h.deltas] = float64(within)
}

// fillChanging writes the features that change while an object is not requested: the age and the counters.
func (h *histories) fillChanging(o policies.Object, age int32, row []float64) {
	row[0] = float64(age)
	h.fillCounters(o, age, row[1:][:h.counters])
}

func (h *histories) fillCounters(o policies.Object, age int32, edc []float64) {
	factor := h.decay.slowest(age)
	if h.of[o] == 0 {
		for i := len(edc) - 1; i >= 0; i-- {
			edc[i] = factor
			factor *= factor
		}
		return
	}
	_, counts := h.kept(h.of[o])
	for i := len(edc) - 1; i >= 0; i-- {
		edc[i] = float64(counts[i]) * factor
		factor *= factor
	}
}

func (h *histories) grow(objects int) { h.of = dense.Grown(h.of, objects) }

// decay computes 2^(-age/2^bits) from two tables, the same to the last bit on every machine: math.Exp2 is not.
type decay struct {
	bits      int
	high, low []float64 // of the upper and lower half of the bits
}

func newDecay(counters int) (d decay) {
	d.bits = firstHalving + counters
	lower := d.bits / 2
	roots := make([]float64, d.bits+1) // 2^(-1/2^i); a square root is exact to the last bit
	roots[0] = 0.5
	for i := 1; i <= d.bits; i++ {
		roots[i] = math.Sqrt(roots[i-1])
	}
	// Bit b of an age halves in 2^(bits-b) of it.
	d.low = products(lower, func(b int) float64 { return roots[d.bits-b] })
	d.high = products(d.bits-lower, func(b int) float64 { return roots[d.bits-lower-b] })
	return d
}

// products returns, for each number of so many bits, the product of what each set bit stands for.
func products(bits int, of func(bit int) float64) []float64 {
	table := make([]float64, 1<<bits)
	table[0] = 1
	for b := range bits {
		for i := range 1 << b {
			table[1<<b+i] = table[i] * of(b)
		}
	}
	return table
}

// slowest returns the factor by which the last counter decays in a time. The factor of each other counter is the square
// of the next one's.
func (d *decay) slowest(age int32) float64 {
	whole := int(age) >> d.bits
	rest := int(age) & (1<<d.bits - 1)
	lower := d.bits / 2
	factor := d.high[rest>>lower] * d.low[rest&(1<<lower-1)]
	switch {
	case whole > mostHalvings:
		return 0
	case whole > 0:
		return math.Ldexp(factor, -whole)
	}
	return factor
}
