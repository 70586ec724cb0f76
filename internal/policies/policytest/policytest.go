// Package policytest has the helpers that tests of policies and of caches share: random traces, naive next uses, and a
// loop over all policies. Only tests import it; a test must register the policies that have folders of their own.
package policytest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Trace is a random trace of n requests over m objects: skewed, with scans and with objects that come in bursts.
func Trace(seed uint64, n, m int) *traces.Trace {
	rng := rand.New(rand.NewPCG(seed, 1))
	number := map[int]uint32{}
	t := &traces.Trace{Name: fmt.Sprintf("random-%d", seed), SampleRate: 1}
	scan := 0
	for len(t.Objects) < n {
		key := 0
		switch rng.IntN(4) {
		case 0:
			key = rng.IntN(m)
		case 1, 2:
			key = int(float64(m) * rng.Float64() * rng.Float64() * rng.Float64())
		case 3:
			scan++
			key = scan % m
		}
		o, ok := number[key]
		if !ok {
			o = uint32(len(number))
			number[key] = o
			t.ObjectSizes = append(t.ObjectSizes, 1+rng.Int64N(20))
		}
		t.Objects = append(t.Objects, o)
		t.Times = append(t.Times, int64(len(t.Objects))*1e9)
	}
	t.NumObjects = len(number)
	return t
}

// NextUse is the naive next-use column.
func NextUse(t *traces.Trace) []uint32 { return NextUses(t.Objects, t.NumObjects) }

// Build returns a policy with its default parameters for t. It fails tb if the policy refuses.
func Build(tb testing.TB, e policies.Entry, t *traces.Trace, capacity int64, unit bool) policies.Policy {
	tb.Helper()
	p, err := e.New(ConfigOf(tb, e, t, capacity, unit))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// ConfigOf returns the Config that Build uses. Its predictor gets every third answer wrong.
func ConfigOf(tb testing.TB, e policies.Entry, t *traces.Trace, capacity int64, unit bool) policies.Config {
	tb.Helper()
	c := policies.Config{
		Capacity: capacity, Unit: unit, Objects: t.NumObjects, Requests: len(t.Objects), Seed: 7,
		Params: params.Defaults(e.Params),
	}
	if e.Kind == policies.Offline {
		c.NextUse, c.Sequence = NextUse(t), t.Objects
	}
	if policies.Can[policies.PredictorUser](e) {
		c.Predictor = Noisy(tb, t, capacity)
	}
	if policies.NeedsKeys(policies.Spec{Entry: e, Params: c.Params}) {
		c.Key = func(o policies.Object) uint64 { return uint64(o) * 7919 % 10007 } // in no order that a policy could know
	}
	if e.Relates {
		c.Relations = &policies.Relations{HitFrom: 2 /* no two objects are that similar */}
	}
	return c
}

// Noisy returns a predictor that gets every third answer wrong, for a cache of that capacity.
func Noisy(tb testing.TB, t *traces.Trace, capacity int64) predict.Predictor {
	tb.Helper()
	return Predictor(tb, "noisy(p=0.3)", t, capacity, 7)
}

// Predictor returns a predictor that knows the future, with or without noise, for a cache of that capacity.
func Predictor(tb testing.TB, text string, t *traces.Trace, capacity int64, seed uint64) predict.Predictor {
	tb.Helper()
	spec, err := predict.Registry.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	next := NextUse(t)
	p, err := spec.Entry.New(predict.Config{
		Objects: t.Objects, Count: t.NumObjects, NextUse: next, Times: t.Times, Seed: seed, Params: spec.Params,
		OptEvicts: func() []bool { return policies.OptEvicts(t.Objects, t.NumObjects, next, capacity) },
	})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// Ready returns the policies that work with their default parameters: not those that users make of programs and files.
// Their Bypass says what these parameters do.
func Ready() []policies.Entry {
	return slices.DeleteFunc(all(), func(e policies.Entry) bool { return e.Family == policies.Custom && e.New == nil })
}

// all returns the policies, whose Bypass says what their default parameters do.
func all() []policies.Entry {
	entries := slices.Clone(policies.Registry.All())
	for i, e := range entries {
		entries[i].Bypass = e.Bypasses(params.Defaults(e.Params))
	}
	return entries
}

// ForEach runs f for every policy that supports that unit of capacity, and for each value of its parameter rule.
func ForEach(t *testing.T, bytes bool, f func(t *testing.T, e policies.Entry)) {
	for _, e := range all() {
		if e.New == nil || bytes && e.Units == policies.UnitsObjects || !bytes && e.Units == policies.UnitsBytes {
			continue
		}
		t.Run(e.Name, func(t *testing.T) { f(t, e) })
		for _, other := range otherRules(e) {
			t.Run(other.Name+"/"+params.Defaults(other.Params).Text("rule"), func(t *testing.T) { f(t, other) })
		}
	}
}

// ForSample is ForEach for tests of what contains policies, because each policy has its own tests: under -short it runs
// f for every fourth.
func ForSample(t *testing.T, bytes bool, f func(t *testing.T, e policies.Entry)) {
	n := 0
	ForEach(t, bytes, func(t *testing.T, e policies.Entry) {
		if n++; n%brief.Of(1, 4) != 0 {
			t.Skip("-short runs every fourth policy")
		}
		f(t, e)
	})
}

// Spec names e with the rule that ForEach gave it, for tests that build the policy from a text.
func Spec(e policies.Entry) string {
	if !slices.ContainsFunc(e.Params, isRule) {
		return e.Name
	}
	return fmt.Sprintf("%s(rule=%s)", e.Name, params.Defaults(e.Params).Text("rule"))
}

func isRule(p policies.Param) bool { return p.Name == "rule" }

// otherRules returns the policy with each value of its parameter rule but the default, as the default of that entry.
func otherRules(e policies.Entry) (others []policies.Entry) {
	at := slices.IndexFunc(e.Params, isRule)
	if at < 0 {
		return nil
	}
	for _, rule := range e.Params[at].Choices {
		if rule == e.Params[at].Default {
			continue
		}
		other := e
		other.Params = slices.Clone(e.Params)
		other.Params[at].Default = rule
		if other.BypassIf != nil {
			other.Bypass = other.BypassIf(params.Defaults(other.Params))
		}
		others = append(others, other)
	}
	return others
}

// CapacityFor returns the capacity that the policy gets and that the cache enforces: room for everything if the policy
// is unbounded.
func CapacityFor(e policies.Entry, capacity int64) int64 {
	if e.Unbounded {
		return 1 << 40
	}
	return capacity
}

// Prompts makes a trace of prompts from texts in which each letter is a block. A block is identified by its letter and
// everything before it.
func Prompts(blockTokens int, texts ...string) *traces.Trace {
	t := &traces.Trace{Name: "prompts", SampleRate: 1, Kind: &prompts.Columns{BlockTokens: blockTokens}}
	numbers := map[string]uint32{}
	for i, text := range texts {
		t.Groups = append(t.Groups, len(t.Objects))
		prompts.Of(t.Kind).InputTokens = append(prompts.Of(t.Kind).InputTokens, int32(blockTokens*len(text)))
		prompts.Of(t.Kind).Arrivals = append(prompts.Of(t.Kind).Arrivals, int64(i)*1e9)
		parent := int32(-1)
		for end := range len(text) {
			o, ok := numbers[text[:end+1]]
			if !ok {
				o = uint32(len(numbers))
				numbers[text[:end+1]] = o
				prompts.Of(t.Kind).Parents = append(prompts.Of(t.Kind).Parents, parent)
			}
			t.Objects = append(t.Objects, o)
			t.Times = append(t.Times, int64(i)*1e9)
			parent = int32(o)
		}
	}
	t.NumObjects = len(numbers)
	return t
}

// RandomPrompts is a trace of n prompts of up to length blocks, drawn from a few letters.
func RandomPrompts(rng *rand.Rand, n, length, letters int) *traces.Trace {
	texts := make([]string, n)
	for i := range texts {
		text := make([]byte, 1+rng.IntN(length))
		for k := range text {
			text[k] = byte('a' + rng.IntN(1+rng.IntN(letters)))
		}
		texts[i] = string(text)
	}
	return Prompts(16, texts...)
}

// Write makes a third of the requests of t, whose objects change their sizes, writes of any size from 1 to 60.
func Write(t *traces.Trace, rng *rand.Rand) {
	t.Ops = make([]stream.Op, len(t.Objects))
	for pos := range t.Ops {
		if rng.IntN(3) == 0 {
			t.Ops[pos], t.RequestSizes[pos] = stream.OpWrite, 1+rng.Int64N(60)
		}
	}
}

// ChangeSizes makes the objects of t change their sizes from request to request.
func ChangeSizes(t *traces.Trace) {
	t.RequestSizes = make([]int64, len(t.Objects))
	seen := make([]int64, t.NumObjects)
	for i, o := range t.Objects {
		t.RequestSizes[i] = t.ObjectSizes[o] + seen[o]*int64(i)%5
		seen[o] = 1
	}
}
