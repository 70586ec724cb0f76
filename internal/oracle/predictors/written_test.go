package predictors

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle/predict"
)

func TestWrittenGoesRound(t *testing.T) {
	spec := must.Get(predict.Registry.Parse("written(next=3 -  -2 0.5)"))(t)
	p := must.Get(spec.Entry.New(predict.Config{Count: 3, Params: spec.Params}))(t)
	for pos, o := range []predict.Object{0, 1, 2, 0, 2} {
		p.Observe(o, pos)
	}
	next := make([]float64, 3)
	p.Predict([]predict.Object{0, 1, 2}, 5, next)
	if want := []float64{3.5, predict.Never, 7}; !slices.Equal(next, want) {
		t.Errorf("predicts %v, want %v", next, want)
	}
	labels := p.(predict.Labeler)
	if labels.Evict(0) || !labels.Evict(1) || labels.Evict(2) {
		t.Error("labels do not agree with the predictions of never")
	}
}

func TestWriteOutAndBack(t *testing.T) {
	want := []float64{3, predict.Never, -2, 0.5}
	text := WriteOut(want)
	if got, err := parseWritten(text); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q reads as %v, %v", text, got, err)
	}
}

func TestWrittenErrors(t *testing.T) {
	for text, want := range map[string]string{
		"written(next=)":     "next has 0 predictions",
		"written(next=1 x)":  `"x" is not a number of requests`,
		"written(next=NaN)":  `"NaN" is not a number of requests`,
		"written(next=-Inf)": `"-Inf" is not a number of requests`,
	} {
		must.NotGet(predict.Registry.Parse(text))(t, want, text)
	}
}
