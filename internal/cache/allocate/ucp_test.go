package allocate

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Two tenants share 8 ways. The first gains nothing below 4 ways and 80 hits with them, the second 10 with each of its
// first 4: looking at only one more way gives the first nothing before the second has enough. Lookahead sees 80 hits
// for 4 ways, 20 per way, and gives them first.
func TestLookaheadSeesBeyondPlateaus(t *testing.T) {
	first := Curve{{4, 80}}
	second := Curve{{1, 10}, {2, 20}, {3, 30}, {4, 40}}
	if got, want := lookahead([]Curve{first, second}, 8), []int64{4, 4}; !slices.Equal(got, want) {
		t.Errorf("8 ways: %v, want %v", got, want)
	}
	if got, want := lookahead([]Curve{first, second}, 5), []int64{4, 1}; !slices.Equal(got, want) {
		t.Errorf("5 ways: %v, want %v", got, want)
	}
	if got, want := lookahead([]Curve{first, second}, 4), []int64{1, 3}; !slices.Equal(got, want) {
		t.Errorf("4 ways, too few for the first: %v, want %v", got, want)
	}
}

// A streaming tenant that never hits has no utility: it keeps one way (section 2 of the paper: equake and vpr).
func TestLookaheadLeavesStreamsOneWay(t *testing.T) {
	stream, reuse := Curve{}, Curve{{5, 50}, {16, 100}}
	if got, want := lookahead([]Curve{stream, reuse}, 17), []int64{1, 16}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// naiveLookahead is the algorithm as the paper writes it down.
func naiveLookahead(curves []Curve, ways int64) []int64 {
	given := make([]int64, len(curves))
	left := ways
	for i := range given {
		given[i] = 1
		left--
	}
	for left > 0 {
		winner, most, takes := -1, 0.0, int64(0)
		for i, c := range curves {
			for n := int64(1); n <= left; n++ {
				utility := (c.At(given[i]+n) - c.At(given[i])) / float64(n)
				if utility > most {
					winner, most, takes = i, utility, n
				}
			}
		}
		if winner < 0 {
			break
		}
		given[winner] += takes
		left -= takes
	}
	more := make([]int64, len(given))
	divideEqually(left, more)
	for i := range given {
		given[i] += more[i]
	}
	return given
}

func TestLookaheadAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ways := rapid.Int64Range(6, 40).Draw(t, "ways")
		curves := make([]Curve, rapid.IntRange(1, 6).Draw(t, "pools"))
		for i := range curves {
			curves[i] = drawCurve(t, ways)
		}
		if got, want := lookahead(curves, ways), naiveLookahead(curves, ways); !slices.Equal(got, want) {
			t.Fatalf("%v by %v: %v, want %v", ways, curves, got, want)
		}
	})
}
