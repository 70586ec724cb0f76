package read_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// TestRealPrompts compares the counts of prompts with those of other tools.
func TestRealPrompts(t *testing.T) {
	folder := os.Getenv("CACHESIM_TRACES")
	if folder == "" {
		t.Skip("CACHESIM_TRACES does not name a folder with the published traces")
	}
	for _, c := range []struct {
		files                               string
		opts                                read.Options
		sessions, prompts, blocks, distinct int
		blockTokens, inputTokens            int
	}{
		{"llm/mooncake-conversation.jsonl.zst", read.Options{}, 0, 12031, 288500, 182790, 512, 144793823},
		// Some sessions have two models, which share no blocks: with share=models 211,780 are distinct.
		{"llm/agent-sessions/*.json.gz", read.Options{Selection: read.Selection{Merge: true}}, 57, 3121, 5598039,
			211910, 64, 358371663},
		{"llm/agent-text-taubench.tar.zst", read.Options{Selection: read.Selection{Merge: true}}, 24, 471, 4958, 767,
			16, 82570},
		{"llm/agent-sessions/*.json.gz", read.Options{}, 57, 3121, 5598039, 211910, 64, 358371663},
	} {
		files := must.Get(filepath.Glob(filepath.Join(folder, c.files)))(t)
		got := must.Get(read.Load(t.Context(), files, c.opts))(t)
		tokens := 0
		for _, n := range prompts.Of(got.Kind).InputTokens {
			tokens += int(n)
		}
		p := prompts.Of(got.Kind)
		if len(got.Groups) != c.prompts || len(got.Objects) != c.blocks || got.NumObjects != c.distinct ||
			len(p.SessionKeys) != c.sessions ||
			p.BlockTokens != c.blockTokens || tokens != c.inputTokens {
			t.Errorf("%s: %d prompts of %d conversations, %d blocks of %d tokens, %d distinct, %d tokens; want %+v",
				c.files, len(got.Groups), len(p.SessionKeys), len(got.Objects), p.BlockTokens, got.NumObjects, tokens, c)
		}
		if c.opts.Merge && !slices.IsSorted(p.Arrivals) {
			t.Errorf("%s: merged by time, but arrivals go back", c.files)
		}
	}
}

// TestRealTraces reads published traces, which are not part of the repository: CACHESIM_TRACES names the folder that
// holds them. The counts come from decompressing and counting with other tools.
func TestRealTraces(t *testing.T) {
	folder := os.Getenv("CACHESIM_TRACES")
	if folder == "" {
		t.Skip("CACHESIM_TRACES does not name a folder with the published traces")
	}
	for _, c := range []struct {
		file, compression, as string
		option                string
		requests, distinct    int
	}{
		{"block/arc-oltp.lis.gz", "gzip", "arc", "", 914145, 186880},
		{"block/lirs-gli.trace.gz", "gzip", "lirs", "", 6015, 2529},
		{"block/lirs-loop.trace.gz", "gzip", "lirs", "", 505500, 1011},
		{"block/lirs-multi2.trace.gz", "gzip", "lirs", "", 26311, 5684},
		{"block/lirs-sprite.trace.gz", "gzip", "lirs", "", 133996, 7075},
		{"block/lirs-cpp.trace.gz", "gzip", "lirs", "", 9047, 1223},
		{"block/adaptsize-request.trace.xz", "xz", "seq-id-size", "", 66987, 40240},
		{"block/cloudPhysicsIO.oracleGeneral.bin.zst", "zstd", "oraclegeneral", "", 113872, 48974},
		{"block/cachelib-kv_traces_1.csv", "", "cachelib", "", 99, 52},
		{"dlrm/meta-reuse-low-500k.txt.zst", "zstd", "plain", "", 379910, 231073},
		{"dlrm/meta-reuse-medium-500k.txt.zst", "zstd", "plain", "", 429951, 102524},
		{"dlrm/movietweetings-ratings.dat.zst", "zstd", "rating", "", 100000, 10506},
		{"dlrm/movietweetings-ratings.dat.zst", "zstd", "rating", "rating:key=user", 100000, 16554},
		{"learned/brightkite.tar.xz", "xz", "plain", "", 210000, 26142},
		{"llm/mooncake-conversation.jsonl.zst", "zstd", "mooncake", "", 288500, 182790},
		{"files/imagenet-10percent-names.txt.zst", "zstd", "plain", "", 128116, 128116},
	} {
		t.Run(c.file, func(t *testing.T) {
			s := must.Get(read.Open(filepath.Join(folder, c.file),
				read.Options{Selection: read.Selection{Format: c.option}}))(t)
			defer s.Close()
			if s.Info.Format != c.as || s.Info.Compression != c.compression {
				t.Errorf("read as %q in %q, want %q in %q", s.Info.Format, s.Info.Compression, c.as, c.compression)
			}
			records := must.Get(tracetest.Drain(s))(t)
			distinct := map[stream.Key]bool{}
			for _, r := range records {
				distinct[stream.Key{Num: r.Num, Text: string(r.Text)}] = true
			}
			if len(records) != c.requests || len(distinct) != c.distinct {
				t.Errorf("%d requests, %d distinct, want %d, %d", len(records), len(distinct), c.requests, c.distinct)
			}
			if done, total := s.Progress(); done != total || total == 0 {
				t.Errorf("progress at the end: %d of %d bytes", done, total)
			}
		})
	}
}
