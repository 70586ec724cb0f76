package kv

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// TestStepsAddUp expects the counts of all layers and steps to add up to those of the cell, whatever the number of
// goroutines, and each layer to have its own.
func TestStepsAddUp(t *testing.T) {
	columns := columnsOf(t, small)
	cells := []Cell{cellOf(t, nil, 0.1, "threshold(tau=0.8)"), cellOf(t, params.Values{"dense": 1}, 0.2, "static")}
	config := Config{Trace: columns, Cells: cells, Jobs: 1, Steps: true}
	outcomes := must.Get(Replay(context.Background(), config))(t)
	config.Jobs = 3
	for i, again := range must.Get(Replay(context.Background(), config))(t) {
		o := outcomes[i]
		if !slices.Equal(o.Steps, again.Steps) || !slices.Equal(o.Quality, again.Quality) {
			t.Errorf("cell %d: steps depend on the number of goroutines", i)
		}
		var n StepCounts
		var q StepQuality
		for at := range o.Steps {
			n.Add(o.Steps[at])
			q.Add(o.Quality[at])
		}
		if n.Lookups != o.Counts.Requests || n.Hits != o.Counts.Hits || n.Misses != n.Lookups-n.Hits ||
			2*n.Loaded != o.Values.Int(loaded) || 2*n.New != o.Values.Int(loadedNew) {
			t.Errorf("cell %d: steps add up to %+v, but the cell has %+v, %v", i, n, o.Counts, o.Values)
		}
		values := SeriesOf(n, q)
		for _, m := range []metric.Metric{loadedPerSet, newPerSet, recall, lostMass, outputError} {
			if got, want := values.Float(m), o.Values.Float(m); math.Abs(got-want) > 1e-6 {
				t.Errorf("cell %d: %s of all steps is %v, of the cell %v", i, m.Name, got, want)
			}
		}
	}
	steps := columns.Shape.Steps
	for step, n := range outcomes[1].Steps[:steps] {
		if n.Whole != 2 || n.Heads != 0 || n.Lookups != 0 || n.Wanted == 0 {
			t.Fatalf("layer 0 is dense, but step %d has %+v", step, n)
		}
	}
	for step, n := range outcomes[1].Steps[steps:] {
		if hit := int64(2 * min(1, step)); n.Whole != 0 || n.Heads != 2 || n.Lookups != 2 || n.Hits != hit {
			t.Fatalf("layer 1 loads in its first step, but step %d has %+v", step, n)
		}
	}
}

// TestQuerySimilarity compares the similarity of a rule that loads in its first step with plain cosines.
func TestQuerySimilarity(t *testing.T) {
	columns := columnsOf(t, small)
	outcomes := must.Get(Replay(context.Background(), Config{Trace: columns, Steps: true,
		Cells: []Cell{cellOf(t, nil, 0.1, "exact")}}))(t)
	trace, shape := must.Get(columns.Open(context.Background(), attention.Options{}))(t), columns.Shape
	sums := make([]float64, len(outcomes[0].Quality))
	for place := range shape.Heads() {
		var h attention.Head
		must.Do(t, trace.Next(&h))
		for step := 1; step < shape.Steps; step++ {
			for _, x := range naiveCosines(h.Queries, shape, step, step-1) {
				sums[place/shape.KVHeads*shape.Steps+step] += x / float64(shape.Group())
			}
		}
	}
	for at, q := range outcomes[0].Quality {
		got := float64(q.Similarity) / QualityUnit
		if math.Abs(got-sums[at]) > 1e-6 || q.Compared != int64(min(at%shape.Steps, 1)*shape.KVHeads) {
			t.Errorf("layer and step %d: %d heads have similarity %v, want %v", at, q.Compared, got, sums[at])
		}
	}
}
