package tiers

import (
	"testing"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// conversations is a long trace of growing prompts: each goes on one of 2000 conversations.
func conversations() *traces.Trace {
	columns := &prompts.Columns{BlockTokens: 16}
	t := &traces.Trace{Name: "conversations", SampleRate: 1, Kind: columns}
	chains := make([][]uint32, 2000)
	for i := 0; len(t.Objects) < 2_000_000; i++ {
		chain := &chains[(i*i+i/7)%len(chains)]
		if len(*chain) > 60 {
			*chain = nil
		}
		for range 4 {
			parent := int32(-1)
			if n := len(*chain); n > 0 {
				parent = int32((*chain)[n-1])
			}
			columns.Parents = append(columns.Parents, parent)
			*chain = append(*chain, uint32(t.NumObjects))
			t.NumObjects++
		}
		t.Groups = append(t.Groups, len(t.Objects))
		t.Objects = append(t.Objects, *chain...)
		columns.InputTokens = append(columns.InputTokens, int32(16*len(*chain)))
	}
	return t
}

// BenchmarkTiers replays prompts and objects through one and three tiers, the first of a twentieth of the objects.
func BenchmarkTiers(b *testing.B) {
	for name, t := range map[string]*traces.Trace{"prompts": conversations(), "objects": policytest.Trace(1, 1_000_000,
		100_000)} {
		t.Times = nil
		starts := groupsOf(t)
		for _, kind := range []string{"tiers(hbm=5%)", "tiers(host=2x,ssd=4x)", "tiers(host=2x,ssd=4x,mode=inclusive)",
			"tiers(host=2x,ssd=4x,mode=write-through)", "tiers(host=2x,ssd=4x,mode=write-back)"} {
			if kind == "tiers(hbm=5%)" {
				kind = "tiers(hbm=5000)"
				if name == "prompts" {
					kind = "tiers(hbm=13000)"
				}
			}
			b.Run(name+"/"+kind, func(b *testing.B) {
				w := cache.WindowOf(t, 0, starts[len(starts)-1], false, nil)
				for b.Loop() {
					b.StopTimer()
					c := newCache(b, t, kind, "lru", int64(t.NumObjects/20), true)
					b.StartTimer()
					var n cache.Counts
					c.Serve(w, &n)
				}
				b.ReportMetric(float64(b.N)*float64(len(t.Objects))/1e6/b.Elapsed().Seconds(), "M/s")
			})
		}
	}
}
