package controllers

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// testSeed is that of replays in tests.
const testSeed = 1

// adapterWith returns an adapter with its defaults, except for some parameters.
func adapterWith(changed params.Values, number int) *adapter {
	v := params.Defaults(adapterParams)
	for name, value := range changed {
		v[name] = value
	}
	return newAdapter(v, testSeed, number)
}

func TestParameters(t *testing.T) {
	if n := NewPolicy(1, hlem.Features).Params(); n != 9734 {
		t.Errorf("the policy has %d parameters, want 9734", n)
	}
	if n := adapterWith(nil, 0).net.Params(); n != 833 {
		t.Errorf("the adapter has %d parameters, want 833", n)
	}
}

// window is one of a node at a ratio, whose P99 depends on it.
func window(r, p99 float64) *hlem.Window {
	return &hlem.Window{Requests: 2000, Ratio: r, P99: p99, HotShare: 0.2, KVHit: 0.3, EMBHit: 0.7, MeanTokens: 9000,
		Objective: hlem.DefaultObjective()}
}

// Before the first update the corrections are exactly 0, apart from the noise; after it they are not.
func TestAdapterBeginsWithZero(t *testing.T) {
	a := adapterWith(params.Values{"noise": 0.0}, 0)
	w := window(0.4, 0.03)
	for epoch := range 32 {
		a.learn(w)
		if d := a.correct(w.State(), 0.04); d != 0 {
			t.Fatalf("epoch %d: correction %v, want 0", epoch, d)
		}
	}
	noisy := adapterWith(nil, 0)
	var corrections []float64
	for range 500 {
		corrections = append(corrections, noisy.correct(w.State(), 0))
	}
	if sd := deviationOf(corrections); math.Abs(sd-0.004) > 0.0005 {
		t.Errorf("the noise has a deviation of %v, want 0.004", sd)
	}
}

// Where the P99 grows with the distance from a correction, the adapter learns that one.
func TestAdapterLearnsWhatPays(t *testing.T) {
	for _, want := range []float64{0.015, -0.015} {
		a := adapterWith(params.Values{"noise": 0.01}, 0)
		w := window(0.4, 0.03)
		for range 600 {
			d := a.correct(w.State(), 0)
			w.P99 = 0.030 + 0.6*math.Abs(d-want)
			a.learn(w)
		}
		a.noise = 0
		if d := a.correct(w.State(), 0); math.Abs(d-want) > 0.005 {
			t.Errorf("correction %.4f, want about %v", d, want)
		}
	}
}

// The learning rate is twice its base in a jump of the P99 above its average, and half of it far below.
func TestAdapterRate(t *testing.T) {
	a := adapterWith(nil, 0)
	for range 100 {
		a.learn(window(0.4, 0.03))
	}
	if math.Abs(a.optimiser.Rate-1e-3) > 1e-9 {
		t.Errorf("rate %v at a constant P99, want 0.001", a.optimiser.Rate)
	}
	a.learn(window(0.4, 0.3))
	if a.optimiser.Rate != 2e-3 {
		t.Errorf("rate %v at ten times the P99, want 0.002", a.optimiser.Rate)
	}
	a.learn(window(0.4, 0.001))
	if a.optimiser.Rate != 5e-4 {
		t.Errorf("rate %v at a low P99, want 0.0005", a.optimiser.Rate)
	}
}

// What was overridden in a burst is not remembered as a decision of the adapter, and the memory is bounded.
func TestAdapterRemembersItsDecisions(t *testing.T) {
	a := adapterWith(params.Values{"replay": 50}, 0)
	w := window(0.4, 0.03)
	a.learn(w)
	if len(a.memory) != 0 {
		t.Error("it remembers an epoch before its first decision")
	}
	a.correct(w.State(), 0)
	a.learn(w)
	a.learn(w)
	if len(a.memory) != 1 {
		t.Errorf("it remembers %d epochs after one decision", len(a.memory))
	}
	for range 200 {
		a.correct(w.State(), 0)
		a.learn(w)
	}
	if len(a.memory) != 50 {
		t.Errorf("it remembers %d epochs, want 50", len(a.memory))
	}
}

// Adapters of the same seed are the same, those of other nodes and seeds are not.
func TestAdaptersDraw(t *testing.T) {
	draws := func(a *adapter) (list []float64) {
		w := window(0.4, 0.03)
		for range 100 {
			list = append(list, a.correct(w.State(), 0))
			a.learn(w)
		}
		return list
	}
	first := draws(adapterWith(nil, 0))
	if !slices.Equal(first, draws(adapterWith(nil, 0))) {
		t.Error("two adapters of one seed differ")
	}
	other := draws(newAdapter(params.Defaults(adapterParams), testSeed+1, 0))
	if slices.Equal(first, draws(adapterWith(nil, 1))) || slices.Equal(first, other) {
		t.Error("adapters of two nodes, or two seeds, draw the same noise")
	}
}

func TestTanh(t *testing.T) {
	for x := -20.0; x < 20; x += 0.37 {
		if math.Abs(tanh(x)-math.Tanh(x)) > 1e-14 {
			t.Errorf("tanh(%v) = %v, want %v", x, tanh(x), math.Tanh(x))
		}
	}
	if tanh(1e9) != 1 || tanh(-1e9) != -1 {
		t.Error("tanh does not end at 1")
	}
}

// Without its parts, hlem is what is left: nothing holds the ratio, ppo is the policy alone.
func TestPartsCanBeSwitchedOff(t *testing.T) {
	anyWindow := func(epoch int, r float64) hlem.Window { return *window(r, 0.03+0.01*float64(epoch%3)) }
	if got := run(t, "hlem(ppo=false,adapter=false,recovery=off)", 20, anyWindow); got[19] != 0.4 {
		t.Errorf("without any part the ratio becomes %v", got[19])
	}
	alone, policy := run(t, "hlem(adapter=false,recovery=off)", 50, anyWindow), run(t, "ppo", 50, anyWindow)
	if !slices.Equal(alone, policy) {
		t.Errorf("hlem without adapter and recovery differs from ppo: %v, %v", alone, policy)
	}
	if full := run(t, "hlem", 50, anyWindow); slices.Equal(full, policy) {
		t.Error("the adapter changes nothing")
	}
}

// Weights of a policy that is switched off are refused, not ignored.
func TestWeightsWithoutPolicy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "weights.json")
	must.Do(t, os.WriteFile(file, trained(), 0o600))
	if _, err := allocate.Registry.Parse("hlem(weights=" + file + ")"); err != nil {
		t.Error(err)
	}
	if _, err := allocate.Registry.Parse("hlem(ppo=false,weights=" + file + ")"); err == nil ||
		!strings.Contains(err.Error(), "with ppo=false") {
		t.Errorf("error %v, want that the policy is switched off", err)
	}
}

// Parameters of a part that is off are refused, not ignored. Its defaults may be written out, as records do.
func TestParametersOfPartsThatAreOff(t *testing.T) {
	for text, want := range map[string]string{
		"hlem(recovery=off,burst_most=0.1)": "burst_most=0.1 has no effect with recovery=off; leave it out, or write " +
			"recovery=on",
		"hlem(adapter=off,noise=0)":            "noise=0 has no effect with adapter=off",
		"trees(burst_z=3)":                     "recovery=off; leave it out, or write recovery=paper",
		"trees(oft_rate=0.2)":                  "oft_rate=0.2 has no effect with oft=off; leave it out, or write oft=on",
		"trees(oft=on,oft_rate=0.2)":           "",
		"trees(recovery=paper,burst_z=3)":      "",
		"trees(recovery=on,burst_z=3)":         "burst_z=3 has no effect with recovery=on",
		"hlem(adapter=off,burst_most=0.1)":     "",
		"hlem(recovery=off,burst_most=0.25)":   "",
		"hlem(adapter=off,recovery=off,ppo=1)": "",
	} {
		switch _, err := allocate.Registry.Parse(text); {
		case err == nil && want != "":
			t.Errorf("%s: no error, want %q", text, want)
		case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// In a burst with many hot users memory moves to the users by 0.1 in each epoch and 0.25 in all, whatever the
// other parts say.
func TestRecoveryOverrides(t *testing.T) {
	ratios := run(t, "hlem(recovery=paper,start=0.6)", 40, func(epoch int, r float64) hlem.Window {
		w := window(r, 0.03)
		if epoch >= 30 {
			w.P99, w.HotShare = 0.2, 0.6
		}
		return *w
	})
	before := ratios[29]
	for k := 1; k <= 3; k++ {
		if want := max(0.1, before-0.25, before-0.1*float64(k)); math.Abs(ratios[29+k]-want) > 1e-4 {
			t.Errorf("epoch %d of the burst: %v, want %v", k, ratios[29+k], want)
		}
	}
}

// A policy decides with no allocation. The adapter allocates only until its memory is full.
func TestAllocationsOfPolicies(t *testing.T) {
	for _, text := range []string{"ppo", "hlem", "hlem(adapter=false)"} {
		a := build(t, text)
		w := window(0.4, 0.03)
		s := &allocate.State{Capacity: capacity, Pools: make([]allocate.Pool, pools)}
		capacities := make([]int64, pools)
		for range 1100 {
			hlem.Divide(a, s, w, capacities)
		}
		if n := testing.AllocsPerRun(100, func() { hlem.Divide(a, s, w, capacities) }); n != 0 {
			t.Errorf("%s: %v allocations in a decision, want none", text, n)
		}
	}
}

// The built-in policy can be read and is finite.
func TestBuiltInPolicy(t *testing.T) {
	p, made := must.Get2(ReadPolicy(bytes.NewReader(trained())))(t)
	if p.Params() != 9734 || made == "" {
		t.Errorf("%v, made by %q", p, made)
	}
	w := p.NewWork()
	for x := 0.0; x <= 1; x += 0.1 {
		state := hlem.State{x, 1 - x, x, 0.5, x, 1 - x, x, 1 - x, x}
		if v := p.Value(state[:], w); math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("value %v of %v", v, state)
		}
	}
}

func TestWeightsFromFiles(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.json")
	var text bytes.Buffer
	must.Do(t, NewPolicy(7, hlem.Features).Write(&text, "a test", 7))
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	must.Do(t, os.WriteFile(good, text.Bytes(), 0o644))
	if _, err := allocate.Registry.Parse("hlem(weights=" + good + ")"); err != nil {
		t.Errorf("a good file: %v", err)
	}
	whole, last := text.String(), regexp.MustCompile(`[^,]*\n\]`)
	for path, want := range map[string]string{
		filepath.Join(dir, "none.json"):          "no such file",
		dir:                                      "is a folder: want a regular file",
		write("empty.json", ""):                  "JSON",
		write("garbage.json", "\x00\x01weights"): "JSON",
		write("half.json", whole[:len(whole)/2]): "JSON",
		write("widths.json", strings.Replace(whole, "[9,", "[10,", 1)):  "layers of 10-64-128-6 neurons, want 9-64-128-6",
		write("nan.json", last.ReplaceAllString(whole, "NaN\n]")):       `parameter 773 of layer 3 of 3 is "NaN"`,
		write("more.json", strings.Replace(whole, "\n]", ",0.5\n]", 1)): "9735 parameters, want 9734",
		write("huge.json", last.ReplaceAllString(whole, "1e300\n]")):    `is "1e300", want a number from -1e+30 to 1e+30`,
		write("null.json", last.ReplaceAllString(whole, "null\n]")):     `is "null"`,
		write("two.json", whole+whole):                                  "follows",
	} {
		for _, name := range []string{"ppo", "hlem"} {
			_, err := allocate.Registry.Parse(name + "(weights=" + path + ")")
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: error %v, want one with %q", path, err, want)
			}
		}
	}
}

// Whatever a file holds, it is an error or a policy that decides.
func FuzzReadPolicy(f *testing.F) {
	f.Add(trained()[:400])
	f.Add([]byte(`{"format":"cachesim network 1","widths":[7,64,128,6],"activation":"tanh","parameters":[1,2]}`))
	f.Add([]byte(`{"parameters":[NaN,1e999,-0]}`))
	f.Add([]byte("[]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, _, err := ReadPolicy(bytes.NewReader(text))
		if err != nil {
			return
		}
		state := hlem.State{}
		if a := p.Greedy(state[:], p.NewWork()); a < 0 || a >= len(Actions) {
			t.Errorf("action %d", a)
		}
	})
}
