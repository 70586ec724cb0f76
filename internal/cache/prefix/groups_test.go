package prefix

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// hybridHits are the tokens that hit, of all, in the classes HybridKVCacheCoordinator and BlockPool of vLLM 0.33.0
// (PyPI) themselves, with everything but vllm/v1/core and kv_cache_interface.py replaced by stubs: 500 prompts, one
// after another, in a pool of so many blocks, in chunks of 8,192 tokens. Prompts are those of conversationsOf.
var hybridHits = []struct {
	model        string
	seed         uint64
	blocks       int
	hits, tokens int64
}{
	{"gpt-oss-120b", 1, 700, 153616, 419518},
	{"gpt-oss-120b", 1, 2000, 261440, 419518},
	{"gpt-oss-120b", 1, 6000, 274672, 419518},
	{"gpt-oss-120b", 2, 700, 126256, 309204},
	{"gpt-oss-120b", 2, 2000, 176848, 309204},
	{"gpt-oss-120b", 2, 6000, 177408, 309204},
	{"gpt-oss-120b", 3, 700, 158688, 362678},
	{"gpt-oss-120b", 3, 2000, 225696, 362678},
	{"gpt-oss-120b", 3, 6000, 232304, 362678},
	{"gemma-3-27b", 1, 2600, 140880, 419518},
	{"gemma-3-27b", 1, 9000, 263552, 419518},
	{"gemma-3-27b", 1, 40000, 280000, 419518},
	{"gemma-3-27b", 2, 2600, 116096, 309204},
	{"gemma-3-27b", 2, 9000, 181664, 309204},
	{"gemma-3-27b", 2, 40000, 183056, 309204},
	{"gemma-3-27b", 3, 2600, 148064, 362678},
	{"gemma-3-27b", 3, 9000, 227632, 362678},
	{"gemma-3-27b", 3, 40000, 234704, 362678},
	{"qwen3.5-27b", 1, 40, 72912, 419518},
	{"qwen3.5-27b", 1, 120, 108976, 419518},
	{"qwen3.5-27b", 1, 400, 108976, 419518},
	{"qwen3.5-27b", 2, 40, 50176, 309204},
	{"qwen3.5-27b", 2, 120, 50960, 309204},
	{"qwen3.5-27b", 2, 400, 50960, 309204},
	{"qwen3.5-27b", 3, 40, 58800, 362678},
	{"qwen3.5-27b", 3, 120, 77616, 362678},
	{"qwen3.5-27b", 3, 400, 77616, 362678},
	{"nemotron-3-nano", 1, 30, 2096, 419518},
	{"nemotron-3-nano", 1, 60, 2096, 419518},
	{"nemotron-3-nano", 1, 200, 2096, 419518},
	{"nemotron-3-nano", 2, 30, 2096, 309204},
	{"nemotron-3-nano", 2, 60, 2096, 309204},
	{"nemotron-3-nano", 2, 200, 2096, 309204},
	{"nemotron-3-nano", 3, 30, 8384, 362678},
	{"nemotron-3-nano", 3, 60, 8384, 362678},
	{"nemotron-3-nano", 3, 200, 8384, 362678},
}

// conversationsOf returns a trace of conversations with shared beginnings, forks and retries in blocks of 16 tokens.
// The generator of numbers is simple enough to be written in Python, too.
func conversationsOf(seed uint64, count int) *traces.Trace {
	next := 0
	random := func(n int) int {
		seed = seed*6364136223846793005 + 1442695040888963407
		return int((seed >> 33) % uint64(n))
	}
	more := func(blocks []uint32, n int) []uint32 {
		for range n {
			blocks = append(blocks, uint32(next))
			next++
		}
		return blocks
	}
	var systems [][]uint32
	for range 3 {
		systems = append(systems, more(nil, 2+random(20)))
	}
	columns := &prompts.Columns{BlockTokens: 16}
	t := &traces.Trace{Name: "conversations", SampleRate: 1, Kind: columns}
	var all [][]uint32
	for range count {
		at := len(all)
		if at > 0 && random(10) < 7 {
			at = len(all) - 1 - random(min(len(all), 30))
		} else {
			var begun []uint32
			if random(5) > 0 {
				begun = slices.Clone(systems[random(3)])
			}
			all = append(all, begun)
		}
		if random(10) == 0 && len(all[at]) > 4 {
			fork := slices.Clone(all[at][:1+random(len(all[at]))])
			all = append(all, fork)
			at = len(all) - 1
		}
		all[at] = more(all[at], 1+random(30))
		all[at] = all[at][:min(len(all[at]), 300)]
		blocks, tokens := slices.Clone(all[at]), 16*len(all[at])
		if random(5) < 3 {
			blocks = more(blocks, 1)
			tokens += 1 + random(15)
		}
		t.Groups = append(t.Groups, len(t.Objects))
		t.Objects = append(t.Objects, blocks...)
		columns.InputTokens = append(columns.InputTokens, int32(tokens))
	}
	t.NumObjects = next
	return t
}

func poolOfModel(t must.TB, model string, tokens int) llm.Pool {
	kv := must.Get(must.Get(llm.Parse("model=" + model))(t).KeyValues())(t)
	pool, ok := kv.Pool(tokens)
	if !ok {
		t.Fatal(model)
	}
	return pool
}

// serveAll serves the prompts of a trace one after another and returns the tokens that hit, and all.
func serveAll(s *grouped, t *traces.Trace) (hits, tokens int64) {
	var n cache.Counts
	for i := range t.Groups {
		blocks, _ := t.Group(i)
		input := int(prompts.Of(t.Kind).InputTokens[i])
		p := Prompt{Tokens: input, Blocks: blocks[:input/16], Reusable: (input - 1) / 16, Apart: input%16 > 0}
		found, h := s.begin(p, &n)
		s.Finish(p.Blocks, h)
		hits, tokens = hits+int64(found)*16, tokens+int64(input)
	}
	return hits, tokens
}

func TestGroupsAreThoseOfVLLM(t *testing.T) {
	for _, want := range hybridHits {
		trace := conversationsOf(want.seed, 500)
		s := groupedOf(trace, poolOfModel(t, want.model, 16), float64(want.blocks))
		if hits, tokens := serveAll(s, trace); hits != want.hits || tokens != want.tokens {
			t.Errorf("%s, seed %d, %d blocks: %d of %d tokens hit; vLLM has %d of %d", want.model, want.seed, want.blocks, hits,
				tokens, want.hits, want.tokens)
		}
	}
}

// TestGroupsLoseNoBlock: whatever comes, and however many prompts run, every block of the pool is held or free, and
// what it keeps is found.
func TestGroupsLoseNoBlock(t *testing.T) {
	models := []string{"gpt-oss-20b", "gemma-2-2b", "gemma-3-1b", "qwen3.5-35b-a3b", "llama-4-scout"}
	pools := map[string]llm.Pool{}
	for _, model := range models {
		pools[model] = poolOfModel(t, model, 16)
	}
	rapid.Check(t, func(t *rapid.T) {
		trace := conversationsOf(rapid.Uint64().Draw(t, "seed"), 40)
		pool := pools[rapid.SampledFrom(models).Draw(t, "model")]
		s := groupedOf(trace, pool, float64(rapid.IntRange(0, 3000).Draw(t, "blocks")))
		var n cache.Counts
		var running []Held
		for i := range trace.Groups {
			blocks, _ := trace.Group(i)
			input := int(prompts.Of(trace.Kind).InputTokens[i])
			p := Prompt{Tokens: input, Blocks: blocks[:input/16], Reusable: (input - 1) / 16}
			hits, h := s.begin(p, &n)
			if hits > p.Reusable {
				t.Fatalf("%d of %d blocks hit", hits, p.Reusable)
			}
			if running = append(running, h); len(running) > rapid.IntRange(0, 3).Draw(t, "running") {
				s.Finish(nil, running[0])
				running = running[1:]
			}
			checkGroups(t, s)
		}
		for _, h := range running {
			s.Finish(nil, h)
		}
		if checkGroups(t, s); s.free != len(s.keys) || s.Locked() != 0 {
			t.Fatalf("%d of %d blocks are free", s.free, len(s.keys))
		}
	})
}

func checkGroups(t *rapid.T, s *grouped) {
	free, held, kept := 0, 0, 0
	for b := s.next[len(s.keys)]; int(b) < len(s.keys); b = s.next[b] {
		if free++; s.users[b] != 0 {
			t.Fatalf("block %d is free and in use", b)
		}
	}
	for b, users := range s.users {
		if users > 0 {
			held++
		}
		if s.keys[b] != noBlock {
			kept++
		}
	}
	found := 0
	for _, b := range s.at {
		for ; b != noBlock; b = s.copies[b] {
			found++
		}
	}
	if free != s.free || free+held != len(s.keys) || kept != found {
		t.Fatalf("%d free (%d in the list), %d held of %d; %d keep something, %d are found", s.free, free, held,
			len(s.keys), kept, found)
	}
}
