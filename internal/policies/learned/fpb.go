package learned

import (
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/background"
	"github.com/cachesim/cachesim/internal/policies/slabs"
)

var fpbEntry = policies.Entry{
	Name:    "fpb",
	Look:    policies.Look{Color: policies.Green, Mark: policies.Circle},
	Memory:  policies.Memory{PerObject: 20, PerSlot: 14},
	Aliases: []string{"follow-pred", "blindoracle"},
	Summary: "follows predictions blindly: evicts the object predicted to be requested last; ties go to the least " +
		"recently used",
	Source: "LCR (arXiv 2509.20979), section 2.2; Wei, Better and simpler learning-augmented online caching, APPROX " +
		"2020 (BlindOracle)",
	Units:  policies.UnitsObjects,
	Params: []policies.Param{background.Mode, background.Batch, background.Latency},
	Check:  background.Check,
	Type:   holdingFPB{},
	Guarantee: func(v policies.Values, _ int) (g policies.Guarantee) {
		if !background.In(v) {
			g.Consistency = "1"
		}
		g.Robustness = "unbounded"
		return g
	},
	New: func(c policies.Config) (policies.Policy, error) {
		late, err := background.New(c)
		switch p := newFPB(c); {
		case err != nil:
			return nil, err
		case late != nil:
			p.predictor = late
			p.residents.followLate(late)
			return p, nil
		case c.Holds:
			return holdingFPB{p}, nil
		default:
			return p, nil
		}
	},
	InSets: func(c policies.SetsConfig) (policies.SetsPolicy, error) {
		return background.NewSets(c, slabs.Among(slabs.MaxWays))
	},
	DescribeInSets: func(v policies.Values, _ int) (policies.SetsDescription, string) {
		return describeAmong(v, slabs.MaxWays)
	},
}

// describeAmong describes sets in which predictions choose among a fixed number of candidates.
func describeAmong(v policies.Values, candidates int) (d policies.SetsDescription, why string) {
	if background.In(v) {
		return d, background.WhyNoReplacement
	}
	d.Candidates = []int{candidates}
	return d, ""
}

// fpb evicts the latest object of a forecast over all residents.
type fpb struct {
	policies.ByPredictions
	predictor predict.Predictor
	residents forecast
	capacity  int // batch path only
}

func newFPB(c policies.Config) *fpb {
	return &fpb{predictor: c.Predictor, residents: newForecast(c.Predictor, c.Objects), capacity: int(c.Capacity)}
}

func (p *fpb) Hit(r policies.Request)                    { p.request(r.Object, r.Pos) }
func (p *fpb) Miss(policies.Request)                     {}
func (p *fpb) Victim(r policies.Request) policies.Object { return p.evict(r.Pos) }

func (p *fpb) Insert(r policies.Request) {
	p.residents.add(r.Object)
	p.insert(r)
}

// insert records the load of an object, and reports the request that caused it, if there was one.
func (p *fpb) insert(r policies.Request) {
	p.residents.request(r.Object, r.Pos)
	if r.Reason == policies.Demand {
		p.predictor.Observe(r.Object, r.Pos)
	}
}

func (p *fpb) Grow(objects int)         { p.residents.grow(objects) }
func (p *fpb) Remove(o policies.Object) { p.residents.remove(o) }

func (p *fpb) ReplayUnit(objects []policies.Object, first int) (hits, evictions int) {
	for i, o := range objects {
		if p.residents.has(o) {
			hits++
		} else {
			if p.residents.size() == p.capacity {
				p.evict(first + i)
				evictions++
			}
			p.residents.add(o)
		}
		p.request(o, first+i)
	}
	return hits, evictions
}

func (p *fpb) request(o policies.Object, pos int) {
	p.residents.request(o, pos)
	p.predictor.Observe(o, pos)
}

func (p *fpb) evict(pos int) policies.Object {
	v := p.residents.latest(pos)
	p.residents.remove(v)
	return v
}

// holdingFPB is fpb in a cache that holds objects: its forecast contains only residents that are not held.
type holdingFPB struct{ *fpb }

func (p holdingFPB) Insert(r policies.Request) { p.insert(r) }
func (p holdingFPB) Hold(o policies.Object)    { p.residents.remove(o) }
func (p holdingFPB) Release(o policies.Object) { p.residents.add(o) }
