package reuse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// mustRule returns a rule that a user names.
func mustRule(text string, h Head) Rule {
	spec, err := Registry.Parse(text)
	if err != nil {
		panic(err)
	}
	rule, err := New(spec, Config{Head: h})
	if err != nil {
		panic(err)
	}
	return rule
}

// head is what a rule decides for in tests.
type head struct {
	steps      int
	similarity func(step, label int) []float64
	overlap    func(step, label int) float64
}

// replay returns the label of every step.
func (h *head) replay(r Rule) []int {
	if planning, ok := r.(Planning); ok {
		planning.Plan(h.steps, h.overlap)
	}
	labels := make([]int, h.steps)
	for step := 1; step < h.steps; step++ {
		l := &Lookup{Step: step, Label: labels[step-1], Overlap: func() float64 { return h.overlap(step, labels[step-1]) }}
		if h.similarity != nil {
			l.Similarities = h.similarity(step, l.Label)
		}
		if labels[step] = l.Label; r.Reuse(l) {
			continue
		}
		if learning, ok := r.(Learning); ok {
			learning.Replaced(l, h.overlap(step, l.Label))
		}
		labels[step] = step
	}
	return labels
}

// sets returns how many sets labels say are fetched.
func sets(labels []int) int { return len(slices.Compact(slices.Clone(labels))) }

func TestThresholds(t *testing.T) {
	for _, test := range []struct{ importance, p, want float64 }{
		{0, 3, -1}, {0.25, 3, -0.999238}, {0.5, 3, -0.951641}, {0.75, 3, -0.494200}, {0.85, 3, -0.036648},
		{0.9, 3, 0.247707}, {0.95, 3, 0.540478}, {1, 3, 0.8}, {-2.4e-4, 3, -1}, {1.5, 3, 0.8},
		{0.5, 2, -0.8112}, {0.8, 2, 0.028}, {0.9, 2, 0.4374},
	} {
		tolerance := 5e-7
		if test.p == 2 {
			tolerance = 5e-4
		}
		if got := Threshold(test.importance, 0.8, test.p); math.Abs(got-test.want) > tolerance {
			t.Errorf("importance %v, p %v: %v, want %v", test.importance, test.p, got, test.want)
		}
	}
	if a, b := Threshold(0.85665, 0.8, 3), Threshold(0.85675, 0.8, 3); a >= 0 || b <= 0 {
		t.Errorf("thresholds around importance 0.8567 are %v and %v, want 0 between them", a, b)
	}
	if low, high := Threshold(0, 0.8, 3), Threshold(1, 1, 3); low != -1 || high != 1 {
		t.Errorf("the limits are %v and %v, want -1 and 1 without rounding", low, high)
	}
}

func TestThresholdsAreMonotone(t *testing.T) {
	unit, p := rapid.Float64Range(0, 1), rapid.Float64Range(0.01, 50)
	rapid.Check(t, func(t *rapid.T) {
		s, eta, p := unit.Draw(t, "importance"), rapid.Float64Range(-1, 1).Draw(t, "eta"), p.Draw(t, "p")
		tau := Threshold(s, eta, p)
		if tau < -1 || tau > eta+ulps {
			t.Errorf("threshold %v, want one from -1 to eta %v", tau, eta)
		}
		if higher := Threshold(s+(1-s)*unit.Draw(t, "more"), eta, p); higher < tau-ulps {
			t.Errorf("the threshold of a more important head is %v, below %v", higher, tau)
		}
		if higher := Threshold(s, min(1, eta+(1-eta)*unit.Draw(t, "higher")), p); higher < tau-ulps {
			t.Errorf("the threshold of a higher eta is %v, below %v", higher, tau)
		}
	})
}

// same returns the similarities of a group whose query heads have the same.
func same(similarity float64) []float64 {
	return []float64{similarity, similarity, similarity, similarity}
}

// TestHitsOfAConstantDrift compares with the closed form: if the similarity at lag m is c^m, a set is fetched every M+1
// steps, where M is the last lag above the threshold.
func TestHitsOfAConstantDrift(t *testing.T) {
	for _, test := range []struct {
		c, tau        float64
		rule          string
		hits, lookups int // in a period
	}{
		{0.95, 0.8, "qsac(eta=0.8)", 4, 5}, {0.95, 0.6, "qsac(eta=0.6)", 9, 10}, {0.95, 0.3, "qsac(eta=0.3)", 23, 24},
		{0.98, 0.8, "threshold(tau=0.8)", 11, 12}, {0.9, 0.8, "threshold(tau=0.8,aggregate=min)", 2, 3},
		{0.9, 0, "threshold(tau=0,aggregate=arithmetic)", 1, 1},
	} {
		const periods = 20
		h := head{steps: periods * test.lookups, similarity: func(step, label int) []float64 {
			return same(math.Pow(test.c, float64(step-label)))
		}}
		want := periods * (test.lookups - test.hits)
		if test.hits == test.lookups {
			want = 1 // the first
		}
		if got := sets(h.replay(mustRule(test.rule, Head{Importance: 1, Group: 4}))); got != want {
			t.Errorf("%s, drift %v: %d sets in %d steps, want %d", test.rule, test.c, got, h.steps, want)
		}
	}
}

// TestLabelsChangeOnMissesOnly: compared with the query before, every step would be a hit.
func TestLabelsChangeOnMissesOnly(t *testing.T) {
	h := head{steps: 9, similarity: func(step, label int) []float64 { return same(1 - 0.1*float64(step-label)) }}
	got := h.replay(mustRule("threshold(tau=0.75)", Head{}))
	if want := []int{0, 0, 0, 3, 3, 3, 6, 6, 6}; !slices.Equal(got, want) {
		t.Errorf("labels %v, want %v", got, want)
	}
}

func TestLimitsOfThresholds(t *testing.T) {
	for _, test := range []struct {
		rule         string
		importance   float64
		similarities []float64
		want         bool
	}{
		{"qsac", 0, same(-0.999999), true},
		{"qsac", 0, same(-1), false},
		{"qsac", 0, []float64{1, 1, -1, 1}, false},
		{"qsac(aggregate=arithmetic)", 0, []float64{1, 1, -1, 1}, false},
		{"qsac(eta=1)", 1, same(1), false},
		{"qsac(eta=1)", 0.999, same(1), true},
		{"qsac(eta=-1)", 1, same(-0.999999), true},
		{"threshold(tau=0.7)", 1, same(0.7), false},
		{"threshold(tau=0.7)", 1, same(0.7000001), true},
		{"threshold(tau=0.5,aggregate=min)", 1, []float64{1, 1, 0.4, 1}, false},
		{"threshold(tau=0.5,aggregate=arithmetic)", 1, []float64{1, 1, 0.4, 1}, true},
		{"threshold(tau=0.5)", 1, []float64{1, 1, 0.1, 1}, false},
	} {
		rule := mustRule(test.rule, Head{Importance: test.importance, Group: 4})
		if got := rule.Reuse(&Lookup{Step: 1, Similarities: test.similarities}); got != test.want {
			t.Errorf("%s, importance %v, similarities %v: reuse %v", test.rule, test.importance, test.similarities, got)
		}
	}
}

// TestQueryImportances: only heads that matter have the set of a group replaced.
func TestQueryImportances(t *testing.T) {
	similarities := []float64{0.2, 0.9, 0.9, 0.9}
	for _, test := range []struct {
		importances []float64
		want        bool
	}{
		{nil, false}, {[]float64{1, .1, .1, .1}, false}, {[]float64{0, 1, 1, 1}, true}, {[]float64{-1e-4, 1, 1, 1}, true},
		{[]float64{0, 0, 0, 0}, false},
	} {
		rule := mustRule("qsac(eta=0.7)", Head{Importance: 1, QueryImportances: test.importances, Group: 4})
		if got := rule.Reuse(&Lookup{Step: 1, Similarities: similarities}); got != test.want {
			t.Errorf("importances %v: reuse %v", test.importances, got)
		}
	}
}

func TestWorth(t *testing.T) {
	for _, test := range []struct {
		rule                         string
		importance, similarity, want float64
	}{
		{"qsac", 1, 0.85, 0.05}, {"qsac(eps=0.05)", 1, 0.85, 0}, {"qsac", 0, 0.85, -1.75},
		{"qsac(eta=0.9,eps=0)", 1, 0.3, 0.6},
	} {
		rule := mustRule(test.rule, Head{Importance: test.importance, Similarity: test.similarity})
		if got := rule.(Ranked).Worth(); math.Abs(got-test.want) > ulps {
			t.Errorf("%s, importance %v, similarity %v: worth %v, want %v", test.rule, test.importance, test.similarity,
				got, test.want)
		}
	}
}

// TestAges: a set that is never refused is replaced after max-age steps.
func TestAges(t *testing.T) {
	for rule, want := range map[string]int{"qsac": 1, "qsac(max-age=3)": 4, "qsac(max-age=1)": 12, "static": 1,
		"exact": 12, "infinigen": 12, "adaptive": 1, "adaptive(max-age=5)": 3, "periodic(n=4)": 3, "periodic(n=1)": 12} {
		h := head{steps: 12, similarity: func(int, int) []float64 { return same(1) },
			overlap: func(int, int) float64 { return 1 }}
		if got := sets(h.replay(mustRule(rule, Head{Importance: 1, Group: 4}))); got != want {
			t.Errorf("%s: %d sets, want %d", rule, got, want)
		}
	}
}

// TestPeriodsTakeTurns: heads that follow one another fetch in different steps, the later head one step earlier.
func TestPeriodsTakeTurns(t *testing.T) {
	h := head{steps: 40}
	if got := h.replay(mustRule("periodic(n=4)", Head{Place: 5})); !slices.Equal(got[:8], []int{0, 0, 0, 3, 3, 3, 3, 7}) {
		t.Errorf("head 5 has the labels %v", got[:8])
	}
	var fetches [40]int
	for place := range 12 {
		labels := h.replay(mustRule("periodic(n=4)", Head{Place: place}))
		for step, label := range labels {
			if step == label {
				fetches[step]++
			}
		}
	}
	for step, n := range fetches[1:] {
		if n != 3 {
			t.Errorf("%d of 12 heads fetch in step %d, want 3", n, step+1)
		}
	}
}

func TestAdaptiveWidensAndNarrows(t *testing.T) {
	r := mustRule("adaptive(recall=0.5,start=0.6,up=0.2)", Head{}).(*adaptive)
	angle := math.Acos(0.6)
	for _, step := range []struct{ overlap, factor float64 }{{0.5, 1.2}, {0.9, 1.2}, {0.49, 0.8}, {0, 0.8}} {
		r.Replaced(nil, step.overlap)
		angle *= step.factor
		if math.Abs(r.tau-math.Cos(angle)) > ulps {
			t.Errorf("overlap %v: threshold %v, want %v", step.overlap, r.tau, math.Cos(angle))
		}
	}
	for range 100 {
		r.Replaced(nil, 1)
	}
	if r.tau != -1 {
		t.Errorf("after many good sets the threshold is %v, want -1", r.tau)
	}
	for range 100 {
		r.Replaced(nil, 0)
	}
	if want := math.Cos(leastAngle); math.Abs(r.tau-want) > ulps {
		t.Errorf("after many bad sets the threshold is %v, want %v", r.tau, want)
	}
}

// TestAdaptiveHoldsItsTarget has heads whose queries drift at different speeds, and whose overlap falls with the
// similarity in a way that the rule does not know. In equilibrium the angle is where
// share*ln(1.15) + (1-share)*ln(0.85) = 0, with the share 0.538 of replaced sets that still had the recall.
func TestAdaptiveHoldsItsTarget(t *testing.T) {
	for _, recall := range []float64{0.3, 0.45, 0.6} {
		for _, drift := range []float64{0.9, 0.97, 0.99} {
			for _, power := range []float64{0.5, 1, 3} {
				good, mean := adaptiveOutcome(recall, drift, power)
				if good < 0.4 || good > 0.65 || math.Abs(mean-recall) > 0.06 {
					t.Errorf("recall %v, drift %v, power %v: %.3f of the replaced sets had it, want about 0.54; "+
						"mean overlap %.3f", recall, drift, power, good, mean)
				}
			}
		}
	}
}

// adaptiveOutcome returns which share of the sets had the recall when they were replaced, and how much of the new set
// they had on average.
func adaptiveOutcome(recall, drift, power float64) (good, mean float64) {
	r := rand.New(rand.NewPCG(9, 10))
	noise := make([]float64, 4000)
	for i := range noise {
		noise[i] = math.Exp(0.1 * r.NormFloat64())
	}
	similarity := func(step, label int) float64 { return math.Pow(drift, float64(step-label)) }
	h := head{steps: len(noise),
		similarity: func(step, label int) []float64 { return same(similarity(step, label)) },
		overlap: func(step, label int) float64 {
			return min(1, noise[step]*math.Pow(similarity(step, label), power))
		}}
	labels := h.replay(mustRule(fmt.Sprintf("adaptive(recall=%v,max-age=0)", recall), Head{Group: 4}))
	replaced := 0.0
	for step := 1000; step < h.steps; step++ { // it has learned by then
		if labels[step] != step {
			continue
		}
		overlap := h.overlap(step, labels[step-1])
		replaced, mean = replaced+1, mean+overlap
		if overlap >= recall {
			good++
		}
	}
	return good / replaced, mean / replaced
}

// TestEveryRule replays a head under every rule with defaults, twice, with another seed the second time.
func TestEveryRule(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	noise := vectors(r, 1, 300)
	h := head{steps: len(noise)}
	h.similarity = func(step, label int) []float64 {
		s := math.Pow(0.95, float64(step-label)+math.Abs(float64(noise[step])))
		return []float64{s, s * s}
	}
	h.overlap = func(step, label int) float64 { return h.similarity(step, label)[1] }
	for _, e := range Registry.All() {
		spec := must.Get(Registry.Parse(e.Name))(t)
		var labels [2][]int
		for seed := range labels {
			rule := must.Get(e.New(Config{Head: Head{Importance: 0.95, Group: 2, Similarity: 0.9}, Params: spec.Params,
				Seed: uint64(seed)}))(t)
			_, planning := rule.(Planning)
			if planning != e.Plans {
				t.Errorf("%s plans: %v, its entry says %v", e.Name, planning, e.Plans)
			}
			if planning && !e.Oracle {
				t.Errorf("%s plans with the sets of all steps, but is no oracle", e.Name)
			}
			if _, ranked := rule.(Ranked); ranked != e.UsesProfile {
				t.Errorf("%s ranks heads: %v, uses profiles: %v", e.Name, ranked, e.UsesProfile)
			}
			labels[seed] = h.replay(rule)
		}
		if !e.Random && !slices.Equal(labels[0], labels[1]) {
			t.Errorf("%s depends on the seed, but is not random", e.Name)
		}
		n, constant := sets(labels[0]), slices.Contains([]string{"static", "exact", "infinigen"}, e.Name)
		if (n == 1 || n == h.steps) != constant {
			t.Errorf("%s: %d sets in %d steps", e.Name, n, h.steps)
		}
	}
}

func TestParameterErrors(t *testing.T) {
	for text, want := range map[string]string{
		"qsac(eta=1.01)":          "from -1 to 1",
		"qsac(eta=-1.01)":         "from -1 to 1",
		"qsac(eta=NaN)":           "want a number",
		"qsac(p=0)":               "above 0",
		"qsac(p=-1)":              "from 0",
		"qsac(p=NaN)":             "want a number",
		"qsac(eps=-0.1)":          "from 0 to 2",
		"qsac(aggregate=median)":  "want one of harmonic, arithmetic, min",
		"qsac(max-age=-1)":        "from 0",
		"threshold(tau=1.5)":      "from -1 to 1",
		"periodic(n=0)":           "from 1",
		"periodic(n=1.5)":         "want a whole number",
		"adaptive(recall=1.1)":    "from 0 to 1",
		"adaptive(start=2)":       "from -1 to 1",
		"adaptive(up=0)":          "above 0",
		"adaptive(up=1)":          "below 1",
		"greedy(recall=-0.1)":     "from 0 to 1",
		"bound(recall=NaN)":       "want a number",
		"treshold":                `did you mean "threshold"`,
		"static(n=1)":             "n",
		"adaptive(recall=0.5,up)": "want name=value",
	} {
		if _, err := Registry.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

func TestHeadErrors(t *testing.T) {
	spec := must.Get(Registry.Parse("qsac"))(t)
	for want, h := range map[string]Head{
		"layer 3, KV head 1 has importances of 2 query heads, want 4": {Layer: 3, KV: 1, Group: 4,
			QueryImportances: []float64{1, 1}},
		"has the importance NaN":  {Importance: math.NaN()},
		"has the importance +Inf": {Group: 1, QueryImportances: []float64{math.Inf(1)}},
	} {
		if _, err := New(spec, Config{Head: h}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", h, err, want)
		}
	}
}

// TestTraits: lists tell a user what a rule needs.
func TestTraits(t *testing.T) {
	for name, want := range map[string]string{"bound": "offline", "greedy": "offline", "infinigen": "predicted a layer",
		"qsac": "importance"} {
		e, _ := Registry.Find(name)
		if text := strings.Join(e.Describe().Traits, "; "); !strings.Contains(text, want) {
			t.Errorf("%s: traits %q, want one with %q", name, text, want)
		}
	}
}
