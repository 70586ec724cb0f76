package trees

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/oracle/predictors"
	"github.com/cachesim/cachesim/internal/traces"
)

// loops is a trace of two loops that run side by side, of 10 and of 500 objects, so that the last interval predicts the
// next request.
func loops(requests int) *traces.Trace {
	t := &traces.Trace{Name: "loops", NumObjects: 510}
	for i := range requests / 2 {
		t.Objects = append(t.Objects, uint32(i%10), uint32(10+i%500))
	}
	return t
}

func quick() Options {
	o := Options{Features: predictors.LLMFeatures, Rows: 5000, Horizon: 3000, Boosting: gbm.Defaults()}
	o.Boosting.Trees, o.Boosting.Validation, o.Boosting.Patience = 60, 0.2, 10
	return o
}

func TestTrainPredictsLoops(t *testing.T) {
	for _, features := range []predictors.FeatureSet{predictors.DLRMFeatures, predictors.LLMFeatures} {
		o := quick()
		o.Features = features
		m, s := must.Get2(Train(loops(10000), o, func(int) {}))(t)
		if s.Requests != 10000 || s.Trained.Rows+s.Validation.Rows != o.Rows || s.Trees != m.Trees() || s.Grown < s.Trees {
			t.Errorf("%d features: summary %+v", features, s)
		}
		// Both kinds are requested again after 20 and 1000 requests: log times spread by (log 1001 - log 21) / 2 around
		// their mean.
		if spread := (math.Log(1001) - math.Log(21)) / 2; features == predictors.DLRMFeatures &&
			math.Abs(s.Validation.MeanRMSE-spread) > 0.05 {
			t.Errorf("RMSE of the mean %.3f, want about %.3f", s.Validation.MeanRMSE, spread)
		}
		if s.Validation.RMSE > 0.1*s.Validation.MeanRMSE {
			t.Errorf("%d features: RMSE %.3f, of the mean %.3f; the times follow from the history", features,
				s.Validation.RMSE, s.Validation.MeanRMSE)
		}
		share := 0.0
		for _, f := range s.Features {
			share += f.GainShare
		}
		if math.Abs(share-1) > 1e-9 {
			t.Errorf("%d features: gains add up to %v", features, share)
		}
	}
}

// What is written matches the features that gbm computes, and says what it predicts.
func TestTrainedModelIsWrittenWithItsFeatures(t *testing.T) {
	m, _ := must.Get2(Train(loops(2000), quick(), func(int) {}))(t)
	var file bytes.Buffer
	must.Get(m.WriteTo(&file))(t)
	if !strings.Contains(file.String(), "[label: "+labelNote+"]\n") {
		t.Error("the file does not say what the model predicts")
	}
	again := must.Get(gbm.Read(&file, "model"))(t)
	if err := again.Match(predictors.LLMFeatures.Names()); err != nil {
		t.Error(err)
	}
	if err := again.Match(predictors.DLRMFeatures.Names()); err == nil {
		t.Error("a model of 21 features matches 4")
	}
}
