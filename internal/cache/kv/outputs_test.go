package kv

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// With errors-every, the errors of some blocks of steps are those of a replay that measures all, and nothing else
// changes. A cell that measures all beside it makes no difference.
func TestErrorsEvery(t *testing.T) {
	columns := columnsOf(t, "attention(layers=2,query-heads=6,kv-heads=2,head-dim=16,context=230,steps=130,seed=5)")
	every := params.Values{"errors-every": 3, "dense": 1} // layer 0 is on the GPU as a whole
	all := cellOf(t, params.Values{"dense": 1}, 0.1, "threshold(tau=0.7)")
	some := cellOf(t, every, 0.1, "threshold(tau=0.7)")
	replay := func(cells ...Cell) []Outcome {
		return must.Get(Replay(context.Background(), Config{Trace: columns, Cells: cells, Steps: true, Jobs: 2}))(t)
	}
	whole, part, together := replay(all)[0], replay(some)[0], replay(all, some)
	var sum float64
	measured := 0
	for at, want := range whole.Quality {
		if at%130/8%3 != 1 {
			want.OutputError, want.Measured = 0, 0
		} else {
			sum, measured = sum+float64(want.OutputError)/QualityUnit, measured+2
		}
		if part.Quality[at] != want || together[0].Quality[at] != whole.Quality[at] || together[1].Quality[at] != want {
			t.Fatalf("step %d of layer %d: %+v alone and %+v beside another, want %+v", at%130, at/130, part.Quality[at],
				together[1].Quality[at], want)
		}
	}
	for name := range whole.Values.Names() {
		want, _ := whole.Values.Get(name)
		got, _ := part.Values.Get(name)
		if beside, _ := together[1].Values.Get(name); got != beside {
			t.Errorf("%s is %v alone and %v beside another cell", name, got, beside)
		}
		switch {
		case name == outputError.Name:
			if want = sum / float64(measured); math.Abs(got-want) > 1e-8 || want == 0 {
				t.Errorf("output error %v, want %v", got, want)
			}
		case !strings.HasPrefix(name, outputError.Name) && got != want:
			t.Errorf("%s is %v, want %v as without errors-every", name, got, want)
		}
	}
}

// However few steps a trace has, some of them are measured.
func TestErrorsOfFewSteps(t *testing.T) {
	for _, steps := range []int{1, 8, 9, 17, 100} {
		for _, every := range []int{1, 2, 3, 50} {
			o := options{errorsEvery: every}
			measured := 0
			for step := range steps {
				if o.measuresErrors(step, steps) {
					measured++
				}
			}
			if measured == 0 || every == 1 && measured != steps {
				t.Errorf("%d of %d steps are measured with errors-every=%d", measured, steps, every)
			}
		}
	}
}
