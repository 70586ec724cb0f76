package experiment

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

const partsText = `
traces: [{name: made, generate: "zipf(objects=10,seed=1)"}]
policies: [lru, fpb, {policy: fpb, as: exact-fpb, predictors: oracle}]
predictors: [oracle, {use: noisy(kind=flip), as: noisy, with: {p: [0.1, 0.5]}}]
capacities: 3
seeds: 2
`

func TestCellsWithPredictors(t *testing.T) {
	got := summary(mustExpand(t, mustParse(t, partsText)))
	want := []string{
		"made 3 lru seed=0",
		"made 3 fpb seed=0 predictor=oracle",
		"made 3 fpb seed=0 predictor=noisy,p=0.1",
		"made 3 fpb seed=1 predictor=noisy,p=0.1",
		"made 3 fpb seed=0 predictor=noisy,p=0.5",
		"made 3 fpb seed=1 predictor=noisy,p=0.5",
		"made 3 exact-fpb seed=0", // it has chosen one predictor, so that it counts at every place on their axis
		"made 3 opt seed=0 (auxiliary)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTraceChoosesItsCaches(t *testing.T) {
	text := "traces: [{name: a, generate: zipf, caches: plain}, {name: b, generate: zipf}]\npolicies: " +
		"[lru]\ncapacities: 3\noptimum: false\n"
	f := mustParse(t, text+"caches: [{use: exact, as: plain}]\n")
	if got := len(mustExpand(t, f)); got != 2 {
		t.Errorf("%d cells, want 2", got)
	}
	must.NotGet(parseText(text))(t, `unknown cache "plain"`)
}

func TestPredictorIsPartOfTheHash(t *testing.T) {
	hashes := map[string]string{}
	for _, c := range mustExpand(t, mustParse(t, partsText)) {
		texts := c.Parts.texts
		key := texts.Policy + texts.Predictor + texts.Cache + texts.Model + string(rune('0'+c.Seed))
		if other, ok := hashes[c.Hash]; ok && other != key {
			t.Errorf("%s and %s have one hash", other, key)
		}
		hashes[c.Hash] = key
	}
	if len(hashes) != 7 { // fpb with the oracle is listed twice
		t.Errorf("%d hashes, want 7", len(hashes))
	}
}

func TestSetChangesPredictors(t *testing.T) {
	f := mustParse(t, partsText)
	must.Do(t, f.Apply([]string{"predictors.noisy.p=0.2", "seeds=1"}, false))
	if got := summary(mustExpand(t, f))[2]; got != "made 3 fpb seed=0 predictor=noisy,p=0.2" {
		t.Errorf("got %s", got)
	}
	must.Do(t, f.Apply([]string{"policies=lru,fpb", "predictors=none"}, false))
	cells := mustExpand(t, f)
	if got := cells[1]; got.Parts.texts.Predictor != "none" || got.Axes != "" {
		t.Errorf("got predictor %q, axes %q", got.Parts.texts.Predictor, got.Axes)
	}
}

func TestPolicyNeedsAPredictor(t *testing.T) {
	for text, want := range map[string]string{
		"policies: [fpb]": "policy fpb needs a predictor",
		"policies: [{policy: lru, predictors: oracle}]\npredictors: [oracle]": "policy lru uses no predictor",
		"policies: [{policy: fpb, predictors: x}]\npredictors: [oracle]":      `unknown predictor "x"`,
	} {
		_, err := parseText("traces: [{name: t, generate: zipf}]\ncapacities: 3\n" + text)
		must.Fail(t, err, want, text)
	}
}

func TestTimesAreMetricsOfFigures(t *testing.T) {
	f := mustParse(t, partsText+"figures: [{name: a, x: p, y: ns_per_request}]\n")
	if !f.SpeaksOfTimes() || mustParse(t, partsText).SpeaksOfTimes() {
		t.Error("only the experiment with a figure of times speaks of them")
	}
}

func TestNoneIsNoAllocatorAndNoModel(t *testing.T) {
	cells := mustExpand(t, mustParse(t, `
traces: [{name: made, generate: "cluster(jobs=6,scale=0.01,seed=1)", tenants: job}]
policies: [{policy: lru, allocators: none}, {policy: fifo, allocators: [none, equal]}]
allocators: [none, equal]
models: [none, "storage"]
capacities: 3
optimum: false
`))
	var got []string
	for _, c := range cells {
		texts := c.Parts.texts
		got = append(got, c.Label+" "+c.Axes+" "+texts.Allocator+" "+texts.Model[:min(7, len(texts.Model))])
	}
	want := []string{"lru model=none  ", "fifo allocator=none,model=none  ", "lru model=storage  storage",
		"fifo allocator=none,model=storage  storage", "fifo allocator=equal,model=none equal ",
		"fifo allocator=equal,model=storage equal storage"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestPolicyChoosesItsPrefetchers(t *testing.T) {
	text := `
traces: [{name: made, generate: "zipf(objects=10,seed=1)"}]
policies: [lru, {policy: fifo, prefetchers: next}, {policy: arc, prefetchers: [none, next]}]
prefetchers: [none, next, {use: stride, as: stride, with: {n: [1, 2]}}]
capacities: 3
optimum: false
`
	got := summary(mustExpand(t, mustParse(t, text)))
	want := []string{
		"made 3 lru seed=0 prefetcher=none",
		"made 3 arc seed=0 prefetcher=none",
		"made 3 lru seed=0 prefetcher=next",
		"made 3 fifo seed=0",
		"made 3 arc seed=0 prefetcher=next",
		"made 3 lru seed=0 prefetcher=stride,n=1",
		"made 3 lru seed=0 prefetcher=stride,n=2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	text += "models: [none, {use: storage, as: stored}]\n"
	chosen := mustParse(t, strings.Replace(text, "{policy: fifo, prefetchers: next}",
		"{policy: fifo, prefetchers: next, models: none}", 1))
	for _, line := range summary(mustExpand(t, chosen)) {
		if strings.Contains(line, "fifo") && line != "made 3 fifo seed=0" {
			t.Errorf("fifo runs without a model only, not as %s", line)
		}
	}
	_, err := parseText(strings.Replace(text, "prefetchers: next}", "prefetchers: nxet}", 1))
	must.Fail(t, err, `unknown prefetcher "nxet"; did you mean "next"?`)
}

// TestPolicyChoosesCachesAndCapacities expects a policy to run in the caches and at the capacities that it names, and
// to be at no place on the axis of caches if it names one.
func TestPolicyChoosesCachesAndCapacities(t *testing.T) {
	const text = `
traces: [{name: made, generate: "zipf(objects=100,seed=1)"}]
caches: [{use: exact, as: plain}, {use: "sets(ways=4)", as: sets}]
policies: [{policy: lru, caches: sets, capacities: 20}, {policy: fifo, capacities: "10,20"}]
capacities: [10, 20]
optimum: false
`
	want := []string{
		"made 10 fifo seed=0 cache=plain",
		"made 20 fifo seed=0 cache=plain",
		"made 10 fifo seed=0 cache=sets",
		"made 20 lru seed=0",
		"made 20 fifo seed=0 cache=sets",
	}
	f := mustParse(t, text)
	if got := summary(mustExpand(t, f)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !f.Policies[0].AtOneCapacity() || f.Policies[1].AtOneCapacity() {
		t.Error("lru runs at one capacity, fifo at two")
	}
	for old, wrong := range map[string][2]string{
		"capacities: 20}": {"capacities: 30}", `unknown capacity "30"`},
		"caches: sets":    {"caches: set", `unknown cache "set"`},
		`"10,20"`:         {"ten", `capacity "ten"`},
	} {
		if _, err := parseText(strings.Replace(text, old, wrong[0], 1)); err == nil || !strings.Contains(err.Error(),
			wrong[1]) {
			t.Errorf("%s: %v, want %s", wrong[0], err, wrong[1])
		}
	}
}
