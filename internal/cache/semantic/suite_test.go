package semantic_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/semantic"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/neighbours"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// forEachSemanticPolicy runs f for every policy that works where similar queries answer each other.
func forEachSemanticPolicy(t *testing.T, f func(t *testing.T, e policies.Entry)) {
	policytest.ForSample(t, false, func(t *testing.T, e policies.Entry) {
		if err := refusedBySemantic(e); err != nil {
			t.Skip(err)
		}
		f(t, e)
	})
}

// refusedBySemantic is the reason for which a policy does not work in the semantic cache; nil where it does.
func refusedBySemantic(e policies.Entry) error {
	semantic, err := cache.Registry.Parse("semantic")
	if err != nil {
		return err
	}
	return semantic.Entry.Check(semantic.Params, e)
}

// naiveSemantic is the semantic cache after the letter of its rule: it compares each query with every entry.
type naiveSemantic struct {
	trace    *traces.Trace
	policy   policies.Policy
	tau      float64
	capacity int
	entries  []policies.Object
}

func (s *naiveSemantic) similarity(a, b policies.Object) (cosine float64) {
	q := queries.Of(s.trace.Kind)
	for k := range q.Dim {
		cosine += float64(q.Vectors[int(a)*q.Dim+k]) * float64(q.Vectors[int(b)*q.Dim+k])
	}
	return cosine
}

// nearest returns the entry that answers a query: its own, or else the most similar one.
func (s *naiveSemantic) nearest(query policies.Object) (entry policies.Object, ok bool) {
	best := -2.0
	for _, e := range s.entries {
		similar := s.similarity(query, e)
		if e == query {
			return e, true
		}
		if similar >= s.tau && (similar > best || similar == best && e < entry) {
			entry, best, ok = e, similar, true
		}
	}
	return entry, ok
}

func (s *naiveSemantic) drop(o policies.Object) {
	at := slices.Index(s.entries, o)
	s.entries = slices.Delete(s.entries, at, at+1)
}

func (s *naiveSemantic) serve(pos int) (d sim.Decision) {
	o := s.trace.Objects[pos]
	r := policies.Request{Object: o, Query: o, Pos: pos, Size: 1, Time: s.trace.Times[pos]}
	d = sim.Decision{Pos: pos, Query: o}
	if expirer, ok := s.policy.(policies.Expirer); ok {
		for v, more := expirer.Expired(r.Time); more; v, more = expirer.Expired(r.Time) {
			s.drop(v)
			d.Evicted = append(d.Evicted, sim.Left{Object: v, Why: cache.Expired.String()})
		}
	}
	if d.Entry, d.Hit = s.nearest(o); d.Hit {
		r.Object = d.Entry
		s.policy.Hit(r)
		return d
	}
	s.policy.Miss(r)
	if admitter, ok := s.policy.(policies.Admitter); ok && !admitter.Admit(r) {
		return d
	}
	for len(s.entries) >= s.capacity {
		v := s.policy.Victim(r)
		if v == o {
			return d
		}
		s.drop(v)
		d.Evicted = append(d.Evicted, sim.Left{Object: v, Why: cache.ForDemand.String()})
	}
	s.policy.Insert(r)
	s.entries = append(s.entries, o)
	d.Loaded = true
	return d
}

// ranking is a policy that looks at every entry for its victim: the one with the smallest rank.
type ranking struct {
	rank    func(e rankedEntry) int
	entries []rankedEntry
}

type rankedEntry struct {
	object               policies.Object
	loaded, last, served int
}

func (p *ranking) at(o policies.Object) int {
	return slices.IndexFunc(p.entries, func(e rankedEntry) bool { return e.object == o })
}

func (p *ranking) Hit(r policies.Request) {
	e := &p.entries[p.at(r.Object)]
	e.last = r.Pos
	e.served++
}

func (p *ranking) Miss(policies.Request) {}

func (p *ranking) Insert(r policies.Request) {
	p.entries = append(p.entries, rankedEntry{r.Object, r.Pos, r.Pos, 1})
}

func (p *ranking) Victim(policies.Request) policies.Object {
	v := slices.MinFunc(p.entries, func(a, b rankedEntry) int { return p.rank(a) - p.rank(b) }).object
	p.Remove(v)
	return v
}

func (p *ranking) Remove(o policies.Object) {
	at := p.at(o)
	p.entries = slices.Delete(p.entries, at, at+1)
}

// ranks are policies that are a rank and nothing else.
var ranks = map[string]func(e rankedEntry) int{
	"fifo": func(e rankedEntry) int { return e.loaded },
	"lru":  func(e rankedEntry) int { return e.last },
	"mru":  func(e rankedEntry) int { return -e.last },
	"lfu":  func(e rankedEntry) int { return e.served*1e6 + e.last },
}

// Every policy decides alike in the cache that looks similar queries up and in the one that compares with every entry;
// the simplest ones are written again for the latter.
func TestSemanticSuiteEqualsNaive(t *testing.T) {
	forEachSemanticPolicy(t, func(t *testing.T, e policies.Entry) {
		for seed := range uint64(6) {
			tr := simtest.Queries(seed, 500, 6, []float64{0.3, 0.6}[seed%2])
			capacity := 1 + int(seed*seed)
			c := queryCell(t, "semantic(tau=0.7)", policytest.Spec(e), int64(capacity))
			if e.Unbounded {
				capacity = tr.NumObjects
			}
			r := sim.NewReplayer(tr, sim.ReplayerOptions{})
			naive := &naiveSemantic{trace: tr, policy: policyOf(t, tr, c), tau: float64(float32(0.7)), capacity: capacity}
			if rank := ranks[e.Name]; rank != nil {
				naive.policy = &ranking{rank: rank}
			}
			hits := 0
			if err := r.Explain(t.Context(), c, func(got sim.Decision) error {
				want := naive.serve(got.Pos)
				if !got.Hit {
					want.Entry = 0
				} else if got.Entry != got.Query {
					hits++
				}
				if !reflect.DeepEqual(got, want) {
					return fmt.Errorf("got %+v, naive %+v", got, want)
				}
				return nil
			}); err != nil {
				t.Fatalf("seed %d, capacity %d: %v", seed, capacity, err)
			}
			if capacity > 4 && hits < 20 && !e.Idle {
				t.Errorf("seed %d: %d hits of similar entries, too few to tell", seed, hits)
			}
		}
	})
}

// policyOf returns a policy of its own for a cell.
func policyOf(t *testing.T, trace *traces.Trace, c sim.Cell) policies.Policy {
	t.Helper()
	config := cache.Config{Trace: trace, Capacity: c.Capacity.Simulated, Unit: true, Policy: c.Policy, Seed: c.Seed,
		NextUse: func() []uint32 { return policytest.NextUse(trace) }}
	asked := cache.SimilarityOf(c.Cache)
	if policies.Can[policies.PredictorUser](c.Policy.Entry) {
		similar := must.Get(neighbours.Find(t.Context(), trace, asked.HitFrom, neighbours.Options{}))(t)
		config.Predictor = predictorOf(t, trace, c.Policy, "noisy(p=0.3)", similar, float32(asked.HitFrom))
	}
	if e := c.Policy.Entry; e.Relates {
		from := min(asked.HitFrom, e.SimilarFrom(c.Policy.Params, asked.HitFrom, asked.Tau))
		similar := must.Get(neighbours.Find(t.Context(), trace, from, neighbours.Options{}))(t)
		config.Relations = &policies.Relations{Similar: similar, HitFrom: float32(asked.HitFrom), Tau: float32(asked.Tau),
			Topics: queries.Of(trace.Kind).Topics}
	}
	return must.Get(c.Policy.Entry.New(config.PolicyConfig()))(t)
}

// Where an entry answers its own query alone, every policy does what it does in the exact cache, and is compared with
// the same optimum.
func TestSemanticOfIdenticalIsExact(t *testing.T) {
	for seed := range uint64(3) {
		tr := simtest.Queries(seed, 1500, 8, 0.4)
		policytest.ForSample(t, false, func(t *testing.T, e policies.Entry) {
			if e.Relates && !e.Similar {
				t.Skip("sees similarities where there are embeddings")
			}
			pair := simtest.Run(t, tr, simtest.Options{Policies: policytest.Spec(e), Capacities: simtest.Objects(30),
				Parts: []string{"cache=exact,semantic(match=identity)", "predictor=noisy(p=0.3)"}, Warmup: 100, Seed: 7})
			exact, similar := pair[0], pair[1]
			if e.Unbounded && similar.Float(metric.NormalizedHitRatio) != 1 {
				t.Errorf("the infinite kind has %v of its own hits", similar.Float(metric.NormalizedHitRatio))
			}
			if similar.Int(semantic.WrongHits) != 0 || similar.Int(semantic.LabelledHits) == 0 != e.Idle {
				t.Errorf("%d of %d hits on the own entry are wrong", similar.Int(semantic.WrongHits),
					similar.Int(semantic.LabelledHits))
			}
			for _, rec := range []*records.Record{&exact, &similar} {
				rec.Cache = ""
				rec.Delete(metric.NormalizedHitRatio)
				rec.Delete(semantic.LabelledRequests)
				rec.Delete(semantic.LabelledHits)
				rec.Delete(semantic.WrongHits)
				rec.Delete(semantic.WrongAnswerRatio)
				rec.Delete(semantic.WrongHitRatio)
			}
			if !reflect.DeepEqual(exact, similar) {
				t.Errorf("seed %d: exact %+v\nsemantic %+v", seed, exact, similar)
			}
		})
	}
}

// With one place, and with room for all, every policy does the only thing that it can do.
func TestSemanticSuiteOfOneAndOfAll(t *testing.T) {
	forEachSemanticPolicy(t, func(t *testing.T, e policies.Entry) {
		tr := simtest.Queries(4, 1000, 8, 0.4)
		r := sim.NewReplayer(tr, sim.ReplayerOptions{})
		infinite := countsOf(t, r, queryCell(t, "semantic", "infinite", 1))
		for _, capacity := range []int{tr.NumObjects, 1 << 40} {
			n := countsOf(t, r, queryCell(t, "semantic", policytest.Spec(e), int64(capacity)))
			expires := e.NeedsTime != nil
			splits := n.Evictions > 0 // s3fifo and the like give each part of the cache its share
			if !expires && !splits && n != infinite && !e.Idle {
				t.Errorf("capacity %d: %+v, infinite %+v", capacity, n, infinite)
			}
		}
		if e.Bypass || e.Unbounded {
			return
		}
		lru := countsOf(t, r, queryCell(t, "semantic", "lru", 1))
		if one := countsOf(t, r, queryCell(t, "semantic", policytest.Spec(e), 1)); one != lru {
			t.Errorf("one place: %+v, lru %+v", one, lru)
		}
	})
}

// What a policy hears does not depend on how the trace is cut into windows, nor on what else is replayed at the time;
// parts start with an empty cache, and a warm-up is not counted.
func TestSemanticSuiteParts(t *testing.T) {
	forEachSemanticPolicy(t, func(t *testing.T, e policies.Entry) {
		if e.Random {
			t.Skip("each part draws for itself")
		}
		tr := simtest.Queries(5, 900, 8, 0.4)
		c := simtest.With(t, queryCell(t, "semantic(tau=0.8)", policytest.Spec(e), 20), "predictor=ewma")
		parted := *tr
		parted.Starts = []int{0, 300, 600}
		var values metric.Values
		for _, part := range parted.Parts() {
			n := countsOf(t, sim.NewReplayer(part, sim.ReplayerOptions{}), c)
			values = values.Merge(n.Values(c.Cache.Entry, false))
		}
		sum := simtest.Counts(values)
		if got := countsOf(t, sim.NewReplayer(&parted, sim.ReplayerOptions{}), c); got != sum {
			t.Errorf("in parts %+v, their sum is %+v", got, sum)
		}
		first := *tr
		first.Objects, first.Times = tr.Objects[:300], tr.Times[:300]
		if e.Kind == policies.Offline {
			return // it knows what comes after the warm-up
		}
		whole, head := countsOf(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), c), countsOf(t,
			sim.NewReplayer(&first, sim.ReplayerOptions{}), c)
		if got := countsOf(t, sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: 300}),
			c); simtest.Counts(got.Values(c.Cache.Entry, false).Merge(
			head.Values(c.Cache.Entry, false))) != whole {
			t.Errorf("%+v before the end of a warm-up and %+v after it, want %+v in all", head, got, whole)
		}
	})
}

func TestSemanticRunOnAnyNumberOfJobs(t *testing.T) {
	brief.Long(t, "trains predictors for every policy")
	specs := []string{"pfoo-similar"}
	forEachSemanticPolicy(t, func(_ *testing.T, e policies.Entry) { specs = append(specs, policytest.Spec(e)) })
	run := func(jobs int) []records.Record {
		return simtest.Run(t, simtest.Queries(6, 1200, 8, 0.4), simtest.Options{Policies: strings.Join(specs, ","),
			Parts:      []string{"cache=semantic,semantic(tau=0.7)", "predictor=noisy(p=0.3),gbm(retrain=100,horizon=300),ewma"},
			Capacities: simtest.Objects(2, 10, 50), Jobs: jobs, Seed: 3})
	}
	one := run(1)
	if other := run(3); !reflect.DeepEqual(one, other) {
		t.Error("the records of 3 jobs differ from those of 1")
	}
	for _, rec := range one {
		if rec.Kind == "bound" {
			continue
		}
		held := rec.Has(metric.NormalizedHitRatio)
		if rec.Policy == "infinite" {
			held = held && !rec.Has(metric.CompetitiveRatioMax) && !rec.Has(metric.LowerBoundMisses)
		} else {
			held = held && strings.HasPrefix(rec.Optimum, "farthest-similar") && rec.Has(metric.CompetitiveRatio) &&
				rec.Float(metric.CompetitiveRatioMax) >= 1
		}
		if !held || !rec.Has(semantic.WrongHits) || rec.Int(semantic.WrongHits) > rec.Int(semantic.LabelledHits) {
			t.Errorf("%s is not compared with its references: %+v", rec.Label, rec)
		}
	}
}

func TestSemanticRefuses(t *testing.T) {
	tr := simtest.Queries(1, 100, 3, 0.4)
	plain := policytest.Trace(1, 100, 20)
	bare := *tr
	bare.Kind = &queries.Columns{}
	sample := *tr
	sample.SampleRate, sample.SampledFrom = 0.1, 1000
	for _, test := range []struct {
		trace         *traces.Trace
		cache, policy string
		want          string
	}{
		{plain, "semantic", "lru", "needs queries, but random-1 has none"},
		{&bare, "semantic", "lru", "needs embeddings"},
		{tr, "semantic", "opt", "write farthest-similar, or semantic(match=identity)"},
		{tr, "semantic", "opt-bypass", "write farthest-similar"},
		{tr, "semantic", "belady-size", "write farthest-similar"},
		{tr, "semantic", "fpb-binary", "write fpb, or semantic(match=identity)"},
		{tr, "semantic", "pfoo-l", "not in semantic"},
		{tr, "semantic(scope=topic)", "lru", ""},
		{tr, "sets", "farthest-similar", "not in sets"},
		{tr, "prefix", "pfoo-similar", "not in prefix"},
		{&sample, "semantic", "lru", "a sample"},
	} {
		c := queryCell(t, test.cache, test.policy, 10)
		err := sim.NewReplayer(test.trace, sim.ReplayerOptions{}).Check(c)
		if test.want == "" {
			if err != nil {
				t.Errorf("%s in %s: %v", test.policy, test.cache, err)
			}
			continue
		}
		must.Fail(t, err, test.want, test.policy, test.cache)
	}
	if _, err := sim.NewReplayer(tr, sim.ReplayerOptions{}).Replay(t.Context(),
		queryCell(t, "semantic(scope=topic)", "lru", 10)); err == nil ||
		!strings.Contains(err.Error(), "sorts nothing into topics") {
		t.Errorf("scope=topic with lru gives %v", err)
	}
	identical := queryCell(t, "semantic(match=identity)", "lru", 10)
	if err := sim.NewReplayer(&sample, sim.ReplayerOptions{}).Check(identical); err != nil {
		t.Errorf("a sample in %s: %v", identical.Cache, err)
	}
}

// No policy has fewer misses than the bound says, on traces that are too long to try all schedules.
func TestSemanticSuiteKeepsToTheBound(t *testing.T) {
	forEachSemanticPolicy(t, func(t *testing.T, e policies.Entry) {
		for seed := range brief.Of[uint64](8, 3) {
			rng := rand.New(rand.NewPCG(seed, 3))
			tr := simtest.Queries(seed, 800, 3+rng.IntN(10), 0.2+0.5*rng.Float64())
			r := sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: rng.IntN(2) * 200})
			capacity := 1 + rng.Int64N(40)
			if e.Unbounded {
				capacity = int64(tr.NumObjects)
			}
			bound := countsOf(t, r, queryCell(t, "semantic", "pfoo-similar", capacity))
			if n := countsOf(t, r, queryCell(t, "semantic", policytest.Spec(e), capacity)); n.Hits > bound.Hits {
				t.Fatalf("seed %d, capacity %d: %d hits, the bound is %d", seed, capacity, n.Hits, bound.Hits)
			}
		}
	})
}
