package prefix_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// tracePage is how many tokens stand for those of a block of a trace: as few as differ in whether a block is full, and
// whether it has more than its first token.
const tracePage = 3

// ofTrace returns a trace as what the scripts replay, one prompt at a time: block after block, whose tokens have the
// numbers of the block, and what is left of a block that is not full.
func ofTrace(tr *traces.Trace, blocks int) (w engineWorkload) {
	w.Page, w.Blocks = tracePage, blocks
	columns := prompts.Of(tr.Kind)
	left := func(tokens int64) int { return int(min(tokens%int64(columns.BlockTokens), tracePage-1)) }
	for i := range tr.Groups {
		group, _ := tr.Group(i)
		tokens, full := int64(columns.InputTokens[i]), columns.Full(i, group)
		kept := full + columns.AnswerBlocks(i)
		var all []int
		for _, o := range group[:kept] {
			for k := range tracePage {
				all = append(all, int(o)*tracePage+k)
			}
		}
		for range left(columns.Written(i)) {
			all = append(all, -1-len(all))
		}
		length := full*tracePage + left(tokens)
		for len(all) < length {
			all = append(all, -1-len(all))
		}
		prompt, answer := append([]int{}, all[:length]...), append([]int{}, all[length:]...)
		if columns.Written(i) > tokens {
			answer = append(answer, 0) // of which nothing is computed
		}
		w.Prompts = append(w.Prompts, [2][]int{prompt, answer})
		w.Events = append(w.Events, i, -1-i)
	}
	return w
}

// TestEnginesOnMooncake: the engines' own code finds the same blocks of each of the Mooncake conversations, with
// answers as far as they are known from the next turn.
func TestEnginesOnMooncake(t *testing.T) {
	dir := os.Getenv("CACHESIM_TRACES")
	if dir == "" {
		t.Skip("needs the folder of the traces in CACHESIM_TRACES")
	}
	all := must.Get(read.Load(t.Context(), []string{filepath.Join(dir, "llm", "mooncake-conversation.jsonl.zst")},
		read.Options{}))(t)
	for _, engine := range []struct {
		name    string
		answers string
		rules   map[string]map[string]any // by our name
	}{
		{"sglang", prompts.AnswersKept, map[string]map[string]any{
			"sglang-lru": {"name": "lru"}, "sglang-lfu": {"name": "lfu"}, "sglang-fifo": {"name": "fifo"},
			"sglang-slru": {"name": "slru"}, "sglang-mru": {"name": "mru"}, "sglang-filo": {"name": "filo"},
			"sglang-tlru": {"name": "tlru", "threshold": 4 * tracePage}}},
		{"lmcache", prompts.AnswersOff, map[string]map[string]any{
			"lmcache-lru": {"name": "lru", "save_decode_cache": false}, "lmcache-lfu": {"name": "lfu",
				"save_decode_cache": false}, "lmcache-fifo": {"name": "fifo", "save_decode_cache": false},
			"lmcache-mru": {"name": "mru", "save_decode_cache": false}}},
	} {
		t.Run(engine.name, func(t *testing.T) {
			replay := withEngine(t, engine.name)
			tr := must.Get(all.WithAnswers(engine.answers))(t)
			columns := prompts.Of(tr.Kind)
			w := ofTrace(tr, 9139)
			for policy, rule := range engine.rules {
				w.Policy = rule
				want, ours, total := replay(w), newEngine(t, tr, policy, w.Blocks), int64(0)
				var n cache.Counts
				for i := range tr.Groups {
					got := ours.Begin(i, &n)
					if blocks := int64(columns.BlockTokens); got/blocks != want[i]/tracePage {
						t.Fatalf("%s: prompt %d finds %d blocks, the engine's %d", policy, i, got/blocks, want[i]/tracePage)
					}
					ours.Finish(i)
					total += got
				}
				t.Logf("%s finds %d tokens, as the engine does", policy, total)
			}
		})
	}
}
