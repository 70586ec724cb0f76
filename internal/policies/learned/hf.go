package learned

import (
	"slices"

	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/background"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/policies/slabs"
)

var hfEntry = policies.Entry{
	Name:    "hf",
	Look:    policies.Look{Color: policies.Pink, Mark: policies.Box},
	Memory:  policies.Memory{PerObject: 21, PerSlot: 0},
	Aliases: []string{"heuristic-first"},
	Summary: "evicts, of a few least recently used objects, the one predicted to be requested last; ties go to the " +
		"least recently used",
	Source: "LCR (arXiv 2509.20979), sections 2.2 and 3.4, after HALP (Song et al., NSDI 2023)",
	Units:  policies.UnitsObjects,
	Params: []policies.Param{
		{Name: "candidates", Default: 4, Min: 1, Max: 1 << 20, Doc: "number of least recently used objects among which " +
			"predictions choose"},
		background.Mode,
		background.Batch,
		background.Latency,
	},
	Check: background.Check,
	Type:  (*hf)(nil),
	New:   newHF,
	InSets: func(c policies.SetsConfig) (policies.SetsPolicy, error) {
		return background.NewSets(c, slabs.Among(c.Params.Int("candidates")))
	},
	DescribeInSets: func(v policies.Values, _ int) (policies.SetsDescription, string) {
		return describeAmong(v, v.Int("candidates"))
	},
}

// hf is LRU with predictions at its end: at each eviction a predictor chooses among the few least recently used
// objects.
type hf struct {
	policies.ByPredictions
	predictor  predict.Predictor
	recency    dense.Lists // of residents, the most recently used in front
	most       int         // candidates
	candidates []policies.Object
	next       []float64
	held       []bool // nil if the cache never holds objects
	resident   []bool // batch path only
	room       int    // objects that still fit, batch path only
	objects    int    // batch path only
}

func newHF(c policies.Config) (policies.Policy, error) {
	late, err := background.New(c)
	if err != nil {
		return nil, err
	}
	p := &hf{
		predictor: c.Predictor, recency: dense.NewLists(c.Objects, 1), most: c.Params.Int("candidates"),
		room: int(c.Capacity), objects: c.Objects,
	}
	if late != nil {
		p.predictor = late
	}
	if c.Holds {
		p.held = make([]bool, c.Objects)
	}
	return p, nil
}

func (p *hf) Hit(r policies.Request) {
	p.recency.MoveToFront(0, r.Object)
	p.predictor.Observe(r.Object, r.Pos)
}

func (p *hf) Miss(policies.Request)                     {}
func (p *hf) Victim(r policies.Request) policies.Object { return p.evict(r.Pos) }

func (p *hf) Insert(r policies.Request) {
	p.recency.PushFront(0, r.Object)
	if r.Reason == policies.Demand {
		p.predictor.Observe(r.Object, r.Pos)
	}
	if p.held != nil {
		p.held[r.Object] = true
	}
}

func (p *hf) Grow(objects int) {
	p.recency.Grow(objects)
	if late, ok := p.predictor.(*background.Predictor); ok {
		late.Grow(objects)
	}
	if p.held != nil {
		p.held = dense.Grown(p.held, objects)
	}
}

func (p *hf) Remove(o policies.Object)  { p.recency.Unlink(o) }
func (p *hf) Hold(o policies.Object)    { p.held[o] = true }
func (p *hf) Release(o policies.Object) { p.held[o] = false }

func (p *hf) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	if p.resident == nil {
		p.resident = make([]bool, p.objects)
	}
	for i, o := range objects {
		switch {
		case p.resident[o]:
			hits++
			p.recency.MoveToFront(0, o)
			p.predictor.Observe(o, first+i)
			continue
		case p.room > 0:
			p.room--
		default:
			p.resident[p.evict(first+i)] = false
			evictions++
		}
		p.resident[o] = true
		p.recency.PushFront(0, o)
		p.predictor.Observe(o, first+i)
	}
	return hits, evictions
}

func (p *hf) evict(pos int) policies.Object {
	p.candidates = p.candidates[:0]
	for o, ok := p.recency.Back(0); ok && len(p.candidates) < p.most; o, ok = p.recency.Before(o) {
		if p.held == nil || !p.held[o] {
			p.candidates = append(p.candidates, o)
		}
	}
	p.next = slices.Grow(p.next[:0], len(p.candidates))[:len(p.candidates)]
	next := p.next
	p.predictor.Predict(p.candidates, pos, next)
	latest := 0
	for i := range next {
		if next[i] > next[latest] {
			latest = i
		}
	}
	v := p.candidates[latest]
	p.recency.Unlink(v)
	return v
}
