package dense

import (
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
)

func TestSketchNeverUnderestimates(t *testing.T) {
	s := NewSketch(1000, 1<<30, false, 1)
	rng := rand.New(rand.NewPCG(1, 1))
	counts := map[Object]int{}
	for range 3000 {
		o := Object(rng.ExpFloat64() * 30)
		s.Add(o)
		counts[o]++
	}
	over := 0
	for o, n := range counts {
		got := s.Estimate(o)
		if got < min(n, MaxCount) {
			t.Errorf("object %d was counted %d times, estimate %d", o, n, got)
		}
		if got > n {
			over++
		}
	}
	if over > len(counts)/10 {
		t.Errorf("%d of %d estimates are too high", over, len(counts))
	}
}

func TestSketchHalves(t *testing.T) {
	s := NewSketch(1<<14, 30, false, 1)
	for range 20 {
		s.Add(1) // stays at 15: further requests do not count
	}
	if got := s.Estimate(1); got != 15 || s.added != 15 {
		t.Fatalf("after 20 requests: estimate %d, %d in the sample, want 15 and 15", got, s.added)
	}
	for range 8 {
		s.Add(2)
	}
	for range 6 {
		s.Add(3)
	}
	if got := s.Estimate(2); got != 8 {
		t.Fatalf("estimate of object 2 is %d before the sample is full, want 8", got)
	}
	s.Add(4) // the 30th
	for o, want := range map[Object]int{1: 7, 2: 4, 3: 3, 4: 0} {
		if got := s.Estimate(o); got != want {
			t.Errorf("object %d after halving: estimate %d, want %d", o, got, want)
		}
	}
	if want := 7 + 4 + 3; s.added != want {
		t.Errorf("%d requests in the sample after halving, want %d", s.added, want)
	}
}

func TestDoorkeeperTakesTheFirstRequest(t *testing.T) {
	s := NewSketch(1<<14, 10, true, 1)
	for i, want := range []int{1, 2, 3} {
		s.Add(7)
		if got := s.Estimate(7); got != want {
			t.Errorf("estimate %d after %d requests", got, i+1)
		}
	}
	if got := s.Estimate(8); got != 0 {
		t.Errorf("estimate %d of an object never seen", got)
	}
	block := s.block(random.Scramble(7 + s.seed))
	word, shift := place(random.Scramble(7+s.seed), 0)
	if got := block[word] >> shift & MaxCount; got != 2 {
		t.Errorf("counter %d after 3 requests, want 2", got)
	}
	s.halve()
	if got := s.Estimate(7); got != 1 {
		t.Errorf("estimate %d after halving: want half of 2, and a shut door", got)
	}
}
