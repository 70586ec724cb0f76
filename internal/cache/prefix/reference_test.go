package prefix_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// The source counts every block that hits as full, so that prompts may have more tokens that hit than they have.
func TestPrefixLRUOnMooncakeIsAsPublished(t *testing.T) {
	traceDir, numberDir := simtest.ReferenceFolders(t)
	tr := must.Get(read.Load(t.Context(), []string{filepath.Join(traceDir, "llm", "mooncake-conversation.jsonl.zst")},
		read.Options{}))(t)
	capacities := map[string]int64{
		"16K":       32,
		"64K":       128,
		"256K":      512,
		"1M":        2048,
		"4M":        8192,
		"16M":       32768,
		"unbounded": int64(tr.NumObjects),
	}
	compared := 0
	for _, row := range simtest.ReadTable(t, filepath.Join(numberDir, "learned-and-llm-published.tsv")) {
		if row["anchor"] != "token_hit_pct" {
			continue
		}
		capacity, ok := capacities[strings.Fields(row["setting"])[1]]
		if !ok {
			t.Fatalf("setting %q: an unknown capacity", row["setting"])
		}
		warmup := 0
		if strings.Contains(row["setting"], "last 50%") {
			warmup = len(tr.Groups) / 2
		}
		n := simtest.Counts(simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup}),
			prefixCell(t, "prefix(evict=any)", "lru", "", capacity)).Values)
		full := 100 * float64(n.Hits) * float64(prompts.Of(tr.Kind).BlockTokens) / float64(n.Tokens)
		if got := fmt.Sprintf("%.1f", full); got != row["value"] {
			t.Errorf("%s: %s%%, published are %s%%", row["setting"], got, row["value"])
		}
		if published, _ := strconv.ParseFloat(row["value"], 64); 100*float64(n.HitTokens)/float64(n.Tokens) < published-0.08 {
			t.Errorf("%s: %d of %d tokens hit, far below %s%%", row["setting"], n.HitTokens, n.Tokens, row["value"])
		}
		compared++
	}
	if compared != 14 {
		t.Errorf("%d numbers compared, want 14", compared)
	}
}
