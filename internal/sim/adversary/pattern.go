package adversary

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/oracle/predictors"
)

// pattern is a sequence of requests with a prediction at each.
type pattern []request

type request struct {
	object uint8
	next   float64 // predicted number of requests until the object is requested again, or predict.Never
}

// Limits of a search. Patterns have at most twice as many objects as fit into the cache, and a few more.
const (
	MaxCapacity = 64
	maxObjects  = 2*MaxCapacity + MaxSolved // of a widened pattern
)

func (s *search) objects() int { return 2*s.capacity + 2 }

// start returns a pattern to climb from: random requests, a loop over one object more than fits, which defeats LRU, or
// the best so far, shaken.
func (s *search) start(best pattern) pattern {
	switch kind := s.rng.IntN(3); {
	case kind == 0 && best != nil:
		p := best
		for range 8 {
			p = s.change(p)
		}
		return p
	case kind == 1 && s.capacity < s.options.Length:
		p := make(pattern, s.capacity+1)
		for i := range p {
			p[i] = request{uint8(i), s.prediction()}
		}
		return p
	}
	p := make(pattern, 1+s.rng.IntN(s.options.Length))
	objects := 1 + s.rng.IntN(s.objects())
	for i := range p {
		p[i] = request{uint8(s.rng.IntN(objects)), s.prediction()}
	}
	return p
}

// prediction returns a random one: within two rounds of the longest pattern, or never.
func (s *search) prediction() float64 {
	if s.rng.IntN(4) == 0 {
		return predict.Never
	}
	return float64(1 + s.rng.IntN(2*s.options.Length))
}

// change returns p with one to three random changes.
func (s *search) change(p pattern) pattern {
	p = slices.Clone(p)
	for range 1 + s.rng.IntN(3) {
		i, j := s.rng.IntN(len(p)), s.rng.IntN(len(p))
		switch kind := s.rng.IntN(6); {
		case kind == 0:
			p[i].object = uint8(s.rng.IntN(s.objects()))
		case kind == 1:
			p[i].object = p[j].object
		case kind == 2:
			p[i], p[j] = p[j], p[i]
		case kind == 3 && len(p) < s.options.Length:
			p = slices.Insert(p, i, request{uint8(s.rng.IntN(s.objects())), s.prediction()})
		case kind == 4 && len(p) > 1:
			p = slices.Delete(p, i, i+1)
		default:
			p[i].next = s.prediction()
		}
	}
	return p
}

// soonest is a prediction before those of all other objects.
const soonest = -1e6

// widened returns the pattern of a game for a cache with more room. Each object becomes several; the remaining room
// gets objects that are requested so often that they stay. Nil stays nil.
func (p pattern) widened(from, capacity int) (wider pattern) {
	instead, stay := capacity/from, capacity%from
	for _, r := range p {
		for i := range instead {
			wider = append(wider, request{r.object + uint8(i*SolvedObjects), r.next * float64(instead+stay)})
		}
		for i := range stay {
			wider = append(wider, request{uint8(instead*SolvedObjects + i), soonest})
		}
	}
	return wider
}

// generator returns the generator of the trace: `sequence(order=1 2 3,requests=500)`.
func (p pattern) generator(requests int) string {
	words := make([]string, len(p))
	for i, o := range p.numbers() {
		words[i] = fmt.Sprint(o + 1)
	}
	return fmt.Sprintf("sequence(order=%s,requests=%d)", strings.Join(words, " "), requests)
}

// numbers returns the objects, numbered from 0 on in the order of their first requests.
func (p pattern) numbers() []uint32 {
	var known [maxObjects]uint32 // 1 + the number
	count := uint32(0)
	numbers := make([]uint32, len(p))
	for i, r := range p {
		if known[r.object] == 0 {
			count++
			known[r.object] = count
		}
		numbers[i] = known[r.object] - 1
	}
	return numbers
}

// predictor returns the predictor of the pattern's predictions: `written(next=3 - 7)`.
func (p pattern) predictor() string {
	distances := make([]float64, len(p))
	for i, r := range p {
		distances[i] = r.next
	}
	return "written(next=" + predictors.WriteOut(distances) + ")"
}
