package gen

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// attentionOf returns the generator with these parameters.
func attentionOf(t testing.TB, args string) attention.Maker {
	t.Helper()
	spec := must.Get(Parse("attention", args))(t)
	return must.Get(spec.Attention())(t)
}

// missesAt replays one label: a query that is not more similar to it than tau takes its place.
func missesAt(h *attention.Head, steps int, tau float64) (misses int) {
	var label []float32
	for step := range steps {
		q := h.Query(step, 0)
		if label != nil {
			product := float64(attention.Dot(q, label))
			norms := math.Sqrt(float64(attention.Dot(q, q))) * math.Sqrt(float64(attention.Dot(label, label)))
			if product/norms > tau {
				continue
			}
		}
		label = q
		misses++
	}
	return misses
}

// At a constant drift the similarity after m steps is c^m, so that one query of M+1 misses, where M is the last m with
// c^m > tau.
func TestAttentionAtConstantDrift(t *testing.T) {
	for _, c := range []struct {
		rate, tau float64
		last      int // M
	}{
		{0.95, 0.8, 4}, {0.95, 0.6, 9}, {0.95, 0.3, 23}, {0.98, 0.8, 11}, {0.9, 0.8, 2}, {0.98, 0, math.MaxInt - 1},
	}[:brief.Of(6, 2)] {
		const steps = 600
		made := attentionOf(t,
			fmt.Sprintf("layers=1,query-heads=1,kv-heads=1,head-dim=1024,context=1,steps=%d,constant-low=0,"+
				"constant-high=0,slow=1,slow-rate=%v,fast=0,local=0,group=1,sink=0,recent=0,prediction=0,innovations=orthogonal",
				steps,
				c.rate))
		var h attention.Head
		must.Do(t, made.Make(0, &h))
		want := 1 + (steps-1)/(c.last+1)
		if got := missesAt(&h, steps, c.tau); got != want {
			t.Errorf("rate %v, tau %v: %d misses of %d, want %d", c.rate, c.tau, got, steps, want)
		}
	}
}

// The masses of sinks and recent tokens, the similarity of predictions and the logits are those of the parameters.
func TestAttentionMeetsItsParameters(t *testing.T) {
	options := attention.Options{Parts: attention.Parts{Predicted: true, Keys: true}}
	for _, c := range []struct {
		args                     string
		sink, recent, prediction float64
	}{
		{"", 0.2, 0.33, 0.93},
		{",sink=0.5,recent=0.1,prediction=0.5", 0.5, 0.1, 0.5},
		{",sink=0,recent=0,prediction=1", 4.0 / 1050, 64.0 / 1050, 1},
		{",head-dim=128,recent=0.6", 0.2, 0.6, 0.93},
		{",head-dim=48", 0.2, 0.33, 0.93},
	}[:brief.Of(5, 2)] {
		made := attentionOf(t, "layers=4,query-heads=6,kv-heads=2,context=1000,steps=100"+c.args)
		d := must.Get(attention.Describe(t.Context(), made, 2, options, nil))(t)
		for _, x := range []struct {
			name            string
			got, want, band float64
		}{
			{"sink", d.All.SinkMass, c.sink, 0.05}, {"recent", d.All.RecentMass, c.recent, 0.08},
			{"prediction", *d.All.Prediction, math.Sqrt(c.prediction), 0.005},
		} {
			if math.Abs(x.got-x.want) > x.band {
				t.Errorf("%s: %s is %.3f, want %.3f within %v", c.args, x.name, x.got, x.want, x.band)
			}
		}
	}
}

// The similarity after g steps is the constant share, and of the rest the shares of its parts times their rates to the
// power of g.
func TestAttentionSimilarityByLag(t *testing.T) {
	made := attentionOf(t, "layers=4,context=100,steps=600,constant-low=0.5,constant-high=0.5")
	d := must.Get(attention.Describe(t.Context(), made, 2, attention.Options{}, nil))(t)
	for _, s := range d.All.SimilarityByLag {
		g := float64(s.Lag)
		want := 0.5 + 0.5*(0.33*math.Pow(0.995, g)+0.38*math.Pow(0.6, g)+0.08*math.Pow(0.95, g))
		if math.Abs(s.Value-want) > 0.02 {
			t.Errorf("similarity at lag %d is %.3f, want %.3f", s.Lag, s.Value, want)
		}
	}
}

// hitsAt returns the share of the queries of the first query head of each KV head that are more similar than tau to the
// label.
func hitsAt(t *testing.T, trace attention.Trace, tau float64) float64 {
	misses, shape := 0, trace.Shape()
	for range shape.Heads() {
		var h attention.Head
		must.Do(t, trace.Next(&h))
		misses += missesAt(&h, shape.Steps, tau)
	}
	return 1 - float64(misses)/float64(shape.Heads()*shape.Steps)
}

// The generator is compared with the attention of a real model, with its default parameters. A band is a little wider
// than the distance to every other layer of that model: another text moves the numbers less, by 0.02 to 0.03.
func TestAttentionResemblesARealModel(t *testing.T) {
	folder := os.Getenv("CACHESIM_TRACES")
	if folder == "" {
		t.Skip("CACHESIM_TRACES does not name a folder with the published traces")
	}
	options := attention.Options{Parts: attention.Parts{Predicted: true, Keys: true}}
	path := filepath.Join(folder, "attention", "sawyer")
	trace := must.Get(attention.Open(t.Context(), path, nil, options))(t)
	defer trace.Close()
	real := must.Get(attention.Describe(t.Context(), trace, 2, options, nil))(t).All
	made := must.Get(attention.Describe(t.Context(), attentionOf(t, ""), 2, options, nil))(t).All
	compare := func(name string, made, real, band float64) {
		t.Helper()
		if math.Abs(made-real) > band {
			t.Errorf("%s: %.3f, the real model has %.3f, want at most %v between them", name, made, real, band)
		}
	}
	for i, s := range real.SimilarityByLag {
		compare(fmt.Sprint("similarity at lag ", s.Lag), made.SimilarityByLag[i].Value, s.Value, 0.05)
	}
	for i, o := range real.OverlapByLag {
		compare(fmt.Sprint("overlap at lag ", o.Lag), made.OverlapByLag[i].Value, o.Value, 0.12)
	}
	bins, least := 0, 0.0
	for _, m := range made.OverlapBySimilarity {
		if m.Pairs >= 50 && m.Value < least {
			t.Errorf("the overlap of %.3f at a similarity from %v is below that of less similar queries", m.Value, m.From)
		}
		least = m.Value
		for _, r := range real.OverlapBySimilarity {
			if m.From == r.From && m.Pairs >= 50 && r.Pairs >= 50 {
				band := 0.08
				if m.From < 0.6 { // of few heads
					band = 0.15
				}
				compare(fmt.Sprint("overlap at a similarity from ", m.From), m.Value, r.Value, band)
				bins++
			}
		}
	}
	if bins < 5 {
		t.Errorf("%d bins of similarity have 50 pairs in both, want 5", bins)
	}
	for i, r := range real.MassByRank {
		compare(fmt.Sprint("mass of the first ", r.Share), made.MassByRank[i].Value, r.Value, 0.13)
	}
	compare("mass of the sink", made.SinkMass, real.SinkMass, 0.08)
	compare("mass of recent tokens", made.RecentMass, real.RecentMass, 0.1)
	queries := must.Get(attention.Open(t.Context(), path, nil, attention.Options{}))(t)
	defer queries.Close()
	compare("hit ratio at a similarity of 0.7", hitsAt(t, attentionOf(t, ""), 0.7), hitsAt(t, queries, 0.7), 0.13)
	compare("similarity of predictions", *made.Prediction, *real.Prediction, 0.02)
}

// The same seed gives the same bytes on any number of goroutines, on every machine; another seed gives others.
func TestAttentionIsTheSameEverywhere(t *testing.T) {
	const small = "layers=2,query-heads=4,kv-heads=2,head-dim=12,context=200,steps=30"
	write := func(args string, jobs int) string {
		var b bytes.Buffer
		must.Do(t, attention.Write(t.Context(), &b, attentionOf(t, args), jobs, nil))
		return fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))[:16]
	}
	const want = "b82bbe92406a8151"
	for _, jobs := range []int{1, 3, 8} {
		if got := write(small, jobs); got != want {
			t.Errorf("%d goroutines: %s, want %s", jobs, got, want)
		}
	}
	if write(small+",seed=1", 1) == want {
		t.Error("another seed gives the same bytes")
	}
	// One after another gives the same as each alone.
	made, alone := attentionOf(t, small), attentionOf(t, small)
	for place := range made.Shape().Heads() {
		var a, b attention.Head
		must.Do(t, made.Next(&a))
		must.Do(t, alone.Make(place, &b))
		if !reflect.DeepEqual(a, b) {
			t.Errorf("head %d differs", place)
		}
	}
}

// Parameters that contradict each other are errors that say what to change.
func TestAttentionParameters(t *testing.T) {
	for args, want := range map[string]string{
		"query-heads=5,kv-heads=2":             "want a multiple of kv-heads=2",
		"constant-low=0.8":                     "want at least constant-low=0.8",
		"slow=0.7,fast=0.3":                    "want at most 1 together",
		"constant-low=0":                       "or sink=0",
		"local=0":                              "or recent=0",
		"constant-high=1":                      "or recent=0",
		"sink=0.5,recent=0.5":                  "want at most 0.95 together",
		"sink=0,recent=0,local=0,context=1":    "",
		"context=1,steps=1":                    "",
		"head-dim=8,query-heads=1,kv-heads=1":  "",
		"logits=20,context=300,steps=100":      "",
		"recent=0.9,sink=0,context=300":        "",
		"constant-low=0.99,constant-high=0.99": "",
	} {
		spec := must.Get(Parse("attention", args+",layers=1"))(t)
		made, err := spec.Attention()
		if want != "" {
			must.Fail(t, err, want, args)
			continue
		}
		must.Do(t, err)
		var h attention.Head
		must.Do(t, made.Make(0, &h))
		for _, part := range [][]float32{h.Queries, h.Predicted, h.Keys, h.Values} {
			for _, x := range part {
				if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					t.Fatalf("%s: %v among the numbers", args, x)
				}
			}
		}
	}
}
