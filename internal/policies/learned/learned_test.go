package learned

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/offline" // registers the optimum
)

// predictorOf returns a predictor for the trace in an exact cache of that capacity.
func predictorOf(t *testing.T, text string, objects []policies.Object, capacity int64, seed uint64) predict.Predictor {
	t.Helper()
	spec := must.Get(predict.Registry.Parse(text))(t)
	c := config(objects, capacity)
	p := must.Get(spec.Entry.New(predict.Config{
		Objects: objects, Count: c.Objects, NextUse: nextUses(objects), Seed: seed, Params: spec.Params,
		OptEvicts: func() []bool { return optEvicts(t, objects, capacity) },
	}))(t)
	return p
}

// optEvicts computes the labels naively: whether opt misses the next request to the requested object.
func optEvicts(t *testing.T, objects []policies.Object, capacity int64) []bool {
	hit := make([]bool, len(objects))
	replay(t, mustMake(t, "opt", objects, capacity, "", 0), objects, capacity,
		func(pos int, h bool, _ policies.Object) { hit[pos] = h })
	evicts := make([]bool, len(objects))
	for pos, next := range nextUses(objects) {
		evicts[pos] = next == policies.Never || !hit[next]
	}
	return evicts
}

// mustMake makes a policy, with a predictor if it asks one.
func mustMake(t *testing.T, policy string, objects []policies.Object, capacity int64, predictor string,
	seed uint64) policies.Policy {
	t.Helper()
	spec := must.Get(policies.Registry.Parse(policy))(t)
	c := config(objects, capacity)
	c.Params, c.Seed = spec.Params, seed
	if spec.Entry.Kind == policies.Offline {
		c.NextUse = nextUses(objects)
	}
	if policies.Can[policies.PredictorUser](spec.Entry) {
		c.Predictor = predictorOf(t, predictor, objects, capacity, seed)
	}
	return must.Get(spec.Entry.New(c))(t)
}

// replay serves the trace and returns the misses. After each request it calls done with the victim, or with the
// requested object if there was none.
func replay(t *testing.T, p policies.Policy, objects []policies.Object, capacity int64,
	done func(pos int, hit bool, victim policies.Object)) (misses int) {
	t.Helper()
	resident := map[policies.Object]bool{}
	for pos, o := range objects {
		r := policies.Request{Object: o, Pos: pos, Size: 1}
		hit, victim := resident[o], o
		if hit {
			p.Hit(r)
		} else {
			misses++
			p.Miss(r)
			if int64(len(resident)) == capacity {
				victim = p.Victim(r)
				if !resident[victim] {
					t.Fatalf("request %d: %d is evicted, which is not resident", pos, victim)
				}
				delete(resident, victim)
			}
			p.Insert(r)
			resident[o] = true
		}
		if done != nil {
			done(pos, hit, victim)
		}
	}
	return misses
}

func missesOf(t *testing.T, policy string, objects []policies.Object, capacity int64, predictor string,
	seed uint64) int {
	t.Helper()
	return replay(t, mustMake(t, policy, objects, capacity, predictor, seed), objects, capacity, nil)
}

// forRandomTraces calls f for random traces with a capacity each.
func forRandomTraces(t *testing.T, count int, f func(t *testing.T, objects []policies.Object, capacity int64,
	seed uint64)) {
	for seed := range uint64(count) {
		capacity := 1 + int64(seed*seed)%23
		t.Run(fmt.Sprintf("seed=%d,k=%d", seed, capacity), func(t *testing.T) {
			f(t, randomObjects(seed, 1500, 5+int(seed)%60), capacity, seed)
		})
	}
}

func TestExactPredictionsGiveTheOptimum(t *testing.T) {
	forRandomTraces(t, 60, func(t *testing.T, objects []policies.Object, capacity int64, seed uint64) {
		want := missesOf(t, "opt", objects, capacity, "", 0)
		for _, policy := range []string{"fpb", "fpb-binary", "follow-robust", "blindoracle-lru", "hf(candidates=1000)"} {
			if got := missesOf(t, policy, objects, capacity, "oracle", seed); got != want {
				t.Errorf("%s with exact predictions has %d misses, the optimum %d", policy, got, want)
			}
		}
	})
}

// unsteady is a predictor whose answers must not be kept.
type unsteady struct{ predict.Predictor }

func (unsteady) Steady() bool { return false }

// Victims of fpb and hf are those of a search through all residents, with and without kept answers.
func TestVictimsByPrediction(t *testing.T) {
	for policy, candidates := range map[string]int{"fpb": math.MaxInt, "hf": 4, "hf(candidates=7)": 7} {
		spec := must.Get(policies.Registry.Parse(policy))(t)
		forRandomTraces(t, 30, func(t *testing.T, objects []policies.Object, capacity int64, seed uint64) {
			for _, predictor := range []string{"none", "noisy(p=0.4)", "noisy(kind=lognormal,sigma=3)"} {
				for _, steady := range []bool{true, false} {
					c := config(objects, capacity)
					c.Params, c.Predictor = spec.Params, predictorOf(t, predictor, objects, capacity, seed)
					if !steady {
						c.Predictor = unsteady{c.Predictor}
					}
					p := must.Get(spec.Entry.New(c))(t)
					naive := naiveByPrediction{predictor: predictorOf(t, predictor, objects, capacity, seed), capacity: int(capacity),
						candidates: candidates}
					replay(t, p, objects, capacity, func(pos int, _ bool, victim policies.Object) {
						if want := naive.request(objects[pos], pos); victim != want {
							t.Fatalf("%s, steady=%t, request %d: %d is evicted, want %d", predictor, steady, pos, victim, want)
						}
					})
				}
			}
		})
	}
}

// naiveByPrediction evicts the latest of the least recently requested candidates.
type naiveByPrediction struct {
	predictor            predict.Predictor
	resident             []policies.Object // least recent first
	capacity, candidates int
}

// request returns the victim, or o if there is none.
func (n *naiveByPrediction) request(o policies.Object, pos int) (victim policies.Object) {
	victim = o
	if at := slices.Index(n.resident, o); at >= 0 {
		n.resident = slices.Delete(n.resident, at, at+1)
	} else if len(n.resident) == n.capacity {
		latest, next := 0, math.Inf(-1)
		for i, x := range n.resident[:min(n.candidates, n.capacity)] {
			var one [1]float64
			if n.predictor.Predict([]policies.Object{x}, pos, one[:]); one[0] > next {
				latest, next = i, one[0]
			}
		}
		victim = n.resident[latest]
		n.resident = slices.Delete(n.resident, latest, latest+1)
	}
	n.resident = append(n.resident, o)
	n.predictor.Observe(o, pos)
	return victim
}

// naiveLate is a predictor in the background: what it knew when the request at pos began is what begin(pos) left.
type naiveLate struct {
	predict.Predictor
	batch, latency int
	batched        []policies.Object
	pending        map[policies.Object]float64 // nil: it is idle
	knownAt        int
	known          map[policies.Object]float64
}

func (n *naiveLate) begin(pos int) {
	if pos > 0 && pos%n.batch == 0 && (n.pending == nil || pos >= n.knownAt) {
		n.publish()
		n.pending, n.knownAt = map[policies.Object]float64{}, pos+n.latency
		for _, o := range n.batched {
			var one [1]float64
			n.Predictor.Predict([]policies.Object{o}, pos, one[:])
			n.pending[o] = one[0]
		}
	}
	if pos%n.batch == 0 {
		n.batched = nil
	}
	if pos >= n.knownAt {
		n.publish()
	}
}

func (n *naiveLate) publish() {
	maps.Copy(n.known, n.pending)
	n.pending = nil
}

func (n *naiveLate) Observe(o policies.Object, pos int) {
	n.batched = append(n.batched, o)
	n.Predictor.Observe(o, pos)
}

func (n *naiveLate) Predict(objects []policies.Object, _ int, next []float64) {
	for i, o := range objects {
		next[i] = predict.Never
		if at, ok := n.known[o]; ok {
			next[i] = at
		}
	}
}

// With predictions made in the background, fpb and hf choose by what is known then. Objects without a prediction leave
// first.
func TestVictimsByPredictionsInTheBackground(t *testing.T) {
	for policy, candidates := range map[string]int{"fpb": math.MaxInt, "hf": 4} {
		early := 0
		for seed := range uint64(60) {
			rng := rand.New(rand.NewPCG(seed, 8))
			capacity, batch, latency := 1+rng.IntN(25), 1+rng.IntN(12), rng.IntN(3)*rng.IntN(20)
			objects := randomObjects(seed, 1500, 5+int(seed))
			predictor := []string{"ewma", "oracle", "noisy(p=0.4)"}[seed%3]
			text := fmt.Sprintf("%s(mode=async,batch=%d,latency=%d)", policy, batch, latency)
			late := &naiveLate{Predictor: predictorOf(t, predictor, objects, int64(capacity), seed), batch: batch,
				latency: latency, known: map[policies.Object]float64{}}
			naive := naiveByPrediction{predictor: late, capacity: capacity, candidates: candidates}
			waiting := naiveByPrediction{predictor: predictorOf(t, predictor, objects, int64(capacity), seed),
				capacity: capacity, candidates: candidates}
			c := config(objects, int64(capacity))
			spec := must.Get(policies.Registry.Parse(text))(t)
			all := c.Objects
			c.Objects, c.Params = rng.IntN(all), spec.Params
			c.Predictor = predictorOf(t, predictor, objects, int64(capacity), seed)
			p := must.Get(spec.Entry.New(c))(t)
			p.(policies.Grower).Grow(all)
			replay(t, p, objects, int64(capacity), func(pos int, _ bool, victim policies.Object) {
				late.begin(pos)
				want := naive.request(objects[pos], pos)
				if victim != want {
					t.Fatalf("%s, %s, capacity %d, request %d: %d is evicted, want %d", text, predictor, capacity, pos, victim, want)
				}
				if waiting.request(objects[pos], pos) != want {
					early++
				}
			})
		}
		if early == 0 {
			t.Errorf("%s evicts the same whether predictions are late or not", policy)
		}
	}
}

// What has no effect is refused, and so is a cache that holds objects: its worker would predict what cannot leave.
func TestModesThatAreRefused(t *testing.T) {
	for _, policy := range []string{"fpb", "hf"} {
		for _, params := range []string{"(batch=2)", "(latency=2)", "(mode=sync,batch=2)"} {
			_, err := policies.Registry.Parse(policy + params)
			must.Fail(t, err, "write mode=async", policy, params)
		}
		spec := must.Get(policies.Registry.Parse(policy + "(mode=async)"))(t)
		c := config([]policies.Object{1, 2, 3}, 2)
		c.Holds, c.Params, c.Predictor = true, spec.Params, byNumber{new(int)}
		must.NotGet(spec.Entry.New(c))(t, "write mode=sync", policy)
	}
}

// In a cache that holds objects, fpb and hf choose only among those not held, by the same rule.
func TestVictimsAmongThoseNotHeld(t *testing.T) {
	for policy, candidates := range map[string]int{"fpb": math.MaxInt, "hf": 4} {
		for seed := range uint64(30) {
			objects := randomObjects(seed, 800, 40)
			c := config(objects, 12)
			c.Holds, c.Predictor = true, predictorOf(t, "noisy(p=0.4)", objects, 12, seed)
			spec := must.Get(policies.Registry.Parse(policy))(t)
			c.Params = spec.Params
			p := must.Get(spec.Entry.New(c))(t)
			serveAndHold(t, p.(policies.Holder), objects, 12, candidates, predictorOf(t, "noisy(p=0.4)", objects, 12, seed),
				seed)
		}
	}
}

// serveAndHold serves the trace, and holds and releases objects: the requested one is held, as in caches, and each one
// is released sooner or later, the least recent at once.
func serveAndHold(t *testing.T, p policies.Holder, objects []policies.Object, capacity, candidates int,
	truth predict.Predictor, seed uint64) {
	t.Helper()
	bits := rand.New(rand.NewPCG(seed, 9))
	var recency []policies.Object // least recent first
	held := map[policies.Object]bool{}
	for pos, o := range objects {
		r := policies.Request{Object: o, Pos: pos, Size: 1}
		at := slices.Index(recency, o)
		if at >= 0 {
			if !held[o] {
				p.Hold(o)
			}
			p.Hit(r)
			recency = slices.Delete(recency, at, at+1)
		} else {
			p.Miss(r)
			if len(recency) == capacity {
				free := slices.DeleteFunc(slices.Clone(recency), func(x policies.Object) bool { return held[x] })
				want := (&naiveByPrediction{predictor: truth, resident: free, capacity: len(free),
					candidates: candidates}).request(o, pos)
				if v := p.Victim(r); v != want {
					t.Fatalf("seed %d, request %d: %d is evicted, want %d of %v", seed, pos, v, want, free)
				}
				recency = slices.DeleteFunc(recency, func(x policies.Object) bool { return x == want })
			}
			p.Insert(r)
		}
		truth.Observe(o, pos)
		recency = append(recency, o)
		held[o] = true
		for _, x := range recency {
			if held[x] && (x == recency[0] || bits.IntN(2) == 0) {
				p.Release(x)
				held[x] = false
			}
		}
	}
}

// A marking policy misses an object at most once per phase, whatever the predictions: it is k-robust.
func TestMarkingPoliciesMissNothingTwiceInAPhase(t *testing.T) {
	forRandomTraces(t, 40, func(t *testing.T, objects []policies.Object, capacity int64, seed uint64) {
		for _, policy := range []string{"fpb-marking", "lmarker", "predictive-marker", "opt-marking"} {
			missed, distinct := map[policies.Object]bool{}, map[policies.Object]bool{}
			p := mustMake(t, policy, objects, capacity, "noisy(p=0.7)", seed)
			replay(t, p, objects, capacity, func(pos int, hit bool, _ policies.Object) {
				o := objects[pos]
				if !distinct[o] && int64(len(distinct)) == capacity {
					clear(missed)
					clear(distinct)
				}
				if distinct[o] = true; hit {
					return
				}
				if missed[o] {
					t.Fatalf("%s, request %d: %d is missed twice in a phase", policy, pos, o)
				}
				missed[o] = true
			})
		}
	})
}

// With exact predictions, marking policies have at most twice the misses of the optimum (Lykouris and Vassilvitskii,
// theorem 4.1), and none has fewer than opt-marking.
func TestMarkingPoliciesWithExactPredictions(t *testing.T) {
	forRandomTraces(t, 40, func(t *testing.T, objects []policies.Object, capacity int64, seed uint64) {
		opt := missesOf(t, "opt", objects, capacity, "", 0)
		best := missesOf(t, "opt-marking", objects, capacity, "", 0)
		for _, policy := range []string{"fpb-marking", "lmarker", "predictive-marker"} {
			if got := missesOf(t, policy, objects, capacity, "oracle", seed); got != best || got > 2*opt {
				t.Errorf("%s has %d misses, want the %d of opt-marking and at most twice %d", policy, got, best, opt)
			}
		}
		if got := missesOf(t, "marker", objects, capacity, "", seed); got < best {
			t.Errorf("marker has %d misses, fewer than opt-marking, %d", got, best)
		}
	})
}

// Lykouris and Vassilvitskii, section 4: a phase with c clean objects has at most c chains of predicted evictions, H_k
// each, and the other victims are random. So no chain has more than H_k predicted victims, and every victim that comes
// back extends its own chain.
func TestChainsOfPredictiveMarker(t *testing.T) {
	ch := chains{of: make([]uint32, 5), since: make([]uint32, 5)}
	ch.enter(1)
	evictsFor := func(o, victim policies.Object, wantChain uint32, wantLength int) {
		t.Helper()
		chain, length := ch.extend(o)
		if chain != wantChain || length != wantLength {
			t.Errorf("for %d: chain %d of length %d, want %d and %d", o, chain, length, wantChain, wantLength)
		}
		ch.note(victim, chain)
	}
	evictsFor(0, 1, 0, 1)
	evictsFor(2, 3, 1, 1)
	evictsFor(1, 4, 0, 2)
	evictsFor(4, 0, 0, 3)
	evictsFor(3, 2, 1, 2)
	ch.enter(2)
	evictsFor(2, 1, 0, 1) // all chains are forgotten
	if h := policies.Harmonic(4); math.Abs(h-25.0/12) > 1e-12 {
		t.Errorf("policies.Harmonic(4) = %v", h)
	}
}

// A combination never has more misses than the policies that it simulates have together, except for objects that its
// cache lacks when it switches.
func TestCombinationsAreRobust(t *testing.T) {
	forRandomTraces(t, 40, func(t *testing.T, objects []policies.Object, capacity int64, seed uint64) {
		for _, predictor := range []string{"noisy(p=0.2)", "noisy(p=1)"} {
			fpb, lru := missesOf(t, "fpb", objects, capacity, predictor, seed), missesOf(t, "lru", objects, capacity, "", 0)
			for _, policy := range []string{"blindoracle-lru", "blindoracle-lru(gamma=0.01)", "blindoracle-lru(bound=1)"} {
				p := mustMake(t, policy, objects, capacity, predictor, seed)
				got := replay(t, p, objects, capacity, nil)
				switches := p.(policies.Reporter).Counters()[0].Value
				if most := float64(min(fpb+lru, 2*min(fpb, lru)+max(fpb, lru))) + switches*float64(capacity); float64(got) > most {
					t.Errorf("%s, %s: %d misses, at most %v are possible with fpb's %d and lru's %d", policy, predictor,
						got, most, fpb, lru)
				}
			}
			if got := missesOf(t, "blindoracle-lru(bound=1000000)", objects, capacity, predictor, seed); got > fpb {
				t.Errorf("following fpb alone, %s: %d misses, more than its %d", predictor, got, fpb)
			}
		}
	})
}

// The probability of following a policy is its share of the weights, however they came about.
func TestWeightsFollowByShare(t *testing.T) {
	steps := [][2]bool{{true, true}, {true, false}, {false, true}, {true, false}, {true, false}, {false, false}}
	const runs = 20000
	first := 0
	for seed := range uint64(runs) {
		w := newWeights(policies.Config{Seed: seed, Params: policies.Values{"epsilon": 0.5}})
		followed := 0
		for _, missed := range steps {
			followed = w.follow(followed, missed)
		}
		if followed == 0 {
			first++
		}
	}
	// The first missed three times, the second once, besides the miss of both: 0.75^3 against 0.75.
	want := 0.75 * 0.75 / (0.75*0.75 + 1)
	if got := float64(first) / runs; math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/runs) {
		t.Errorf("the first is followed in a share of %v, want %v", got, want)
	}
}

// With noise drawn once per request and kept, dead objects that are predicted to come soon fill the cache of fpb for
// good, as figure 5 of LCR (arXiv 2509.20979, section 2.2) shows. Policies with a bound keep it. The hit ratios are our
// own, on 20 000 requests.
func TestStickyNoise(t *testing.T) {
	bits := rand.New(rand.NewPCG(1, 2))
	objects := make([]policies.Object, 20000)
	var weights [500]float64
	sum := 0.0
	for i := range weights {
		sum += math.Pow(float64(i+1), -0.8)
		weights[i] = sum
	}
	once := policies.Object(500)
	for i := range objects {
		if bits.Float64() < 0.3 {
			objects[i] = once
			once++
			continue
		}
		at, _ := slices.BinarySearch(weights[:], bits.Float64()*sum)
		objects[i] = policies.Object(at)
	}
	ratio := func(policy, predictor string) float64 {
		return 1 - float64(missesOf(t, policy, objects, 64, predictor, 1))/float64(len(objects))
	}
	opt, lru := ratio("opt", ""), ratio("lru", "")
	if math.Abs(opt-0.455) > 0.01 || math.Abs(lru-0.223) > 0.01 {
		t.Errorf("hit ratios: opt %.3f, lru %.3f, want 0.455 and 0.223", opt, lru)
	}
	if fpb := ratio("fpb", "noisy(p=0.1)"); math.Abs(fpb-0.023) > 0.015 {
		t.Errorf("hit ratio of fpb with p=0.1: %.3f, want 0.023", fpb)
	}
	for _, policy := range []string{"blindoracle-lru(bound=1)", "robust-ftp", "predictive-marker", "lmarker",
		"lnonmarker(robust=true)", "follow-robust", "trust-doubt"} {
		if got := ratio(policy, "noisy(p=0.1)"); got < lru-0.05 {
			t.Errorf("hit ratio of %s with p=0.1: %.3f, far below lru, %.3f", policy, got, lru)
		}
	}
}

// The simulated cache of trust-doubt is full, holds what was requested, and never exchanges objects for unknown ones.
func TestTrustDoubtSimulatesACache(t *testing.T) {
	forRandomTraces(t, 60, func(t *testing.T, objects []policies.Object, capacity int64, seed uint64) {
		p := mustMake(t, "trust-doubt", objects, capacity, "noisy(p=0.5)", seed).(*trustDoubt)
		seen := map[policies.Object]bool{}
		replay(t, p, objects, capacity, func(pos int, _ bool, _ policies.Object) {
			seen[objects[pos]] = true
			if got, want := len(p.simulated.All), min(len(seen), int(capacity)); got != want || !p.simulated.Has(objects[pos]) {
				t.Fatalf("request %d: %d objects, want %d; holds the requested one: %t", pos, got, want,
					p.simulated.Has(objects[pos]))
			}
			for i, c := range p.clean {
				if p.followed.Has(c.proxy) && p.requested[c.proxy] == uint32(pos) {
					t.Fatalf("request %d: the proxy of clean object %d was just requested", pos, i)
				}
			}
		})
	})
}

// lastingPredictions last until the object is requested again, as those of auto may, and are counted.
type lastingPredictions struct{ made *int }

func (lastingPredictions) Observe(predict.Object, int) {}
func (p lastingPredictions) Predict(objects []predict.Object, pos int, next []float64) {
	*p.made += len(objects)
	for i, o := range objects {
		next[i] = float64(pos + int(o)%7)
	}
}
func (lastingPredictions) Steady() bool               { return false }
func (lastingPredictions) Now(pos int) int            { return pos }
func (lastingPredictions) Until(predict.Object) int32 { return predict.Forever }
func (lastingPredictions) Generation() uint32         { return 0 }

// TestSimulatedCachesKeepPredictions: a policy that follows a simulated cache under fpb has as few predictions made as
// fpb itself, instead of one for each resident at each eviction.
func TestSimulatedCachesKeepPredictions(t *testing.T) {
	forRandomTraces(t, 20, func(t *testing.T, objects []policies.Object, capacity int64, _ uint64) {
		predictions := func(policy string) (made int) {
			spec := must.Get(policies.Registry.Parse(policy))(t)
			c := config(objects, capacity)
			c.Params, c.Predictor = spec.Params, lastingPredictions{&made}
			replay(t, must.Get(spec.Entry.New(c))(t), objects, capacity, nil)
			return made
		}
		want := predictions("fpb")
		for _, policy := range []string{"trust-doubt", "follow-robust", "blindoracle-lru", "robust-ftp"} {
			if got := predictions(policy); got > want {
				t.Errorf("%s has %d predictions made, fpb %d", policy, got, want)
			}
		}
	})
}

func TestFPBBinaryNeedsLabels(t *testing.T) {
	spec := must.Get(policies.Registry.Parse("fpb-binary"))(t)
	c := config([]policies.Object{0, 1}, 1)
	c.Predictor = equalPredictions{}
	if _, err := spec.Entry.New(c); err == nil {
		t.Error("a predictor without labels is accepted")
	}
}

// H_k is computed for as many objects as can be resident, so that a cache far larger than the trace takes no longer.
func TestPredictiveMarkerInAHugeCache(t *testing.T) {
	objects := []policies.Object{0, 1, 2, 0, 1, 2}
	p := mustMake(t, "predictive-marker", objects, 1<<60, "oracle", 0)
	if misses := replay(t, p, objects, 1<<60, func(int, bool, policies.Object) {}); misses != 3 {
		t.Errorf("%d misses, want 3", misses)
	}
}
