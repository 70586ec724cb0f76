package oracle

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// naiveLRU keeps the objects in a slice, the most recent first.
type naiveLRU []uint32

// request moves o to the front and returns how deep it was, -1 where it is new.
func (s *naiveLRU) request(o uint32) int {
	depth := slices.Index(*s, o)
	if depth >= 0 {
		*s = slices.Delete(*s, depth, depth+1)
	}
	*s = slices.Insert(*s, 0, o)
	return depth
}

func TestLRUStackByHand(t *testing.T) {
	s := NewLRUStack(3)
	s.Serve([]uint32{0, 1, 2, 1, 0, 0}, true)
	if want := []int64{1, 1, 1}; !slices.Equal(s.Distances(), want) {
		t.Errorf("distances %v, want %v", s.Distances(), want)
	}
	if s.Seen() != 3 {
		t.Errorf("%d objects seen, want 3", s.Seen())
	}
}

func TestLRUStackAgreesWithNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Objects few and requests many, so that the slots run out several times and the blocks fill.
		numObjects := rapid.IntRange(1, 400).Draw(t, "number of objects")
		requests := rapid.IntRange(0, 6000).Draw(t, "requests")
		warmup := rapid.IntRange(0, requests).Draw(t, "warm-up")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		objects := make([]uint32, requests)
		s, naive, want := NewLRUStack(numObjects), naiveLRU{}, make([]int64, numObjects)
		for i := range objects {
			objects[i] = uint32(float64(numObjects) * rng.Float64() * rng.Float64())
			if depth := naive.request(objects[i]); i >= warmup && depth >= 0 {
				want[depth]++
			}
		}
		s.Serve(objects[:warmup], false)
		s.Serve(objects[warmup:], true)
		if !slices.Equal(s.Distances(), want) {
			t.Fatalf("distances %v, naive %v", s.Distances(), want)
		}
	})
}

// TestLRUStackOfLoop: in a loop, all other objects are between two requests to an object.
func TestLRUStackOfLoop(t *testing.T) {
	const numObjects, rounds = 3000, 20
	s := NewLRUStack(numObjects)
	for range rounds {
		for o := range uint32(numObjects) {
			s.Serve([]uint32{o}, true)
		}
	}
	hits := append([]int64{0}, runningSums(s.Distances())...)
	if hits[numObjects-1] != 0 || hits[numObjects] != (rounds-1)*numObjects {
		t.Errorf("%d hits with room for all but one, %d with room for all", hits[numObjects-1], hits[numObjects])
	}
}

// naiveLRUBytes replays LRU with a capacity in bytes: the least recent are evicted until the object fits.
func naiveLRUBytes(objects []uint32, sizes []int64, capacity int64, warmup int) (hits, hitBytes, residents int64) {
	var resident naiveLRU
	var used int64
	for i, o := range objects {
		if slices.Contains(resident, o) {
			if i >= warmup {
				hits++
				hitBytes += sizes[o]
			}
		} else {
			for used += sizes[o]; used > capacity; {
				last := len(resident) - 1
				used -= sizes[resident[last]]
				resident = resident[:last]
			}
		}
		resident.request(o)
	}
	return hits, hitBytes, int64(len(resident))
}

func TestLRUByteStackAgreesWithReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numObjects := rapid.IntRange(1, 60).Draw(t, "number of objects")
		requests := rapid.IntRange(0, 3000).Draw(t, "requests")
		warmup := rapid.IntRange(0, requests).Draw(t, "warm-up")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		sizes := make([]int64, numObjects)
		for o := range sizes {
			sizes[o] = 1 + rng.Int64N(20)
		}
		objects := make([]uint32, requests)
		for i := range objects {
			objects[i] = uint32(float64(numObjects) * rng.Float64() * rng.Float64())
		}
		capacities := []int64{slices.Max(sizes)}
		for range 4 {
			capacities = append(capacities, capacities[len(capacities)-1]+rng.Int64N(200))
		}
		s := must.Get(NewLRUByteStack(sizes, capacities))(t)
		s.Serve(objects[:warmup], false)
		s.Serve(objects[warmup:], true)
		hits, hitBytes := s.Hits()
		resident := s.Resident()
		for k, capacity := range capacities {
			wantHits, wantBytes, wantResident := naiveLRUBytes(objects, sizes, capacity, warmup)
			if hits[k] != wantHits || hitBytes[k] != wantBytes || resident[k] != wantResident {
				t.Fatalf("capacity %d: %d hits of %d bytes and %d residents, the replay has %d of %d and %d",
					capacity, hits[k], hitBytes[k], resident[k], wantHits, wantBytes, wantResident)
			}
		}
	})
}

func TestLRUByteStackRefuses(t *testing.T) {
	if _, err := NewLRUByteStack([]int64{5, 9}, []int64{8, 20}); err == nil {
		t.Error("accepts a capacity below the largest object, where LRU is no stack algorithm")
	}
	if _, err := NewLRUByteStack([]int64{5, 9}, []int64{20, 10}); err == nil {
		t.Error("accepts capacities out of order")
	}
}
