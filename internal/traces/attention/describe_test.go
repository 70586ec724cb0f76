package attention

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

// still is a trace whose queries turn by an angle in a plane at every step. Each key has one number, its logit.
type still struct {
	made
	angle  float64
	logits func(token int) float64
}

func newStill(angle float64, logits func(int) float64) *still {
	return &still{made{shape: Shape{Layers: []int{0, 1}, QueryHeads: 2, KVHeads: 1, Dim: 3, Prompt: 1000, Steps: 20,
		Predicted: true, Scale: 0.5}}, angle, logits}
}

func (s *still) Next(h *Head) error {
	h.Begin(&s.shape, s.next)
	s.next++
	*h = Head{Layer: h.Layer, KV: h.KV, Place: h.Place, group: h.group, dim: h.dim}
	for step := range s.shape.Steps {
		for range 2 {
			a := s.angle * float64(step)
			q := []float32{float32(math.Cos(a)), float32(math.Sin(a)), 1}
			h.Queries = append(h.Queries, q...)
			h.Predicted = append(h.Predicted, 2*q[0], 2*q[1], -2*q[2])
		}
	}
	for token := range s.shape.Tokens() {
		h.Keys = append(h.Keys, 0, 0, float32(s.logits(token)/s.shape.Scale))
	}
	return nil
}

// Similarities and masses of a trace that is computed by hand.
func TestDescribe(t *testing.T) {
	const angle = 0.3
	sinks := func(token int) float64 {
		if token < Sink {
			return math.Log(100)
		}
		return 0
	}
	options := Options{Parts: Parts{Predicted: true, Keys: true}}
	d := must.Get(Describe(t.Context(), newStill(angle, sinks), 2, options, nil))(t)
	for i, lag := range []int{1, 2, 4, 8} {
		want := (math.Cos(angle*float64(lag)) + 1) / 2
		if got := d.All.SimilarityByLag[i]; got.Lag != lag || math.Abs(got.Value-want) > 1e-6 {
			t.Errorf("similarity %+v, want %v at lag %d", got, want, lag)
		}
	}
	if n := len(d.All.SimilarityByLag); n != 4 {
		t.Errorf("%d lags of 20 steps, want those up to half of them", n)
	}
	// 4 of 100, 64 of 1 and 933 to 952 of 1 in the middle: 20 steps, all of which are samples.
	sink, recent := 0.0, 0.0
	for step := range 20 {
		total := 400 + float64(1000+step+1-Sink)
		sink += 400 / total / 20
		recent += 64 / total / 20
	}
	if math.Abs(d.All.SinkMass-sink) > 1e-6 || math.Abs(d.All.RecentMass-recent) > 1e-6 {
		t.Errorf("masses %v and %v, want %v and %v", d.All.SinkMass, d.All.RecentMass, sink, recent)
	}
	for _, r := range d.All.MassByRank {
		if math.Abs(r.Value-r.Share) > 0.0011 {
			t.Errorf("%v of equal tokens have %v of the mass", r.Share, r.Value)
		}
	}
	// Ties go to the first tokens, so that sets differ by what the middle has grown.
	for _, o := range d.All.OverlapByLag {
		if o.Value < 0.98 {
			t.Errorf("overlap %+v, want nearly 1", o)
		}
	}
	if want := 0.0; math.Abs(*d.All.Prediction-want) > 1e-6 { // 1 in the plane, -1 beside it
		t.Errorf("similarity of predictions %v, want %v", *d.All.Prediction, want)
	}
	if d.Layers[0].Prediction != nil || d.Layers[1].Prediction == nil {
		t.Error("layer 0 has predictions, or layer 1 none")
	}
}

// Logits that fall linearly have masses by rank in a geometric row, and the tenth with the greatest comes first.
func TestMassByRank(t *testing.T) {
	falling := func(token int) float64 { return -0.01 * float64(token) }
	d := must.Get(Describe(t.Context(), newStill(0, falling), 1, Options{Parts: Parts{Keys: true}}, nil))(t)
	for _, r := range d.All.MassByRank {
		const middle = 943 // about as many tokens in all steps
		want := (1 - math.Exp(-0.01*math.Floor(r.Share*middle))) / (1 - math.Exp(-0.01*middle))
		if math.Abs(r.Value-want) > 0.006 {
			t.Errorf("%v have %v, want %v", r.Share, r.Value, want)
		}
	}
	for _, b := range d.All.OverlapBySimilarity {
		if b.From != 0.98 || b.Value < 0.98 {
			t.Errorf("queries that do not change: %+v", b)
		}
	}
}

// The description is the same on any number of goroutines.
func TestDescribeOnAnyNumberOfGoroutines(t *testing.T) {
	path := files(t)["own"]
	options := Options{Parts: Parts{Predicted: true, Keys: true}}
	var first *Descriptions
	for _, jobs := range []int{1, 5} {
		trace := must.Get(Open(t.Context(), path, nil, options))(t)
		d := must.Get(Describe(t.Context(), trace, jobs, options, nil))(t)
		must.Do(t, trace.Close())
		if first == nil {
			first = d
		}
		if !reflect.DeepEqual(d, first) {
			t.Errorf("%d goroutines: %+v, want %+v", jobs, d, first)
		}
	}
}

// The cosines of all pairs of steps of the middle layer's first query head are 1 on the diagonal and symmetrical.
func TestQueryMap(t *testing.T) {
	const angle = 0.01
	for _, test := range []struct{ steps, every, n int }{{2, 1, 2}, {256, 1, 256}, {257, 2, 129}, {600, 3, 200}} {
		trace := newStill(angle, func(int) float64 { return 0 })
		trace.shape.Steps = test.steps
		d := must.Get(Describe(t.Context(), trace, 2, Options{}, nil))(t)
		m := d.Queries
		if m.Layer != 1 || m.Head != 0 || m.Every != test.every || m.Steps != test.n || len(m.Cosines) != test.n*test.n {
			t.Fatalf("%d steps: layer %d, head %d, every %d, %d steps, %d cosines", test.steps, m.Layer, m.Head, m.Every,
				m.Steps, len(m.Cosines))
		}
		for i, c := range m.Cosines {
			a, b := i/m.Steps, i%m.Steps
			if a == b && math.Abs(c-1) > 1e-12 || c != m.Cosines[b*m.Steps+a] {
				t.Fatalf("steps %d and %d: %v and %v the other way round", a, b, c, m.Cosines[b*m.Steps+a])
			}
			if want := (math.Cos(angle*float64((a-b)*m.Every)) + 1) / 2; math.Abs(c-want) > 1e-6 {
				t.Fatalf("steps %d and %d: %v, want %v", a*m.Every, b*m.Every, c, want)
			}
		}
	}
	single := newStill(angle, func(int) float64 { return 0 })
	single.shape.Steps = 1
	if d := must.Get(Describe(t.Context(), single, 1, Options{}, nil))(t); d.Queries != nil {
		t.Errorf("a single step has a map: %+v", d.Queries)
	}
}

// However long a trace is, its map is small and reaches to its end.
func TestMappedSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.IntRange(1, maxTokens).Draw(t, "steps")
		every, n := mapped(steps)
		if last := (n - 1) * every; n > mostMapped || last >= steps || last+every < steps {
			t.Fatalf("%d steps: %d, every %d", steps, n, every)
		}
	})
}

// The exponential is as exact as it states.
func TestExp(t *testing.T) {
	for x := -690.0; x <= 0; x += 0.0137 {
		if got, want := exp(x), math.Exp(x); math.Abs(got/want-1) > 1e-11 {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	if exp(0) != 1 || exp(-1000) != 0 {
		t.Errorf("exp(0) = %v, exp(-1000) = %v", exp(0), exp(-1000))
	}
}
