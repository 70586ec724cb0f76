package retrieve

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestExact compares both rules with their definitions. By probability ties are common; by products nothing is rounded
// differently, as queries have a length that is a power of two.
func TestExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawHead(t)
		prob, unit := retriever(t, "exact"), retriever(t, "exact(rule=unit)")
		prob.Begin(d.head)
		unit.Begin(d.head)
		for _, s := range d.steps {
			want := naiveBest(d.head.From, s.To, s.K, func(token int) float64 { return float64(s.Sums[token]) })
			slices.Sort(want)
			if got := prob.Retrieve(nil, s); !slices.Equal(got, want) {
				t.Fatalf("by probability %v, want %v", got, want)
			}
			for query := range slices.Chunk(s.Queries, d.head.Dim) {
				clear(query)
				axis, length := rapid.IntRange(0, d.head.Dim-1).Draw(t, "axis"), rapid.IntRange(-3, 3).Draw(t, "length")
				query[axis] = float32(math.Ldexp(1, length))
			}
			want = naiveBest(d.head.From, s.To, s.K, func(token int) (sum float64) {
				for query := range slices.Chunk(s.Queries, d.head.Dim) {
					sum += product(query, d.key(token)) / math.Sqrt(product(query, query))
				}
				return sum
			})
			slices.Sort(want)
			if got := unit.Retrieve(nil, s); !slices.Equal(got, want) {
				t.Fatalf("by unit queries %v, want %v", got, want)
			}
		}
	})
}

func (d drawn) key(token int) []float32 { return d.head.Keys[token*d.head.Dim:][:d.head.Dim] }

func product(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(float64(a[i]) * float64(b[i]))
	}
	return sum
}

// TestExactByHand has two queries, of which one is long. It is scaled down: (6,0) and (0,1) together are (1,1), so that
// the key (1,1) is best, and (2,-2) and (0,0) tie.
func TestExactByHand(t *testing.T) {
	e := retriever(t, "exact(rule=unit)")
	e.Begin(Head{Keys: []float32{9, 9, 2, -2, 1, 1, 0, 0, -1, 0}, Dim: 2, From: 1, To: 5, Scale: 1})
	for k, want := range [][]int32{1: {2}, 2: {1, 2}, 3: {1, 2, 3}, 4: {1, 2, 3, 4}} {
		if k == 0 {
			continue
		}
		if got := e.Retrieve(nil, Step{Queries: []float32{6, 0, 0, 1}, To: 5, K: k}); !slices.Equal(got, want) {
			t.Errorf("the best %d are %v, want %v", k, got, want)
		}
	}
}

// TestQueriesWithoutDirection has a query of zeros, which says nothing, and none besides.
func TestQueriesWithoutDirection(t *testing.T) {
	e := retriever(t, "exact(rule=unit)")
	e.Begin(Head{Keys: []float32{0, 1, 1, 0}, Dim: 2, To: 2, Scale: 1})
	if got := e.Retrieve(nil, Step{Queries: []float32{0, 0, 2, 0}, To: 2, K: 1}); !slices.Equal(got, []int32{1}) {
		t.Errorf("the best token is %v, want 1", got)
	}
	if got := e.Retrieve(nil, Step{Queries: []float32{0, 0}, To: 2, K: 1}); !slices.Equal(got, []int32{0}) {
		t.Errorf("the best token of a query of zeros is %v, want 0, the lower of a tie", got)
	}
}

// TestParametersDecideAboutProbabilities, which cost an exponential per token and query head.
func TestParametersDecideAboutProbabilities(t *testing.T) {
	for text, want := range map[string]bool{"exact": true, "exact(rule=unit)": false, "clusters": true,
		"clusters(by=centroid)": false, "quest": false, "hashes": false, "blocks": true} {
		if spec, err := Registry.Parse(text); err != nil || spec.Entry.Sums != want {
			t.Errorf("%s needs probabilities: %v, want %v; error %v", text, spec.Entry.Sums, want, err)
		}
	}
}
