package allocate

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

func TestHull(t *testing.T) {
	// The point (2,2) lies below the line from nothing to (3,9), the point (6,12) on the line from (3,9) to (9,15).
	c := Curve{{2, 2}, {3, 9}, {6, 12}, {9, 15}, {10, 15.5}}
	if got, want := c.Hull(), (Curve{{3, 9}, {6, 12}, {9, 15}, {10, 15.5}}); !slices.Equal(got, want) {
		t.Errorf("hull %v, want %v", got, want)
	}
	if got, want := c.hullFrom(Point{6, 12}), (Curve{{9, 15}, {10, 15.5}}); !slices.Equal(got, want) {
		t.Errorf("hull from 6 on %v, want %v", got, want)
	}
}

func TestCurveAt(t *testing.T) {
	c := Curve{{2, 2}, {5, 9}}
	for capacity, want := range map[int64]float64{0: 0, 1: 0, 2: 2, 4: 2, 5: 9, 100: 9} {
		if got := c.At(capacity); got != want {
			t.Errorf("%v hits at %d, want %v", got, capacity, want)
		}
	}
}

// drawCurve draws a curve of whole numbers of hits up to a capacity.
func drawCurve(t *rapid.T, capacity int64) Curve {
	var c Curve
	hits := 0.0
	for n := int64(1); n <= capacity; n++ {
		if gain := rapid.SampledFrom([]int{0, 0, 0, 1, 2, 9}).Draw(t, "gain"); gain > 0 {
			hits += float64(gain)
			c = append(c, Point{n, hits})
		}
	}
	return c
}

// No point lies above the hull, the hull consists of points, and its worth falls.
func TestHullProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCurve(t, rapid.Int64Range(0, 20).Draw(t, "capacity"))
		hull := append(Curve{{}}, c.Hull()...)
		for i := 2; i < len(hull); i++ {
			if worth(hull[i-2], hull[i-1]) < worth(hull[i-1], hull[i]) {
				t.Fatalf("%v: the worth of %v rises", c, hull)
			}
		}
		for _, p := range c {
			for i := 1; i < len(hull); i++ {
				if from, to := hull[i-1], hull[i]; p.Capacity >= from.Capacity && p.Capacity <= to.Capacity &&
					p.Hits > from.Hits+worth(from, to)*float64(p.Capacity-from.Capacity)+1e-9 {
					t.Fatalf("%v lies above the hull %v", p, hull)
				}
			}
		}
		for _, p := range hull[1:] {
			if !slices.Contains(c, p) {
				t.Fatalf("%v is no point of %v", p, c)
			}
		}
	})
}

func TestInUnits(t *testing.T) {
	c := Curve{{1, 2}, {4, 3}, {5, 4}, {8, 6}, {12, 7}, {13, 9}}
	if got, want := c.inUnits(4, 3), (Curve{{1, 3}, {2, 6}, {3, 7}}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
