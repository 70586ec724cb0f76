package predictors

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/oracle/predict"
)

// TestKeptIsAskedWhatAskingAllWouldTell: a caller that keeps predictions and renews only void ones has at each moment
// the predictions that a call for all objects would return.
func TestKeptIsAskedWhatAskingAllWouldTell(t *testing.T) {
	for seed := range uint64(5) {
		c := mixed(4000, seed)
		p := mustNew(t, quick, c)
		kept := predict.NewKept(&predict.Counted{Predictor: p}, c.Count)
		if !kept.Lasts() {
			t.Fatal("predictions of gbm do not last")
		}
		bits := rand.New(rand.NewPCG(seed, 1))
		holds := map[predict.Object]float64{}
		asked, moments := 0, 0
		ask := func(objects []predict.Object, pos int) {
			next := make([]float64, len(objects))
			p.Predict(objects, pos, next)
			kept.Note(objects)
			for i, o := range objects {
				holds[o] = next[i]
			}
			asked += len(objects)
		}
		for pos, o := range c.Objects {
			if bits.IntN(3) == 0 {
				if kept.Renewed() {
					clear(holds)
				}
				for _, o := range kept.Void(pos) {
					delete(holds, o)
				}
				var unknown []predict.Object
				for o := range predict.Object(100) {
					if _, ok := holds[o]; !ok && slices.Contains(c.Objects[:pos], o) {
						unknown = append(unknown, o)
					}
				}
				ask(unknown, pos)
				moments++
				for o, held := range holds {
					var next [1]float64
					if p.Predict([]predict.Object{o}, pos, next[:]); next[0] != held {
						t.Fatalf("seed %d, request %d, object %d: kept %v, predicted again %v", seed, pos, o, held, next[0])
					}
				}
			}
			delete(holds, o)
			p.Observe(o, pos)
		}
		if asked > 20*moments {
			t.Errorf("seed %d: %d questions at %d moments about 100 objects, want few of them", seed, asked, moments)
		}
	}
}

func TestNothingIsKeptWhereEachAnswerIsNew(t *testing.T) {
	c := mixed(100, 1)
	for _, text := range []string{"gbm(refresh=1)", "ewma", "oracle"} {
		if k := predict.NewKept(mustNew(t, text, c), c.Count); k.Lasts() {
			t.Errorf("%s: predictions last", text)
		}
	}
}
