package allocate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle"

	"pgregory.net/rapid"
)

// A monitor that follows every object gives the exact curve of LRU.
func TestMonitorIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects := rapid.SliceOfN(rapid.Uint32Range(0, 30), 1, 300).Draw(t, "objects")
		capacity := rapid.Int64Range(1, 40).Draw(t, "capacity")
		m := NewMonitor(Sampling{}, capacity, 1)
		stack := oracle.NewLRUStack(31)
		warmup := rapid.IntRange(0, len(objects)).Draw(t, "warmup")
		for i, o := range objects {
			m.Request(o, 1, i >= warmup)
		}
		stack.Serve(objects[:warmup], false)
		stack.Serve(objects[warmup:], true)
		curve, hits := m.Curve(), int64(0) // a request hits in capacities above its distance
		for c := int64(0); c <= capacity; c++ {
			if 0 < c && c <= 31 {
				hits += stack.Distances()[c-1]
			}
			if got, want := curve.At(c), float64(hits); got != want {
				t.Fatalf("%v hits at %d, want %v", got, c, want)
			}
		}
	})
}

// With sizes, the curve at a capacity is what an LRU cache hits that holds all objects.
func TestMonitorOfBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.Int64Range(1, 50), 20, 20).Draw(t, "sizes")
		objects := rapid.SliceOfN(rapid.Uint32Range(0, 19), 1, 200).Draw(t, "objects")
		capacity := rapid.Int64Range(50, 400).Draw(t, "capacity")
		stack := must.Get(oracle.NewLRUByteStack(sizes, []int64{capacity}))(t)
		stack.Serve(objects, true)
		m := NewMonitor(Sampling{Steps: rapid.IntRange(1, 10).Draw(t, "steps")}, capacity, 1)
		for _, o := range objects {
			m.Request(o, sizes[o], true)
		}
		if hits, _ := stack.Hits(); m.Curve().At(capacity) != float64(hits[0]) {
			t.Fatalf("%v hits, want %d", m.Curve().At(capacity), hits[0])
		}
	})
}

// A sample of 512 of 20 000 objects gives the curve within some points of the hit ratio, and never follows more.
func TestMonitorSamples(t *testing.T) {
	const requests, capacity = 300000, 5000
	random := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(random, 1.1, 8, 20000)
	whole := NewMonitor(Sampling{Steps: 64}, capacity, 1)
	sampled := NewMonitor(Sampling{Tags: 512, Steps: 64}, capacity, 1)
	for range requests {
		o := uint32(zipf.Uint64())
		whole.Request(o, 1, true)
		sampled.Request(o, 1, true)
		if sampled.stack.Len() > 512 {
			t.Fatalf("follows %d objects, want 512 at most", sampled.stack.Len())
		}
	}
	if sampled.halvings == 0 {
		t.Error("follows every object")
	}
	worst := 0.0
	for c := int64(capacity / 64); c <= capacity; c += capacity / 64 {
		worst = max(worst, math.Abs(sampled.Curve().At(c)-whole.Curve().At(c))/requests)
	}
	if worst > 0.03 {
		t.Errorf("the hit ratio is off by up to %.3f, want 0.03 at most", worst)
	}
	t.Logf("off by up to %.4f, following one in %d", worst, 1<<sampled.halvings)
}

// After Age, what was counted before weighs half.
func TestMonitorAges(t *testing.T) {
	m := NewMonitor(Sampling{}, 10, 1)
	for range 9 {
		m.Request(5, 1, true)
	}
	m.Age()
	m.Request(5, 1, true)
	if got := m.Curve().At(1); got != 5 {
		t.Errorf("%v hits, want 8/2 + 1", got)
	}
}

// What is larger than the whole capacity passes by and pushes nothing out.
func TestMonitorIgnoresHugeObjects(t *testing.T) {
	m := NewMonitor(Sampling{}, 10, 1)
	for _, o := range []uint32{1, 2, 1} {
		m.Request(o, map[uint32]int64{1: 10, 2: 11}[o], true)
	}
	if got := m.Curve().At(10); got != 1 {
		t.Errorf("%v hits, want 1", got)
	}
}
