package tiers

import (
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// TestDescribedTiers: what a hierarchy says of its tiers without a replay is what it has, to a block of prompts.
func TestDescribedTiers(t *testing.T) {
	chats := policytest.RandomPrompts(rand.New(rand.NewPCG(1, 1)), 100, 12, 2)
	memory := must.Get(must.Get(llm.Parse("layers=4,kv-heads=2,head-size=8"))(t).KeyValues())(t)
	must.Do(t, prompts.Of(chats.Kind).SetMemory(memory, false, chats.Objects, chats.Groups))
	block := prompts.Of(chats.Kind).Memory.BlockBytes
	files := policytest.Trace(1, 500, 100)
	for _, test := range []struct {
		kind   string
		names  []string
		shared int // the first tier that nodes share
	}{
		{"tiers(host=2.5x)", []string{"", "host"}, 2},
		{"tiers(hbm=64KiB,host=129KiB,ssd=50%,remote=400,shared=ssd)", []string{"hbm", "host", "ssd", "remote"}, 2},
		{"tiers(memory=64KiB,flash=20%,disk=1MiB,mode=write-through)", []string{"memory", "flash", "disk"}, 3},
	} {
		spec := must.Get(cache.Registry.Parse(test.kind))(t)
		of := must.Get(spec.Entry.Tiers(spec.Params))(t)
		if len(of) != len(test.names) {
			t.Fatalf("%s: %+v", test.kind, of)
		}
		for _, unit := range []int64{block, 1} {
			tr, first := chats, 64*1024/block
			if unit == 1 {
				tr, first = files, 64*1024
			}
			c := configOf(t, tr, test.kind, "lru", first, unit != 1)
			c.BlockBytes = block * (unit / block)
			_, sizes, err := tiersOf(c)
			must.Do(t, err)
			for i, tier := range of {
				bytes := must.Get(tier.Bytes(tr, 64*1024))(t)
				if tier.Name != test.names[i] || tier.Shared != (i >= test.shared) || bytes/unit != sizes[i] {
					t.Errorf("%s of %s: %+v has %d bytes, want %d units", test.kind, tr.Name, tier, bytes, sizes[i])
				}
			}
		}
	}
}
