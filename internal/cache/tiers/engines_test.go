package tiers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/engines"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// insideOf returns the policy that an engine's name is short for.
func insideOf(tb must.TB, name string, v policies.Values) policies.Spec {
	tb.Helper()
	i := slices.IndexFunc(engines.Entries, func(e policies.Entry) bool { return e.Name == name })
	e := engines.Entries[i]
	for _, p := range e.Params {
		if _, set := v[p.Name]; !set {
			v[p.Name] = p.Default
		}
	}
	_, _, inside := e.ShortFor(v)
	return inside
}

// runningCache is a cache that serves prompts which run at the same time.
type runningCache interface {
	Begin(prompt int, n *cache.Counts) (hitTokens int64)
	Finish(prompt int)
}

func newRunning(tb must.TB, t *traces.Trace, kind string, policy policies.Spec, capacity int64) runningCache {
	tb.Helper()
	spec := must.Get(cache.Registry.Parse(kind))(tb)
	return must.Get(spec.Entry.New(cache.Config{Trace: t, Capacity: capacity, Unit: true, Params: spec.Params,
		Policy: policy}))(tb).(runningCache)
}

// partialPrompts are prompts whose last blocks are often not full, with times.
func partialPrompts(rng *rand.Rand) *traces.Trace {
	t := policytest.RandomPrompts(rng, 80, 6, 4)
	columns, now := prompts.Of(t.Kind), int64(0)
	for i := range columns.InputTokens {
		if rng.IntN(2) == 0 {
			columns.InputTokens[i] -= int32(rng.IntN(columns.BlockTokens))
		}
		now += rng.Int64N(20) * 1e6
		blocks, _ := t.Group(i)
		for range blocks {
			t.Times = append(t.Times, now)
		}
	}
	return t
}

func engineOf(tb must.TB, seed uint64) (name string, spec policies.Spec) {
	names := []string{"vllm", "tensorrt-llm", "length-aware", "lru"}
	switch name = names[seed%4]; name {
	case "lru":
		return name, must.Get(policies.Registry.Parse(name))(tb)
	case "tensorrt-llm":
		return name, insideOf(tb, name, params.Values{"ranges": "0-32:80@60ms/32-64:50@40ms"})
	}
	return name, insideOf(tb, name, policies.Values{})
}

// TestOneTierEndsPromptsAsThePrefixCache compares a single tier with the prefix cache where the last blocks of prompts
// are not kept or do not hit, prompt by prompt.
func TestOneTierEndsPromptsAsThePrefixCache(t *testing.T) {
	oversized := int64(0)
	for seed := range brief.Of[uint64](400, 80) {
		rng := rand.New(rand.NewPCG(seed, 41))
		tr, capacity := partialPrompts(rng), 1+rng.Int64N(25)
		name, policy := engineOf(t, seed)
		last := prefix.LastParam.Choices[rng.IntN(len(prefix.LastParam.Choices))]
		alone := newRunning(t, tr, "prefix(last="+last+")", policy, capacity)
		one := newRunning(t, tr, fmt.Sprintf("tiers(hbm=%d,last=%s)", capacity, last), policy, capacity)
		var want, got cache.Counts
		serveBoth(tr, rng, func(prompt int) {
			alone.Begin(prompt, &want)
			if one.Begin(prompt, &got); got != want {
				t.Fatalf("seed %d, %s, last=%s, capacity %d, prompt %d: %+v, want %+v", seed, name, last, capacity, prompt, got,
					want)
			}
		}, func(prompt int) {
			alone.Finish(prompt)
			one.Finish(prompt)
		})
		oversized += got.Oversized
	}
	if oversized == 0 {
		t.Error("all prompts fitted: nothing is tested of the others")
	}
}

// serveBoth begins prompts one after another, and ends each that runs at random.
func serveBoth(t *traces.Trace, rng *rand.Rand, begin, finish func(prompt int)) {
	var running []int
	for prompt := range t.Groups {
		begin(prompt)
		running = append(running, prompt)
		running = slices.DeleteFunc(running, func(k int) bool {
			ends := rng.IntN(2) == 0
			if ends {
				finish(k)
			}
			return ends
		})
	}
}

// TestWrittenThroughTiersAreCachesOfTheirOwn: with write-through, each tier is what it is alone, and a prompt hits as
// far as one of them has it. Only the first tier computes something, so a last block that does not hit there is only
// renewed below.
func TestWrittenThroughTiersAreCachesOfTheirOwn(t *testing.T) {
	below := int64(0)
	for seed := range brief.Of[uint64](400, 80) {
		rng := rand.New(rand.NewPCG(seed, 43))
		tr, hbm := partialPrompts(rng), 1+rng.Int64N(25)
		host := 1 + rng.Int64N(60)
		name, policy := engineOf(t, seed)
		both := newRunning(t, tr, fmt.Sprintf("tiers(hbm=%d,host=%d,mode=write-through,last=computed)", hbm, host), policy,
			hbm)
		first := newRunning(t, tr, "prefix(last=computed)", policy, hbm)
		second := newRunning(t, tr, "prefix(last=full)", policy, host)
		var n, ofFirst, ofSecond cache.Counts
		serveBoth(tr, rng, func(prompt int) {
			got := both.Begin(prompt, &n)
			alone := first.Begin(prompt, &ofFirst)
			reusable := int64(prompts.Of(tr.Kind).InputTokens[prompt]-1) / 16 * 16
			want := max(alone, min(second.Begin(prompt, &ofSecond), reusable))
			if got != want {
				t.Fatalf("seed %d, %s, tiers of %d and %d, prompt %d: %d tokens hit, want %d", seed, name, hbm, host, prompt, got,
					want)
			}
			below += want - alone
		}, func(prompt int) {
			both.Finish(prompt)
			first.Finish(prompt)
			second.Finish(prompt)
		})
		h := &both.(*chains).hierarchy
		if got, want := h.levels[0].hitTokens, ofFirst.HitTokens; got != want {
			t.Fatalf("seed %d, %s: %d tokens hit in the first tier, want %d", seed, name, got, want)
		}
		for i, alone := range []runningCache{first, second} {
			for o := range policies.Object(tr.NumObjects) {
				if got, want := h.levels[i].pool.Has(o), alone.(*prefix.Cache).Has(o); got != want {
					t.Fatalf("seed %d, %s: tier %d has block %d: %v, want %v", seed, name, i, o, got, want)
				}
			}
		}
	}
	if below == 0 {
		t.Error("nothing hit below the first tier: nothing is tested of that")
	}
}
