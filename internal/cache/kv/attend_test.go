package kv

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// inRuns computes several steps at once.
type inRuns struct {
	onCPU
	longest int
	calls   *int // what is left of them before one fails
}

func (r *inRuns) Longest() int { return r.longest }

var errAttention = errors.New("the device was lost")

func (r *inRuns) Attend(queries []float32, visible int, probabilities, outputs []float32) error {
	if *r.calls--; *r.calls < 0 {
		return errAttention
	}
	size := r.shape.Group() * r.shape.Dim
	for ; len(queries) > 0; visible++ {
		var to []float32
		if outputs != nil {
			to, outputs = outputs[:size], outputs[size:]
		}
		if err := r.onCPU.Attend(queries[:size], visible, probabilities[:r.shape.Group()*visible], to); err != nil {
			return err
		}
		queries, probabilities = queries[size:], probabilities[r.shape.Group()*visible:]
	}
	return nil
}

// Outcomes do not depend on how many steps are computed at once, also with rules that need all steps first and with
// predicted queries.
func TestAttentionInRuns(t *testing.T) {
	columns := columnsOf(t, small)
	cells := []Cell{cellOf(t, nil, 0.1, "threshold(tau=0.7)"), cellOf(t, nil, 0.2, "bound(recall=0.5)"),
		cellOf(t, params.Values{"queries": queriesPredicted}, 0.1, "periodic(n=3)")}
	replay := func(longest, calls int) ([]Outcome, int, error) {
		c := Config{Trace: columns, Cells: cells, Jobs: 1}
		if longest > 0 {
			c.Attention = []Attention{&inRuns{onCPU{shape: columns.Shape}, longest, &calls}}
		}
		outcomes, err := Replay(context.Background(), c)
		for i := range outcomes {
			outcomes[i].Elapsed = 0
		}
		return outcomes, calls, err
	}
	want, _, err := replay(0, 0)
	must.Do(t, err)
	const enough = 1 << 20
	for _, longest := range []int{1, 2, 5, 24, 100} {
		got, left, err := replay(longest, enough)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d steps at once: outcomes %+v, want %+v (%v)", longest, got, want, err)
		}
		for _, calls := range []int{0, (enough - left) / 2, enough - left - 1} {
			if got, _, err := replay(longest, calls); got != nil || !errors.Is(err, errAttention) {
				t.Errorf("%d steps at once, and an error after %d calls: outcomes %v, error %v", longest, calls, got, err)
			}
		}
	}
}

// Nothing is computed for heads all of whose rows are on the GPU in every cell.
func TestNoAttentionToWholeHeads(t *testing.T) {
	columns := columnsOf(t, small)
	calls, served := 0, 0
	attention := &inRuns{onCPU{shape: columns.Shape}, 1, &calls}
	must.Get(Replay(context.Background(), Config{Trace: columns, Attention: []Attention{attention},
		Cells: []Cell{cellOf(t, params.Values{"dense": 2}, 0.1, "exact"), cellOf(t, params.Values{"dense": 2}, 0.1,
			"bound")}, Progress: func(n int) { served += n }}))(t)
	if want := columns.Shape.Heads() * columns.Shape.Steps; served != want {
		t.Errorf("progress of %d lookups, want %d", served, want)
	}
}
