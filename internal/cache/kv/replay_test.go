package kv

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/kv/reuse"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/gen"
)

const small = "attention(layers=2,query-heads=6,kv-heads=2,head-dim=16,context=230,steps=24,seed=5)"

// columnsOf returns a generated trace.
func columnsOf(t testing.TB, generator string) *attention.Columns {
	spec := must.Get(gen.Parse(generator, ""))(t)
	trace := must.Get(spec.Attention())(t)
	open := func(context.Context, attention.Options) (attention.Trace, error) { return spec.Attention() }
	return &attention.Columns{Shape: trace.Shape(), Open: open}
}

func cellOf(t testing.TB, with params.Values, share float64, rule string) Cell {
	c := Cell{Params: params.Defaults(parameters), Share: share, Seed: 1}
	c.Params["dense"] = 0
	for name, value := range with {
		c.Params[name] = value
	}
	spec := must.Get(reuse.Registry.Parse(rule))(t)
	c.Rule, c.Policy = &spec, policies.Spec{Entry: OneSet}
	return c
}

// TestReplayAgainstNaive compares every metric with what a plain computation in float64 gives.
func TestReplayAgainstNaive(t *testing.T) {
	columns := columnsOf(t, small)
	var cells []Cell
	for _, generated := range []string{appendAll, appendWindow, appendSince} {
		for _, rule := range brief.Sample(2, "exact", "static", "threshold(tau=0.7)", "periodic(n=3)") {
			for _, queries := range []string{queriesTrue, queriesPredicted} {
				cells = append(cells, cellOf(t, params.Values{"append": generated, "queries": queries, "sink": 3,
					"recent": 30}, 0.1, rule))
			}
		}
	}
	outcomes := must.Get(Replay(context.Background(), Config{Trace: columns, Cells: cells, Jobs: 2}))(t)
	for i, c := range cells {
		want := naive(t, columns, c)
		for name, x := range want {
			got, _ := outcomes[i].Values.Get(name)
			if math.Abs(got-x) > 1e-5*max(1, math.Abs(x)) {
				t.Errorf("%s, append=%s, queries=%s: %s is %v, want %v", c.Rule, c.Params.Text("append"),
					c.Params.Text("queries"), name, got, x)
			}
		}
	}
}

// naive serves a cell with vectors of float64 and sets as maps.
func naive(t *testing.T, columns *attention.Columns, c Cell) map[string]float64 {
	shape := columns.Shape
	trace := must.Get(columns.Open(context.Background(), attention.Options{}))(t)
	group, generated, sink, recent := shape.Group(), c.Params.Text("append"), c.Params.Int("sink"), c.Params.Int("recent")
	sum := map[string]float64{}
	var errors []float64
	for place := range shape.Heads() {
		var h attention.Head
		must.Do(t, trace.Next(&h))
		about := reuse.Head{Group: group, Place: place}
		rule := must.Get(c.Rule.Entry.New(reuse.Config{Head: about, Params: c.Rule.Params}))(t)
		lookups := h.Queries
		if c.Params.Text("queries") == queriesPredicted {
			lookups = h.Predicted
		}
		label, set := -1, map[int]bool{}
		for step := range shape.Steps {
			visible := shape.Visible(step)
			to := visible - recent
			if generated == appendAll {
				to = shape.Visible(0) - recent
			}
			k := (to - sink) / 10
			p := naiveProbabilities(&h, h.Queries, shape, step)
			best := naiveTop(p, sink, to, k)
			hit := false
			if label >= 0 {
				hit = rule.Reuse(&reuse.Lookup{Step: step, Label: label, Similarities: naiveCosines(lookups, shape, step, label)})
			}
			sum["lookups"]++
			sum["wanted"] += float64(k)
			if !hit {
				loadedSet := naiveTop(naiveProbabilities(&h, lookups, shape, step), sink, to, k)
				for token := range loadedSet {
					sum["loaded"]++
					if !set[token] {
						sum["fresh"]++
					}
				}
				label, set = step, loadedSet
			} else {
				sum["hits"]++
			}
			seen := naiveStep{head: &h, shape: shape, generated: generated, sink: sink, recent: recent, step: step,
				label: label, p: p, best: best, set: set}
			errors = append(errors, seen.measure(sum)...)
		}
	}
	return naiveValues(sum, errors, sum["lookups"])
}

// naiveStep is what a step sees, with the set that was loaded in the step label.
type naiveStep struct {
	head                      *attention.Head
	shape                     *attention.Shape
	generated                 string
	sink, recent, step, label int
	p                         [][]float64
	best, set                 map[int]bool
}

// measure adds the quality of a step to the sums, and returns the errors of the query heads.
func (n *naiveStep) measure(sum map[string]float64) (errors []float64) {
	tail := recent0(n.shape, n.generated, n.step, n.label) - n.recent
	shown := func(token int) bool { return token < n.sink || n.set[token] || token >= tail }
	for token := range n.best {
		if n.set[token] {
			sum["recall"] += 1 / float64(len(n.best))
		}
	}
	group := n.shape.Group()
	for token := range n.shape.Visible(n.step) {
		mean := 0.0
		for j := range group {
			mean += n.p[j][token] / float64(group)
		}
		always := token < n.sink || token >= recent0(n.shape, n.generated, n.step, n.step)-n.recent
		if shown(token) {
			sum["mass"] += mean
			if !always {
				sum["middle"] += mean
			}
		}
		if always || n.best[token] {
			sum["lost"] += mean
		}
		if n.best[token] {
			sum["exact"] += mean
		}
	}
	for j := range group {
		errors = append(errors, naiveError(n.head, n.p[j], n.shape.Dim, shown))
	}
	return errors
}

// naiveValues returns the metrics of sums over so many steps of heads.
func naiveValues(sum map[string]float64, errors []float64, steps float64) map[string]float64 {
	total := 0.0
	for _, x := range errors {
		total += x
	}
	return map[string]float64{
		loaded.Name: 2 * sum["loaded"], loadedNew.Name: 2 * sum["fresh"], loadedPerSet.Name: sum["loaded"] / sum["wanted"],
		newPerSet.Name: sum["fresh"] / sum["wanted"], recall.Name: sum["recall"] / steps, mass.Name: sum["mass"] / steps,
		lostMass.Name: (sum["lost"] - sum["mass"]) / steps, middleMass.Name: sum["middle"] / sum["exact"],
		outputError.Name: total / float64(len(errors)), hitRatioAll.Name: sum["hits"] / sum["lookups"],
	}
}

// recent0 returns the number of tokens before which those that stay visible are counted.
func recent0(shape *attention.Shape, generated string, step, label int) int {
	switch generated {
	case appendAll:
		return shape.Visible(0)
	case appendSince:
		return shape.Visible(label)
	}
	return shape.Visible(step)
}

func naiveProbabilities(h *attention.Head, queries []float32, shape *attention.Shape, step int) (p [][]float64) {
	for j := range shape.Group() {
		row := make([]float64, shape.Visible(step))
		total := 0.0
		for token := range row {
			score := 0.0
			for d, x := range queries[(step*shape.Group()+j)*shape.Dim:][:shape.Dim] {
				score += float64(x) * float64(h.Key(token)[d])
			}
			row[token] = math.Exp(score * shape.Scale)
			total += row[token]
		}
		for token := range row {
			row[token] /= total
		}
		p = append(p, row)
	}
	return p
}

func naiveTop(p [][]float64, from, to, k int) map[int]bool {
	var order []int
	for token := from; token < to; token++ {
		order = append(order, token)
	}
	score := func(token int) (sum float64) {
		for j := range p {
			sum += p[j][token]
		}
		return sum
	}
	slices.SortStableFunc(order, func(a, b int) int { return -cmpFloat(score(a), score(b)) })
	set := map[int]bool{}
	for _, token := range order[:k] {
		set[token] = true
	}
	return set
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func naiveCosines(queries []float32, shape *attention.Shape, step, label int) (all []float64) {
	for j := range shape.Group() {
		var ab, aa, bb float64
		for d := range shape.Dim {
			a := float64(queries[(step*shape.Group()+j)*shape.Dim+d])
			b := float64(queries[(label*shape.Group()+j)*shape.Dim+d])
			ab, aa, bb = ab+a*b, aa+a*a, bb+b*b
		}
		all = append(all, ab/math.Sqrt(aa*bb))
	}
	return all
}

func naiveError(h *attention.Head, p []float64, dim int, shown func(int) bool) float64 {
	distance, norm := 0.0, 0.0
	share := 0.0
	for token, x := range p {
		if shown(token) {
			share += x
		}
	}
	for d := range dim {
		full, part := 0.0, 0.0
		for token, x := range p {
			full += x * float64(h.Value(token)[d])
			if shown(token) {
				part += x * float64(h.Value(token)[d])
			}
		}
		distance += (part/share - full) * (part/share - full)
		norm += full * full
	}
	return math.Sqrt(distance / norm)
}

// TestReplayOnAnyNumberOfCores expects the same bits whatever the number of goroutines.
func TestReplayOnAnyNumberOfCores(t *testing.T) {
	columns := columnsOf(t, small)
	cells := []Cell{cellOf(t, nil, 0.1, "threshold(tau=0.8)"), cellOf(t, params.Values{"resident": "50%"}, 0.2, "qsac")}
	var texts []string
	for _, jobs := range []int{1, 2, 3} {
		outcomes := must.Get(Replay(context.Background(), Config{Trace: columns, Cells: cells, Jobs: jobs}))(t)
		text := ""
		for _, o := range outcomes {
			text += fmt.Sprintln(o.Counts, bitsOf(o.Values))
		}
		texts = append(texts, text)
	}
	if texts[0] != texts[1] || texts[1] != texts[2] {
		t.Errorf("outcomes depend on the number of goroutines:\n%s", texts)
	}
}

func bitsOf(v metric.Values) (all []uint64) {
	for name := range v.Names() {
		x, _ := v.Get(name)
		all = append(all, math.Float64bits(x))
	}
	return all
}

// TestWholeHeads expects heads that are on the GPU as a whole to load nothing, to lose nothing and to count as hits.
func TestWholeHeads(t *testing.T) {
	columns := columnsOf(t, small)
	o := must.Get(Replay(context.Background(), Config{Trace: columns, Cells: []Cell{
		cellOf(t, params.Values{"dense": 2}, 0.1, "exact"), cellOf(t, params.Values{"dense": 1}, 0.1, "exact")}}))(t)
	if o[0].Counts.Requests != 0 || o[0].Values.Int(loaded) != 0 || o[0].Values.Float(mass) != 1 ||
		o[0].Values.Float(outputError) != 0 || o[0].Values.Float(hitRatioAll) != 1 {
		t.Errorf("all layers are dense: %v lookups, %v", o[0].Counts.Requests, o[0].Values)
	}
	tokens, perToken := int64(columns.Shape.Tokens()), int64(2*2*columns.Shape.Dim)
	if got, want := o[0].Values.Int(gpuBytes), 4*tokens*perToken; got != want {
		t.Errorf("all rows take %d bytes, want %d", got, want)
	}
	if o[1].Counts.Requests != int64(2*columns.Shape.Steps) || o[1].Values.Float(hitRatioAll) != 0.5 {
		t.Errorf("one layer of two is dense: %d lookups, %v of all heads hit", o[1].Counts.Requests,
			o[1].Values.Float(hitRatioAll))
	}
}

// TestRefusals expects an error that names what is wrong.
func TestRefusals(t *testing.T) {
	columns := columnsOf(t, small)
	for name, c := range map[string]Cell{
		"which is none": cellOf(t, nil, 0.001, "exact"), "recent": cellOf(t, params.Values{"recent": 500}, 0.1, "exact"),
		"no such file": cellOf(t, params.Values{"importance": "nowhere.tsv"}, 0.1, "exact"),
	} {
		if _, err := Replay(context.Background(), Config{Trace: columns, Cells: []Cell{c}}); err == nil {
			t.Errorf("a cell of which %q should be said is accepted", name)
		}
	}
}
