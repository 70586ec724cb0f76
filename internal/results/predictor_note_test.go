package results

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
)

// asking are records of two policies that use one predictor.
func asking() []records.Record {
	return []records.Record{
		{Trace: "t", Label: "laru", Policy: "laru", Kind: "online", Predictor: "gbm", Capacity: 10, CapacityUnit: "objects",
			Best:   true,
			Values: metric.ValuesOf(map[string]float64{"requests": 100, "hits": 60, "misses": 40, "hit_ratio": 0.6})},
		{Trace: "t", Label: "lru", Policy: "lru", Kind: "online", Capacity: 10, CapacityUnit: "objects",
			Values: metric.ValuesOf(map[string]float64{"requests": 100, "hits": 50, "misses": 50, "hit_ratio": 0.5})},
	}
}

func TestMarkdownOfTheBestNamesItsPredictor(t *testing.T) {
	var b strings.Builder
	must.Do(t, Print(&b, asking(), "markdown", PrintOptions{}))
	if !strings.Contains(b.String(), `| **laru** \* | **gbm** |`) {
		t.Errorf("the row of laru lacks its predictor:\n%s", b.String())
	}
}

func TestTablesSayWhichPredictorIsAsked(t *testing.T) {
	recs := asking()
	note := func() string {
		tables := must.Get(Pivot{Cells: "hit_ratio"}.Tables(recs))(t)
		return strings.Join(tables.Notes, "\n")
	}
	if got := note(); !strings.Contains(got, "predictor of laru: gbm") {
		t.Errorf("notes %q do not say what laru asks", got)
	}
	recs[1].Predictor = "ewma"
	if got := note(); !strings.Contains(got, "predictors: laru gbm, lru ewma") {
		t.Errorf("notes %q do not say what each asks", got)
	}
}
