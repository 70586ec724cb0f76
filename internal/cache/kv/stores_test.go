package kv

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/kv/retrieve"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

func init() { policies.Register(policies.Systems, Policies...) }

// storeOf returns a cell without a reuse rule.
func storeOf(t testing.TB, with params.Values, share float64, policy, retriever string) Cell {
	c := cellOf(t, with, share, "exact")
	c.Rule, c.Policy = nil, must.Get(policies.Registry.Parse(policy))(t)
	if retriever != "" {
		spec := must.Get(retrieve.Registry.Parse(retriever))(t)
		c.Retriever = &spec
	}
	return c
}

// TestStoresAgainstNaive compares every metric of stores with what a plain computation in float64 gives.
func TestStoresAgainstNaive(t *testing.T) {
	columns := columnsOf(t, small)
	var cells []Cell
	for _, generated := range []string{appendAll, appendWindow} {
		for _, queries := range []string{queriesTrue, queriesPredicted} {
			for _, policy := range []string{"lru", "fifo"} {
				cells = append(cells, storeOf(t, params.Values{"append": generated, "queries": queries, "sink": 3,
					"recent": 30, "ratio": "15%"}, 0.3, policy, "blocks(size=4)"))
			}
		}
	}
	outcomes := must.Get(Replay(context.Background(), Config{Trace: columns, Cells: cells, Jobs: 2}))(t)
	for i, c := range cells {
		sum, want := naiveStore(t, columns, c, 4)
		if got := outcomes[i].Counts; float64(got.Requests) != sum["lookups"] || float64(got.Hits) != sum["hits"] ||
			float64(got.Evictions) != sum["evictions"] {
			t.Errorf("%s, %s: %+v, want %v", c.Policy, c.Params.Text("append"), got, sum)
		}
		compareValues(t, fmt.Sprint(c.Policy, c.Params.Text("append"), c.Params.Text("queries")), outcomes[i], want)
	}
}

func compareValues(t *testing.T, cell string, o Outcome, want map[string]float64) {
	t.Helper()
	for name, x := range want {
		if got, _ := o.Values.Get(name); math.Abs(got-x) > 1e-5*max(1, math.Abs(x)) {
			t.Errorf("%s: %s is %v, want %v", cell, name, got, x)
		}
	}
}

// naiveStore serves a cell with lists of blocks, the next victim first.
func naiveStore(t *testing.T, columns *attention.Columns, c Cell, size int) (sum, values map[string]float64) {
	shape := columns.Shape
	trace := must.Get(columns.Open(context.Background(), attention.Options{}))(t)
	sum = map[string]float64{}
	var errors []float64
	room := int(0.3*float64(shape.Visible(0)-30-3)) / size
	for range shape.Heads() {
		var h attention.Head
		must.Do(t, trace.Next(&h))
		queries := h.Queries
		if c.Params.Text("queries") == queriesPredicted {
			queries = h.Predicted
		}
		var held []int
		for step := range shape.Steps {
			to := recent0(shape, c.Params.Text("append"), step, step) - 30
			k := (to - 3) * 15 / 100
			p := naiveProbabilities(&h, h.Queries, shape, step)
			wanted := naiveBlocks(naiveProbabilities(&h, queries, shape, step), 3, to, size, (k+size/2)/size)
			set, before := map[int]bool{}, slices.Clone(held)
			for _, b := range wanted {
				for token := b * size; token < (b+1)*size; token++ {
					set[token] = true
				}
			}
			sum["lookups"] += float64(len(wanted))
			if c.Policy.Name() == "lru" {
				for _, b := range slices.Backward(wanted) {
					if at := slices.Index(held, b); at >= 0 {
						held = append(slices.Delete(held, at, at+1), b)
					}
				}
			}
			for _, b := range wanted {
				if slices.Contains(before, b) {
					sum["hits"]++
					continue
				}
				sum["loaded"] += float64(size)
				if len(held) == room {
					held = held[1:]
					sum["evictions"]++
				}
				held = append(held, b)
			}
			sum["wanted"] += float64(k)
			seen := naiveStep{head: &h, shape: shape, generated: c.Params.Text("append"), sink: 3, recent: 30, step: step,
				label: step, p: p, best: naiveTop(p, 3, to, k), set: set}
			errors = append(errors, seen.measure(sum)...)
		}
	}
	sum["fresh"] = sum["loaded"]
	return sum, naiveValues(sum, errors, float64(shape.Heads()*shape.Steps))
}

// naiveBlocks returns the n whole blocks of candidates with the greatest sums, the best first.
func naiveBlocks(p [][]float64, from, to, size, n int) (all []int) {
	for b := range to / size {
		if b*size >= from {
			all = append(all, b)
		}
	}
	score := func(b int) (sum float64) {
		for j := range p {
			for _, x := range p[j][b*size:][:size] {
				sum += x
			}
		}
		return sum
	}
	slices.SortStableFunc(all, func(a, b int) int { return -cmpFloat(score(a), score(b)) })
	return all[:n]
}

// TestPQCacheAgainstNaive compares the counts of a cache that heads share with those of a plain one.
func TestPQCacheAgainstNaive(t *testing.T) {
	columns := columnsOf(t, small)
	cell := storeOf(t, params.Values{"sink": 3, "recent": 30, "append": appendWindow}, 0.25, "pqcache(block=16)", "")
	config := Config{Trace: columns, Cells: []Cell{cell}, Jobs: 1, Steps: true}
	o := must.Get(Replay(context.Background(), config))(t)[0]
	config.Jobs = 3
	if again := must.Get(Replay(context.Background(), config))(t)[0]; !slices.Equal(o.Steps, again.Steps) ||
		!slices.Equal(bitsOf(o.Values), bitsOf(again.Values)) {
		t.Error("outcomes depend on the number of goroutines")
	}
	shape := columns.Shape
	wanted := naiveWanted(t, columns, 16)
	sum := map[string]float64{}
	for layer := range shape.Layers {
		naivePQ(wanted[layer], shape, sum)
	}
	k := 0.0
	for step := range shape.Steps {
		k += float64(shape.Heads() * ((shape.Visible(step) - 33) / 10))
	}
	if float64(o.Counts.Requests) != sum["lookups"] || float64(o.Counts.Hits) != sum["hits"] || sum["hits"] == 0 ||
		float64(o.Counts.Evictions) != sum["evictions"] || sum["evictions"] == 0 {
		t.Errorf("%+v, want %v", o.Counts, sum)
	}
	missed := sum["lookups"] - sum["hits"]
	compareValues(t, "pqcache", o, map[string]float64{
		missedPerSet.Name: missed / k, loadedPerSet.Name: (missed + sum["blocks"]) / k,
		newPerSet.Name: (missed + sum["blocks"] - sum["twice"]) / k, hitRatioAll.Name: sum["hits"] / sum["lookups"],
		recall.Name: 1, lostMass.Name: 0, gpuSets.Name: float64(3 * 16 * shape.Heads() * 4 * shape.Dim)})
}

// naiveWanted returns how many tokens of each block the exact sets of a layer have, by layer and step.
func naiveWanted(t *testing.T, columns *attention.Columns, block int) [][]map[int]int {
	shape := columns.Shape
	trace := must.Get(columns.Open(context.Background(), attention.Options{}))(t)
	all := make([][]map[int]int, len(shape.Layers))
	for layer := range all {
		all[layer] = make([]map[int]int, shape.Steps)
	}
	for place := range shape.Heads() {
		var h attention.Head
		must.Do(t, trace.Next(&h))
		for step, counts := range all[place/shape.KVHeads] {
			if counts == nil {
				counts = map[int]int{}
				all[place/shape.KVHeads][step] = counts
			}
			to := shape.Visible(step) - 30
			for token := range naiveTop(naiveProbabilities(&h, h.Queries, shape, step), 3, to, (to-3)/10) {
				counts[token/block]++
			}
		}
	}
	return all
}

// naivePQ serves the steps of a layer, in blocks of 16 of which there is room for 3 (25% of 198 tokens).
func naivePQ(steps []map[int]int, shape *attention.Shape, sum map[string]float64) {
	type block struct{ number, count, loaded int }
	var held []block
	find := func(b int) int { return slices.IndexFunc(held, func(x block) bool { return x.number == b }) }
	for step, wanted := range steps {
		var order []int
		for b := range shape.Tokens()/16 + 1 {
			if wanted[b] > 0 {
				order = append(order, b)
				sum["lookups"] += float64(wanted[b])
			}
			if find(b) >= 0 {
				sum["hits"] += float64(wanted[b])
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return wanted[b] - wanted[a] })
		for _, b := range order[:min(3, len(order))] {
			if at := find(b); at >= 0 {
				held[at].count++
				continue
			}
			if len(held) == 3 {
				slices.SortFunc(held, func(a, b block) int {
					return (a.count-b.count)*1e6 + (a.loaded-b.loaded)*1e3 + a.number - b.number
				})
				held = held[1:]
				sum["evictions"]++
			}
			held = append(held, block{b, 1, step})
			sum["blocks"] += float64(shape.KVHeads * min(16, shape.Visible(step)-16*b))
			sum["twice"] += float64(wanted[b])
		}
	}
}

// TestOfflineStores expects the optimum to miss least, and a store of all tokens to load each block once.
func TestOfflineStores(t *testing.T) {
	columns := columnsOf(t, small)
	var cells []Cell
	for _, policy := range []string{"opt", "lru", "arc", "s3fifo", "infinite"} {
		cells = append(cells, storeOf(t, params.Values{"ratio": "20%"}, 0.4, policy, "blocks(size=4)"))
	}
	cells = append(cells, storeOf(t, params.Values{"ratio": "20%"}, 1, "lru", "blocks(size=4)"))
	outcomes := must.Get(Replay(context.Background(), Config{Trace: columns, Cells: cells}))(t)
	for i, o := range outcomes {
		if i < 4 && o.Counts.Hits > outcomes[0].Counts.Hits {
			t.Errorf("%s hits %d blocks, the optimum only %d", cells[i].Policy, o.Counts.Hits, outcomes[0].Counts.Hits)
		}
		if o.Values.Float(recall) != outcomes[0].Values.Float(recall) {
			t.Errorf("%s has another recall than the optimum", cells[i].Policy)
		}
	}
	if outcomes[4].Counts.Hits != outcomes[5].Counts.Hits || outcomes[5].Counts.Evictions != 0 {
		t.Errorf("room for all tokens: %+v, without a limit %+v", outcomes[5].Counts, outcomes[4].Counts)
	}
}

// TestPredictingStores expects a policy that believes in true predictions to be as good as the optimum, whatever the
// number of goroutines, and one with no better predictions than chance to be worse.
func TestPredictingStores(t *testing.T) {
	columns := columnsOf(t, small)
	cells := []Cell{storeOf(t, params.Values{"ratio": "20%"}, 0.4, "opt", "blocks(size=4)")}
	for _, predictor := range []string{"oracle", "noisy(p=1)"} {
		cell := storeOf(t, params.Values{"ratio": "20%"}, 0.4, "fpb", "blocks(size=4)")
		spec := must.Get(predict.Registry.Parse(predictor))(t)
		cell.Predictor = &spec
		cells = append(cells, cell)
	}
	all := must.Get(Replay(context.Background(), Config{Trace: columns, Cells: cells, Jobs: 1}))(t)
	for i, again := range must.Get(Replay(context.Background(), Config{Trace: columns, Cells: cells, Jobs: 3}))(t) {
		if all[i].Counts != again.Counts || all[i].Predicting.Predictions != again.Predicting.Predictions {
			t.Errorf("cell %d depends on the number of goroutines", i)
		}
	}
	opt, oracle, noisy := all[0], all[1], all[2]
	if oracle.Counts.Hits != opt.Counts.Hits || noisy.Counts.Hits >= opt.Counts.Hits || oracle.Predicting.Calls == 0 {
		t.Errorf("hits %d with true predictions, %d with false ones, %d of the optimum; predictors cost %+v",
			oracle.Counts.Hits, noisy.Counts.Hits, opt.Counts.Hits, oracle.Predicting)
	}
}

// TestFullAttention expects it to hit always, to load nothing and to lose nothing.
func TestFullAttention(t *testing.T) {
	columns := columnsOf(t, small)
	o := must.Get(Replay(context.Background(), Config{Trace: columns,
		Cells: []Cell{storeOf(t, nil, 0.1, "full-attention", "")}}))(t)[0]
	if o.Counts.Hits != o.Counts.Requests || o.Counts.Hits != int64(columns.Shape.Heads()*columns.Shape.Steps) {
		t.Errorf("%+v, want every step of every head to hit", o.Counts)
	}
	compareValues(t, "full-attention", o, map[string]float64{hitRatioAll.Name: 1, loaded.Name: 0, recall.Name: 1,
		mass.Name: 1, lostMass.Name: 0, outputError.Name: 0,
		gpuBytes.Name: float64(columns.Shape.Heads() * columns.Shape.Tokens() * 4 * columns.Shape.Dim)})
}

// TestInfiniteStore expects a store without bounds to have no more memory than all rows take.
func TestInfiniteStore(t *testing.T) {
	columns := columnsOf(t, small)
	outcomes := must.Get(Replay(context.Background(), Config{Trace: columns,
		Cells: []Cell{storeOf(t, nil, 0.1, "infinite", ""), storeOf(t, nil, 0.1, "full-attention", "")}}))(t)
	if a, b := outcomes[0].Values.Int(gpuBytes), outcomes[1].Values.Int(gpuBytes); a != b {
		t.Errorf("a store without bounds takes %d bytes, all rows %d", a, b)
	}
}

// TestBlocksThatDoNotFit expects blocks to be refused if none of them has only tokens that a head can load.
func TestBlocksThatDoNotFit(t *testing.T) {
	columns := columnsOf(t, small)
	for size, fits := range map[int]bool{80: true, 90: false} { // tokens from 4 to 165
		cell := storeOf(t, nil, 1, "lru", fmt.Sprintf("blocks(size=%d)", size))
		_, err := Replay(context.Background(), Config{Trace: columns, Cells: []Cell{cell}})
		if fits != (err == nil) || err != nil && !strings.Contains(err.Error(), "use smaller blocks") {
			t.Errorf("blocks of %d tokens: %v", size, err)
		}
	}
}

// TestRetrieversOfSets expects a set that is found as blocks to have the recall of a store of these, and to be loaded
// when the rule says so.
func TestRetrieversOfSets(t *testing.T) {
	columns := columnsOf(t, small)
	set := cellOf(t, nil, 0.1, "exact")
	spec := must.Get(retrieve.Registry.Parse("blocks(size=4)"))(t)
	set.Retriever = &spec
	rare := set
	rare.Rule = cellOf(t, nil, 0.1, "static").Rule
	outcomes := must.Get(Replay(context.Background(), Config{Trace: columns, Cells: []Cell{set, rare,
		storeOf(t, nil, 0.5, "lru", "blocks(size=4)")}}))(t)
	if a, b := outcomes[0].Values.Float(recall), outcomes[2].Values.Float(recall); a != b || a == 1 {
		t.Errorf("sets of blocks have recall %v, stores of them %v", a, b)
	}
	if a, b := outcomes[0].Values.Float(recall), outcomes[1].Values.Float(recall); b >= a || b == 0 {
		t.Errorf("sets that are never replaced have recall %v, those of every step %v", b, a)
	}
}

// TestStoresOnARealModel compares hit ratios of stores, on the published attention of a model, with those that
// LiteCache (section 2.3 and table 3) states of RetroInfer. Bands are wide, as another text and other layers differ.
func TestStoresOnARealModel(t *testing.T) {
	folder := os.Getenv("CACHESIM_TRACES")
	if folder == "" {
		t.Skip("CACHESIM_TRACES does not name a folder with the published traces")
	}
	open := func(ctx context.Context, o attention.Options) (attention.Trace, error) {
		o.Steps = brief.Of(640, 160)
		return attention.Open(ctx, filepath.Join(folder, "attention", "sawyer"), nil, o)
	}
	trace := must.Get(open(t.Context(), attention.Options{}))(t)
	columns := &attention.Columns{Shape: trace.Shape(), Open: open}
	must.Do(t, trace.Close())
	wanted := []struct {
		policy, retriever string
		share, hits       float64
	}{
		{"lru", "blocks", 0.3, 0.94}, {"lru", "blocks", 0.1, 0.71}, {"fifo", "blocks", 0.3, 0.92},
		{"fifo", "blocks", 0.1, 0.59}, {"lru", "clusters", 0.3, 0.91}, {"lru", "blocks(size=1)", 0.2, 0.85},
	}
	var cells []Cell
	for _, w := range wanted {
		cells = append(cells, storeOf(t, nil, w.share, w.policy, w.retriever))
	}
	for i, o := range must.Get(Replay(t.Context(), Config{Trace: columns, Cells: cells}))(t) {
		w, got := wanted[i], float64(o.Counts.Hits)/float64(o.Counts.Requests)
		t.Logf("%s %s at %v: hit ratio %.3f, %.3f sets loaded", w.policy, w.retriever, w.share, got,
			o.Values.Float(loadedPerSet))
		if math.Abs(got-w.hits) > 0.04 {
			t.Errorf("%s %s at %v: hit ratio %.3f, want about %.3f", w.policy, w.retriever, w.share, got, w.hits)
		}
	}
}
