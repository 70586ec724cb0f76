package laru

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/offline" // registers the optimum
)

// parse reads laru with its parameters.
func parse(t testing.TB, text string) policies.Values {
	t.Helper()
	spec := must.Get(policies.Registry.Parse(text))(t)
	return spec.Params
}

// predictor returns the predictor that a user would write that way.
func predictor(t testing.TB, text string, objects []policies.Object, count int) predict.Predictor {
	t.Helper()
	spec := must.Get(predict.Registry.Parse(text))(t)
	p := must.Get(spec.Entry.New(predict.Config{
		Objects: objects, Count: count, NextUse: oracle.NextUse(objects, count), Seed: 5, Params: spec.Params,
	}))(t)
	return p
}

// unsteady hides that predictions may be kept.
type unsteady struct{ predict.Predictor }

func (unsteady) Steady() bool { return false }

// drifting changes its mind with every request.
type drifting struct{ seed uint64 }

func (drifting) Observe(policies.Object, int) {}

func (d drifting) Predict(objects []policies.Object, pos int, next []float64) {
	for i, o := range objects {
		next[i] = float64(rand.New(rand.NewPCG(d.seed+uint64(o), uint64(pos))).IntN(20))
	}
}

func (drifting) Steady() bool { return false }

func newPolicy(t testing.TB, text string, capacity, count int, groups []int, p predict.Predictor) *laru {
	t.Helper()
	policy := must.Get(newLARU(policies.Config{
		Capacity: int64(capacity), Unit: true, Objects: count, Params: parse(t, text), Groups: groups, Predictor: p,
	}))(t)
	return policy
}

// step serves one request and returns what was evicted.
func step(p *laru, resident map[policies.Object]bool, capacity, pos int, o policies.Object) (hit bool,
	victim policies.Object, evicted bool) {
	r := policies.Request{Object: o, Pos: pos, Size: 1}
	if resident[o] {
		p.Hit(r)
		return true, 0, false
	}
	p.Miss(r)
	if evicted = len(resident) == capacity; evicted {
		victim = p.Victim(r)
		delete(resident, victim)
	}
	p.Insert(r)
	resident[o] = true
	return false, victim, evicted
}

// letters turns "ABA" into objects.
func letters(text string) (objects []policies.Object) {
	for _, letter := range text {
		objects = append(objects, policies.Object(letter-'A'))
	}
	return objects
}

// trail replays and records hits, and evictions as "t4 B fallback".
func trail(t *testing.T, text, predictions, trace string, capacity int) (hits int, evictions []string) {
	t.Helper()
	objects := letters(trace)
	count := int(slices.Max(objects)) + 1
	p := newPolicy(t, text, capacity, count, nil, predictor(t, predictions, objects, count))
	resident := map[policies.Object]bool{}
	for pos, o := range objects {
		before := p.figures
		hit, victim, evicted := step(p, resident, capacity, pos, o)
		switch {
		case hit:
			hits++
		case evicted:
			how := byRecency
			switch {
			case p.figures.ByPrediction > before.ByPrediction:
				how = byPrediction
			case p.figures.Fallbacks > before.Fallbacks:
				how = byFallback
			}
			phase := ""
			if p.figures.Phases > before.Phases {
				phase = "phase, "
			}
			evictions = append(evictions, fmt.Sprintf("t%d %s%c by %s, lambda %g", pos, phase, 'A'+victim, how,
				1/p.confidence.power))
		}
	}
	return hits, evictions
}

// TestGoldenTraces follows algorithm 1 of LCR (arXiv 2509.20979, section 3) step by step, on a trace worked out by
// hand: with exact predictions and with all of them inverted.
func TestGoldenTraces(t *testing.T) {
	const trace = "ABCDABEABCDE"
	for _, c := range []struct {
		predictions string
		hits        int
		evictions   []string
	}{
		{"oracle", 5, []string{
			"t3 phase, C by prediction, lambda 1",
			"t6 phase, D by prediction, lambda 1",
			"t9 phase, A by prediction, lambda 1",
			"t10 B by prediction, lambda 1",
		}},
		{"noisy(p=1)", 1, []string{
			"t3 phase, A by prediction, lambda 1",
			"t4 B by fallback, lambda 0.5",
			"t5 C by recency, lambda 0.5",
			"t6 phase, A by prediction, lambda 1",
			"t7 D by fallback, lambda 0.5",
			"t9 phase, E by prediction, lambda 1",
			"t10 A by prediction, lambda 1",
			"t11 B by fallback, lambda 0.5",
		}},
	} {
		hits, evictions := trail(t, "laru", c.predictions, trace, 3)
		if hits != c.hits || !slices.Equal(evictions, c.evictions) {
			t.Errorf("%s: %d hits, want %d; evictions\n%s\nwant\n%s", c.predictions, hits, c.hits,
				strings.Join(evictions, "\n"), strings.Join(c.evictions, "\n"))
		}
	}
}

// randomTrace mixes skewed requests, scans and objects requested once.
func randomTrace(rng *rand.Rand, n, m int) (objects []policies.Object, count int) {
	number := map[int]policies.Object{}
	for i := range n {
		key := int(float64(m) * math.Pow(rng.Float64(), 3))
		switch rng.IntN(4) {
		case 0:
			key = i % m
		case 1:
			key = m + i*rng.IntN(2)
		}
		if _, ok := number[key]; !ok {
			number[key] = policies.Object(len(number))
		}
		objects = append(objects, number[key])
	}
	return objects, len(number)
}

var predictions = []string{
	"oracle",
	"noisy(p=0.05)",
	"noisy(p=0.5)",
	"noisy(p=1)",
	"noisy(kind=lognormal,sigma=3)",
	"none",
}

// TestEqualsPseudoCode compares every mode with a transcription of the algorithm, eviction by eviction.
func TestEqualsPseudoCode(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for run := range brief.Of(400, 100) {
		capacity := 1 + rng.IntN(40)
		if run%20 == 0 {
			capacity = 100 + rng.IntN(300)
		}
		objects, count := randomTrace(rng, 200+rng.IntN(2500), 2+capacity*(1+rng.IntN(4)))
		decay := []string{"1", "k/32", "k/8", "3"}[rng.IntN(4)]
		b := []float64{2, 1.5, 3, 4}[rng.IntN(4)]
		bitset, async := rng.IntN(2) == 0, rng.IntN(3) == 0
		size, latency := 1+rng.IntN(50), rng.IntN(3)*rng.IntN(60)

		decayEvery := must.Get(parseDecay(decay, capacity))(t)
		text := fmt.Sprintf("laru(b=%v,decay=%s", b, decay)
		if bitset {
			text += ",marks=bitset"
		}
		if async {
			text += fmt.Sprintf(",mode=async,batch=%d,latency=%d", size, latency)
		}
		text += ")"
		asked := predictions[rng.IntN(len(predictions))]
		newPredictor := func() predict.Predictor {
			switch run % 5 {
			case 0:
				return drifting{uint64(run)}
			case 1:
				return unsteady{predictor(t, asked, objects, count)}
			}
			return predictor(t, asked, objects, count)
		}
		want := &naive{
			predictor:  newPredictor(),
			capacity:   capacity,
			b:          b,
			decayEvery: decayEvery,
			bitset:     bitset,
			async:      async,
			batch:      size,
			latency:    latency,
			p:          map[policies.Object]float64{},
		}
		p := newPolicy(t, text, capacity, count, nil, newPredictor())
		resident := map[policies.Object]bool{}
		for pos, o := range objects {
			hits, evictions := want.hits, len(want.evictions)
			want.request(pos, o)
			hit, victim, evicted := step(p, resident, capacity, pos, o)
			if hit != (want.hits > hits) || evicted != (len(want.evictions) > evictions) {
				t.Fatalf(
					"run %d, %s, capacity %d, predictor %s: request %d: hit %v, evicted %v; the pseudo-code differs",
					run,
					text,
					capacity,
					asked,
					pos,
					hit,
					evicted,
				)
			}
			if !evicted {
				continue
			}
			last := want.evictions[evictions]
			if victim != last.victim {
				t.Fatalf("run %d, %s, capacity %d, predictor %s: request %d evicts %d; the pseudo-code evicts %d by %s",
					run, text, capacity, asked, pos, victim, last.victim, last.how)
			}
		}
		checkFigures(t, p, want)
		batch := newPolicy(t, text, capacity, count, nil, newPredictor())
		hits, evictions := replayInPieces(batch, objects)
		if hits != want.hits || evictions != len(want.evictions) || batch.figures != p.figures {
			t.Fatalf("run %d, %s, capacity %d, predictor %s: batch path %d hits, %d evictions; one by one %d, %d", run,
				text, capacity, asked, hits, evictions, want.hits, len(want.evictions))
		}
	}
}

// replayInPieces replays through the batch path, in pieces of many lengths.
func replayInPieces(p *laru, objects []policies.Object) (hits, evictions int) {
	for from, length := 0, 1; from < len(objects); length = length*7%257 + 1 {
		to := min(from+length, len(objects))
		h, e := p.ReplayUnit(objects[from:to], from)
		hits, evictions = hits+h, evictions+e
		from = to
	}
	return hits, evictions
}

// checkFigures compares what the policy counted with what happened.
func checkFigures(t *testing.T, p *laru, want *naive) {
	t.Helper()
	var f figures
	f.Phases = int64(want.phases)
	for _, e := range want.evictions {
		f.Lambda += e.lambda
		switch e.how {
		case byPrediction:
			f.ByPrediction++
		case byFallback:
			f.Fallbacks++
		case byRecency:
			f.ByRecency++
		}
	}
	got := p.figures
	if math.Abs(got.Lambda-f.Lambda) > 1e-9*(1+f.Lambda) {
		t.Fatalf("sum of lambda %v, want %v", got.Lambda, f.Lambda)
	}
	got.Lambda = f.Lambda
	if got != f {
		t.Fatalf("figures %+v, want %+v", got, f)
	}
}

// TestFollowsTheGroups has batches of uneven sizes: predictions are made when a group ends.
func TestFollowsTheGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	objects, count := randomTrace(rng, 3000, 60)
	even := make([]int, 0, 300)
	for at := 0; at < len(objects); at += 10 {
		even = append(even, at)
	}
	replay := func(text string, groups []int) int {
		p := newPolicy(t, text, 20, count, groups, predictor(t, "oracle", objects, count))
		hits, _ := p.ReplayUnit(objects, 0)
		return hits
	}
	if got, want := replay("laru(mode=async)", even), replay("laru(mode=async,batch=10)", nil); got != want {
		t.Errorf("groups of 10: %d hits, batch=10: %d", got, want)
	}
	if got, want := replay("laru(mode=async)", nil), replay("laru(mode=async,batch=1)", nil); got != want {
		t.Errorf("no groups: %d hits, batch=1: %d", got, want)
	}
	if got, other := replay("laru(mode=async)", []int{0, 7, 50, 2000}), replay("laru(mode=async)", even); got == other {
		t.Errorf("%d hits, whatever the groups", got)
	}
}

// TestExactPredictionsAreOptimal: with exact predictions LARU misses as often as the optimum, for every capacity and
// decay, and never falls back on LRU.
func TestExactPredictionsAreOptimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for run := range brief.Of(150, 30) {
		objects, count := randomTrace(rng, 1500, 5+rng.IntN(150))
		optimum, ok := policies.Registry.Find("opt")
		if !ok {
			t.Fatal("no optimum")
		}
		for _, capacity := range []int{1, 2, 3, 5, 8, 16, 33, 64} {
			opt := must.Get(optimum.New(policies.Config{
				Capacity: int64(capacity), Unit: true, Objects: count, Requests: len(objects), NextUse: oracle.NextUse(objects,
					count),
			}))(t)
			want, _ := opt.(policies.UnitReplayer).ReplayUnit(objects, 0)
			for _, text := range []string{"laru", "laru(decay=k/32)", "laru(decay=5,b=3)"} {
				p := newPolicy(t, text, capacity, count, nil, predictor(t, "oracle", objects, count))
				got, _ := p.ReplayUnit(objects, 0)
				if got != want || p.figures.Fallbacks != 0 {
					t.Fatalf("run %d, %s, capacity %d: %d hits, optimum %d; %d fallbacks", run, text, capacity, got,
						want, p.figures.Fallbacks)
				}
			}
		}
	}
}

// phaseFigures are the quantities that the proofs bound (LCR, appendices C and D).
type phaseFigures struct {
	evictions, byPrediction, byLRU int
	// requested objects that were not resident when the phase began
	newcomers map[policies.Object]bool
}

// TestInvariantsOfTheProofs checks which objects leave, and how often in a phase.
func TestInvariantsOfTheProofs(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for run := range brief.Of(400, 80) {
		capacity := []int{2, 3, 4, 7, 8, 16, 33, 64}[rng.IntN(8)]
		objects, count := randomTrace(rng, 3000, capacity*(1+rng.IntN(5))+1)
		decay := []string{"1", "k/32", "2", "5"}[rng.IntN(4)]
		b := []float64{1.5, 2, 3}[rng.IntN(3)]
		asked := predictions[rng.IntN(len(predictions))]
		text := fmt.Sprintf("laru(b=%v,decay=%s)", b, decay)
		p := newPolicy(t, text, capacity, count, nil, predictor(t, asked, objects, count))
		checkInvariants(t, p, fmt.Sprintf("run %d, %s, capacity %d, predictor %s", run, text, capacity, asked), objects)
	}
}

func checkInvariants(t *testing.T, p *laru, what string, objects []policies.Object) {
	t.Helper()
	resident, old := map[policies.Object]bool{}, map[policies.Object]bool{}
	start := map[policies.Object]bool{} // residents when the phase began
	var phase phaseFigures
	for pos, o := range objects {
		before := p.figures
		was := make([]policies.Object, 0, len(resident))
		for r := range resident {
			was = append(was, r)
		}
		hit, victim, evicted := step(p, resident, p.capacity, pos, o)
		if p.figures.Phases > before.Phases {
			checkPhase(t, p, what, phase)
			phase = phaseFigures{newcomers: map[policies.Object]bool{}}
			clear(start)
			for _, r := range was {
				start[r], old[r] = true, true
			}
		}
		if hit {
			delete(old, o)
		}
		if phase.newcomers != nil && !start[o] {
			phase.newcomers[o] = true
		}
		if evicted {
			phase.evictions++
			if p.figures.ByPrediction > before.ByPrediction {
				phase.byPrediction++
			} else {
				phase.byLRU++
				if !old[victim] {
					t.Fatalf("%s: request %d evicts %d by LRU, which was requested in this phase", what, pos, victim)
				}
			}
			delete(old, victim)
		}
		if len(resident) > p.capacity || len(resident) != p.recency.live || len(old) != p.recency.old {
			t.Fatalf("%s: after request %d: %d resident, the policy counts %d of %d; %d of them old, the policy counts %d",
				what, pos, len(resident), p.recency.live, p.capacity, len(old), p.recency.old)
		}
		if j := math.Log(p.confidence.power) / math.Log(p.confidence.b); math.Abs(j-math.Round(j)) > 1e-9 {
			t.Fatalf("%s: lambda is 1/%v, no power of 1/%v", what, p.confidence.power, p.confidence.b)
		}
	}
	checkPhase(t, p, what, phase)
}

// checkPhase compares a finished phase with the bounds of the proofs: k + log_b k + c evictions if lambda shrinks at
// every fallback, otherwise 2k + c.
func checkPhase(t *testing.T, p *laru, what string, phase phaseFigures) {
	t.Helper()
	k, c := p.capacity, len(phase.newcomers)
	bound := 2*k + c
	if p.confidence.decayEvery == 1 {
		// lambda*k falls below 2, so that only LRU decides, after log_b(k/2) fallbacks, rounded up: at most log_b k,
		// rounded down, or one.
		bound = k + c + max(1, int(math.Log(float64(k))/math.Log(p.confidence.b)+1e-9))
	}
	if phase.evictions > bound || phase.byLRU > k || phase.byPrediction > c+phase.byLRU {
		t.Fatalf("%s: a phase of %d evictions, %d by prediction, %d by LRU; bound %d with %d new objects",
			what, phase.evictions, phase.byPrediction, phase.byLRU, bound, c)
	}
}

// TestBitsetIsCloseToExact: in a short phase, few objects seem to have been evicted by prediction that were not.
func TestBitsetIsCloseToExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	differ := false
	for run := range 20 {
		objects := make([]policies.Object, 20_000)
		for i := range objects {
			objects[i] = policies.Object(rng.IntN(100))
		}
		for _, asked := range []string{"oracle", "noisy(p=0.1)", "noisy(p=0.5)"} {
			replay := func(text string) (hits int, perPhase float64) {
				p := newPolicy(t, text, 64, 100, nil, predictor(t, asked, objects, 100))
				hits, evictions := p.ReplayUnit(objects, 0)
				return hits, float64(evictions) / float64(p.figures.Phases)
			}
			exact, perPhase := replay("laru")
			bits, _ := replay("laru(marks=bitset)")
			differ = differ || bits != exact
			if perPhase > 100 {
				t.Fatalf("run %d, %s: %.0f evictions per phase, which is not short", run, asked, perPhase)
			}
			if math.Abs(float64(exact-bits)) > 0.01*float64(len(objects)) {
				t.Errorf("run %d, %s: %d hits, with a bitset %d", run, asked, exact, bits)
			}
		}
	}
	if !differ {
		t.Error("the bitset never takes an object for another")
	}
}

// TestAsksOnlyWhatItNeeds: a steady predictor is asked at most once per request, and never when only LRU decides.
func TestAsksOnlyWhatItNeeds(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	objects, count := randomTrace(rng, 5000, 200)
	for _, capacity := range []int{1, 2, 20, 64} {
		asked := &predict.Counted{Predictor: predictor(t, "noisy(p=0.3)", objects, count)}
		p := newPolicy(t, "laru", capacity, count, nil, asked)
		p.ReplayUnit(objects, 0)
		cost := asked.Cost()
		if cost.Predictions > int64(len(objects)) || cost.Calls > p.figures.ByPrediction {
			t.Errorf("capacity %d: %+v for %d evictions by prediction", capacity, cost, p.figures.ByPrediction)
		}
		if capacity == 1 && cost.Calls != 0 {
			t.Errorf("capacity 1: %d calls, though there is never a choice", cost.Calls)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"laru(decay=0)":                 "decay=0: want a whole number from 1, or k/32",
		"laru(decay=k/0)":               "decay=k/0: want a whole number",
		"laru(decay=half)":              "decay=half: want a whole number",
		"laru(b=1)":                     "b=1: want a number from 1.5",
		"laru(batch=5)":                 "batch and latency have no effect in mode=sync",
		"laru(mode=async,latency=-1)":   "latency=-1",
		"laru(marks=bloom)":             "want one of exact, bitset",
		"laru(mode=asynchronous)":       "want one of sync, async",
		"laru(mode=async,batch=1,b=ok)": "b=ok: want a number",
	} {
		must.NotGet(policies.Registry.Parse(text))(t, want, text)
	}
}

// Section 5.1 of LCR: lambda shrinks after k/32 fallbacks, rounded down, but at least one.
func TestDecayOfTheCapacity(t *testing.T) {
	for _, c := range []struct {
		text           string
		capacity, want int
	}{{"k/32", 1, 1}, {"k/32", 63, 1}, {"k/32", 64, 2}, {"k/32", 95, 2}, {"k/32", 1000, 31}, {"k/1", 7, 7},
		{"5", 1000, 5}} {
		if got, err := parseDecay(c.text, c.capacity); err != nil || got != c.want {
			t.Errorf("decay=%s of %d objects: %d, %v; want %d", c.text, c.capacity, got, err, c.want)
		}
	}
}
