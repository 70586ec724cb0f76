package retrieve

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/similarity/softmax"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// measured is what a retriever finds, as means over the steps and heads of a trace.
type measured struct {
	tokens  float64 // over K
	overlap float64 // share of the exact set that it has
	middle  float64 // probability of its tokens, over that of the exact set
	mass    float64 // probability of its tokens, the first and the recent ones
}

// TestRetrieversOnARealModel measures all retrievers on the published attention of a model, at 10% of the tokens.
// Bands are wide, as another text and other layers differ.
func TestRetrieversOnARealModel(t *testing.T) {
	folder := os.Getenv("CACHESIM_TRACES")
	if folder == "" {
		t.Skip("CACHESIM_TRACES does not name a folder with the published traces")
	}
	all := []string{"exact", "exact(rule=unit)", "blocks", "blocks(size=16)", "quest", "quest(page=8)", "hashes",
		"hashes(bits=1024)", "clusters", "clusters(by=centroid)"}
	got := map[string]measured{}
	options := attention.Options{Parts: attention.Parts{Keys: true}}
	trace := must.Get(attention.Open(t.Context(), filepath.Join(folder, "attention", "sawyer"), nil, options))(t)
	defer trace.Close()
	shape := trace.Shape()
	every := brief.Of(32, 160)
	samples := float64(shape.Heads() * ((shape.Steps + every - 1) / every))
	var h attention.Head
	for range shape.Heads() {
		must.Do(t, trace.Next(&h))
		for i, m := range measureHead(t, shape, &h, all, every) {
			sum := got[all[i]]
			got[all[i]] = measured{sum.tokens + m.tokens/samples, sum.overlap + m.overlap/samples,
				sum.middle + m.middle/samples, sum.mass + m.mass/samples}
		}
	}
	for _, text := range all {
		m := got[text]
		t.Logf("%-22s tokens %.3f, overlap %.3f, middle %.3f, mass %.3f", text, m.tokens, m.overlap, m.middle, m.mass)
		if m.tokens < 0.98 || m.tokens > 1.05 || m.overlap < 0.3 || m.middle < 0.5 || m.middle > 1+1e-9 {
			t.Errorf("%s: %+v, want about K tokens, at least 0.3 of the exact ones and half of their probability", text, m)
		}
	}
	unit := got["exact(rule=unit)"]
	if lost := got["exact"].mass - unit.mass; math.Abs(unit.overlap-0.82) > 0.08 || lost < 0 || lost > 0.03 {
		t.Errorf("by unit queries: overlap %.3f and %.3f less mass, want about 0.82 and 0.011", unit.overlap, lost)
	}
	for _, pair := range [][2]string{{"exact(rule=unit)", "hashes"}, {"hashes(bits=1024)", "hashes"},
		{"quest(page=8)", "quest"}, {"blocks", "blocks(size=16)"}, {"blocks(size=16)", "quest"},
		{"clusters", "clusters(by=centroid)"}, {"clusters", "blocks(size=16)"}} {
		if better, worse := got[pair[0]].middle, got[pair[1]].middle; better <= worse {
			t.Errorf("%s has %.3f of the probability, want more than %.3f of %s", pair[0], better, worse, pair[1])
		}
	}
}

// measureHead returns the sums over some steps of a head.
func measureHead(t *testing.T, shape *attention.Shape, h *attention.Head, all []string, every int) []measured {
	sums := make([]measured, len(all))
	group, dim, scale := shape.Group(), shape.Dim, shape.Scale
	retrievers := make([]Retriever, len(all))
	for i, text := range all {
		retrievers[i] = retriever(t, text)
		retrievers[i].Begin(Head{Keys: h.Keys, Dim: dim, From: attention.Sink, To: attention.MiddleEnd(shape.Visible(0)),
			Scale: scale, Seed: uint64(h.Place)})
	}
	for step := 0; step < shape.Steps; step += every {
		visible := shape.Visible(step)
		s := Step{Queries: h.Queries[step*group*dim:][:group*dim], To: attention.MiddleEnd(visible),
			Sums: make([]float32, visible)}
		s.K = (s.To - attention.Sink) / 10
		p := make([]float32, group*visible)
		softmax.Probabilities(p, s.Queries, h.Keys[:visible*dim], dim, float32(scale))
		softmax.SumQueries(s.Sums, p)
		probability := func(tokens []int32) float64 { return softmax.SumRows(s.Sums, tokens) / float64(group) }
		exact := retrievers[0].Retrieve(nil, s)
		always := probability(slices.Concat(consecutive(nil, 0, attention.Sink), consecutive(nil, s.To, visible-s.To)))
		for i, r := range retrievers {
			tokens := r.Retrieve(nil, s)
			sums[i].tokens += float64(len(tokens)) / float64(s.K)
			sums[i].overlap += float64(Overlap(tokens, exact)) / float64(s.K)
			sums[i].middle += probability(tokens) / probability(exact)
			sums[i].mass += always + probability(tokens)
		}
	}
	return sums
}
