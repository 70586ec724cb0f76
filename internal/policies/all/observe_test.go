package all_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

// orderlyPredictor checks what predict.Predictor promises to those who implement it. Its predictions change with time.
type orderlyPredictor struct {
	t        *testing.T
	observed int
	objects  []policies.Object
	seen     map[policies.Object]bool
}

func (p *orderlyPredictor) Observe(o predict.Object, pos int) {
	if pos != p.observed || o != p.objects[pos] {
		p.t.Fatalf("request %d of object %d is reported after %d requests", pos, o, p.observed)
	}
	p.observed++
	p.seen[o] = true
}

func (p *orderlyPredictor) Predict(objects []predict.Object, pos int, next []float64) {
	if pos != p.observed {
		p.t.Fatalf("prediction as of request %d after %d were reported", pos, p.observed)
	}
	for i, o := range objects {
		if !p.seen[o] {
			p.t.Fatalf("object %d is asked about before its first request", o)
		}
		next[i] = float64((int(o)*7 + pos) % 23)
	}
}

func (p *orderlyPredictor) Steady() bool                { return false }
func (p *orderlyPredictor) Evict(o predict.Object) bool { return o%2 == 0 }

// Every policy reports each request once, after the eviction that it caused, and asks as of the request before it is
// reported.
func TestPredictorsAreToldInOrder(t *testing.T) {
	bits := rand.New(rand.NewPCG(1, 2))
	objects := make([]policies.Object, 2000)
	for i := range objects {
		objects[i] = policies.Object(min(bits.IntN(40), bits.IntN(40)))
	}
	for _, e := range policies.Registry.All() {
		if !policies.Can[policies.PredictorUser](e) {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			predictor := &orderlyPredictor{t: t, objects: objects, seen: map[policies.Object]bool{}}
			spec := must.Get(policies.Registry.Parse(e.Name))(t)
			policy := must.Get(e.New(policies.Config{
				Capacity: 10, Unit: true, Objects: 40, Requests: len(objects), Params: spec.Params, Predictor: predictor,
			}))(t)
			resident := map[policies.Object]bool{}
			for pos, o := range objects {
				r := policies.Request{Object: o, Pos: pos, Size: 1}
				if resident[o] {
					policy.Hit(r)
					continue
				}
				policy.Miss(r)
				if len(resident) == 10 {
					delete(resident, policy.Victim(r))
				}
				policy.Insert(r)
				resident[o] = true
			}
			if predictor.observed != len(objects) {
				t.Fatalf("%d of %d requests were reported", predictor.observed, len(objects))
			}
		})
	}
}
