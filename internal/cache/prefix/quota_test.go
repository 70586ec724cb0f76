package prefix_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/prefix"
)

// TestQuotas: chunks that exceed a quota until the next sweep are those of LMCache's rules, written down: a list with
// the chunk that leaves first in front, to whose end a prompt moves what it finds and then what it stores, both from
// the last chunk to the first. TestLMCacheQuotas holds them to LMCache's own code, where that is present.
func TestQuotas(t *testing.T) {
	found, exceeded, swept := 0, 0, 0
	forEngineWorkloads(t, 6, func(seed uint64, p *tokenPrompts, page, capacity int, _ func() bool) {
		rng := rand.New(rand.NewPCG(seed, 54))
		c := configOf(t, p.trace, "lmcache-lru", rng.IntN(2)*capacity)
		c.Sweep = &allocate.Sweep{Every: 1 + rng.Int64N(5), Watermark: rng.Float64(), Ratio: max(1e-6, rng.Float64())}
		p.trace.Times = make([]int64, len(p.trace.Objects))
		now, at := int64(0), make([]int64, len(p.tokens))
		for i := range p.tokens {
			now += rng.Int64N(4)
			_, first := p.trace.Group(i)
			p.trace.Times[first], at[i] = now, now
		}
		ours := must.Get(prefix.New(c))(t)
		var n cache.Counts
		var stored []string
		now = 0
		for i, tokens := range p.tokens {
			for ; now < at[i]; now++ {
				if over := float64(len(stored)) >= c.Sweep.Watermark*float64(c.Capacity); !over || (now+1)%c.Sweep.Every != 0 {
					continue
				}
				victims := len(stored)
				if c.Capacity > 0 {
					victims = min(victims, max(1, int(float64(victims)*c.Sweep.Ratio)))
				}
				stored = stored[victims:]
				swept += victims
			}
			var keys []string
			for end := page; end <= len(tokens); end += page {
				keys = append(keys, fmt.Sprint(tokens[:end]))
			}
			hits := 0
			for hits < len(keys) && slices.Contains(stored, keys[hits]) {
				hits++
			}
			stored = slices.DeleteFunc(stored, func(key string) bool { return slices.Contains(keys[:hits], key) })
			behind := slices.DeleteFunc(slices.Clone(keys[hits:]), func(key string) bool { return slices.Contains(stored, key) })
			slices.Reverse(keys[:hits])
			slices.Reverse(behind)
			stored = append(append(stored, keys[:hits]...), behind...)
			if got := ours.Begin(i, &n); got != int64(hits*page) || ours.Used() != int64(len(stored)) {
				t.Fatalf("seed %d, quota %d, %+v: prompt %d finds %d tokens and leaves %d chunks, want %d and %d", seed,
					c.Capacity, *c.Sweep, i, got, ours.Used(), hits*page, len(stored))
			}
			found += hits
			exceeded += max(0, len(stored)-int(c.Capacity))
		}
	})
	if found == 0 || exceeded == 0 || swept == 0 {
		t.Errorf("%d chunks found, %d above quotas, %d swept: nothing is tested of one", found, exceeded, swept)
	}
}
