package prefix_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/processor"
	"github.com/cachesim/cachesim/internal/sim"
	_ "github.com/cachesim/cachesim/internal/sim/all"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// benchPrompts returns the Mooncake conversations, or nil where they are not at hand.
func benchPrompts(b *testing.B) *traces.Trace {
	dir := os.Getenv("CACHESIM_TRACES")
	if dir == "" {
		return nil
	}
	return must.Get(read.Load(b.Context(), []string{filepath.Join(dir, "llm", "mooncake-conversation.jsonl.zst")},
		read.Options{}))(b)
}

// longPrompts are a million blocks of prompts of a thousand each, which policies search for leaves.
func longPrompts(b *testing.B) *traces.Trace {
	spec := must.Get(gen.Parse("llm(prompts=1000,conversations=100,prompt-mean=16000)", ""))(b)
	g := must.Get(gen.New(b.Context(), spec, nil))(b)
	return must.Get(read.LoadReader(b.Context(), "long", g, g.Fields, int64(g.Requests()), read.Options{}))(b)
}

// BenchmarkPrefix replays prompts through a prefix cache of a twentieth of the blocks. The aim of policies that do not
// choose among leaves, arc to w-tinylfu, is three times as long as lru.
func BenchmarkPrefix(b *testing.B) {
	rows := []struct{ cache, policy string }{
		{"prefix", "lru"}, {"prefix(evict=node)", "lru"}, {"prefix(evict=any)", "lru"},
		{"prefix", "arc"}, {"prefix", "lirs"}, {"prefix", "s3fifo"}, {"prefix", "sieve"}, {"prefix", "w-tinylfu"},
		{"prefix", "fifo"}, {"prefix", "opt"}, {"prefix", "fpb"}, {"prefix", "laru"},
		{"prefix", "vllm"}, {"prefix", "sglang-lru"}, {"prefix", "sglang-lfu"}, {"prefix", "sglang-fifo"},
		{"prefix", "tensorrt-llm(ranges=0-1024:80)"}, {"prefix", "lmcache-lru"}, {"prefix", "lmcache-lfu"},
	}
	for name, t := range map[string]*traces.Trace{"generated": conversations(b), "long": longPrompts(b),
		"mooncake": benchPrompts(b)} {
		if t == nil {
			b.Logf("%s: set CACHESIM_TRACES to the folder of the traces", name)
			continue
		}
		for _, row := range rows {
			b.Run(name+"/"+row.cache+"/"+row.policy, func(b *testing.B) {
				c := prefixCell(b, row.cache, row.policy, "oracle", int64(t.NumObjects/20))
				r, before := sim.NewReplayer(t, sim.ReplayerOptions{}), processor.Time()
				for b.Loop() {
					must.Get(r.Replay(b.Context(), c))(b)
				}
				b.ReportMetric(float64(b.N)*float64(len(t.Objects))/1e6/(processor.Time()-before).Seconds(), "Mblocks/s")
			})
		}
	}
}

// conversations is a long trace of growing prompts: each goes on one of 2000 conversations.
func conversations(b *testing.B) *traces.Trace {
	b.Helper()
	t := &traces.Trace{Name: "conversations", SampleRate: 1, Kind: &prompts.Columns{BlockTokens: 16}}
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
			prompts.Of(t.Kind).Parents = append(prompts.Of(t.Kind).Parents, parent)
			*chain = append(*chain, uint32(t.NumObjects))
			t.NumObjects++
		}
		t.Groups = append(t.Groups, len(t.Objects))
		t.Objects = append(t.Objects, *chain...)
		prompts.Of(t.Kind).InputTokens = append(prompts.Of(t.Kind).InputTokens, int32(16*len(*chain)))
	}
	return t
}
