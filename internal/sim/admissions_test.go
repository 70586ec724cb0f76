package sim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

// TestAdmissionsInEveryCache: an admission that admits everything changes no count of a cache, one that admits nothing
// keeps it empty, and each miss that is not loaded is counted.
func TestAdmissionsInEveryCache(t *testing.T) {
	files := simtest.Reads(t, 600, 40, time.Second)
	asked, talk := simtest.Queries(1, 600, 5, 0.1), simtest.Conversations(20)
	for _, of := range []struct {
		trace         *traces.Trace
		cache, policy string
	}{
		{files, "exact", "lru"}, {files, "exact", "s3fifo"}, {files, "igtcache(prefetch=off)", "lru"},
		{files, "igtcache(prefetch=off)", "s3fifo"},
		{files, "sets(ways=4,slabs=1)", "lru"}, {files, "sets(ways=4,slabs=1)", "s3fifo"},
		{asked, "semantic", "lru"}, {asked, "semantic", "arc"}, {asked, "semantic(match=identity)", "lru"},
		{talk, "prefix", "lru"}, {talk, "prefix", "s3fifo"}, {talk, "prefix(evict=any)", "lru"},
		{talk, "prefix(evict=node)", "sglang-lru"}, {talk, "prefix(evict=chunk)", "lmcache-lru"},
		{talk, "prefix", "vllm"}, {talk, "prefix(concurrency=4,last=computed)", "lru"},
	} {
		t.Run(of.cache+"/"+of.policy, func(t *testing.T) {
			t.Parallel()
			run := func(parts ...string) records.Record {
				c := simtest.Cell(t, of.policy, capacity.Of(24, false), append(parts, "cache="+of.cache)...)
				return simtest.Replay(t, sim.NewReplayer(of.trace, sim.ReplayerOptions{}), c).Record
			}
			plain, all, none := run(), run("admission=second(n=1)"), run("admission=second(n=255)")
			if simtest.Counts(all.Values) != simtest.Counts(plain.Values) || all.Float(cache.NotAdmitted) != 0 {
				t.Errorf("where everything is admitted: %+v, without an admission %+v", simtest.Counts(all.Values),
					simtest.Counts(plain.Values))
			}
			n := simtest.Counts(none.Values)
			if n.Hits > hitsInBatches(of.cache, of.trace) || n.Evictions != 0 || none.Float(cache.NotAdmitted) == 0 {
				t.Errorf("where nothing is admitted: %+v, %g not admitted", n, none.Float(cache.NotAdmitted))
			}
			if kept := run("admission=second"); kept.Float(cache.NotAdmitted) == 0 {
				t.Error("second keeps nothing out")
			}
		})
	}
}

// hitsInBatches returns the hits of an empty cache: those of requests whose object was fetched for the same batch.
func hitsInBatches(kind string, t *traces.Trace) (hits int64) {
	const batch = 128
	for from := 0; strings.HasPrefix(kind, "sets") && from < len(t.Objects); from += batch {
		of := slices.Clone(t.Objects[from:min(from+batch, len(t.Objects))])
		slices.Sort(of)
		hits += int64(len(of) - len(slices.Compact(of)))
	}
	return hits
}

// TestAdmissionOfPrompts: a naive LRU of prompts keeps a block from its second request on, and none behind one that is
// neither resident nor admitted.
func TestAdmissionOfPrompts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := simtest.Conversations(rapid.IntRange(1, 12).Draw(t, "conversations"))
		room := rapid.IntRange(1, 60).Draw(t, "room")
		requested := map[uint32]int{}
		var list []uint32 // the block to evict first comes last
		var hits, refused int64
		for prompt := range trace.Groups {
			blocks, _ := trace.Group(prompt)
			for _, o := range blocks {
				requested[o]++
			}
			run := 0
			for run < len(blocks) && slices.Contains(list, blocks[run]) {
				run++
			}
			hits += int64(run)
			kept := run
			for kept < len(blocks) && requested[blocks[kept]] > 1 {
				kept++
			}
			if kept < len(blocks) {
				refused++
			}
			list = afterPrompt(list, blocks[:min(kept, room)], room)
		}
		c := simtest.Cell(t, "lru", capacity.Of(int64(room), false), "cache=prefix", "admission=second")
		rec := simtest.Replay(t, sim.NewReplayer(trace, sim.ReplayerOptions{}), c).Record
		if n := simtest.Counts(rec.Values); n.Hits != hits || rec.Float(cache.NotAdmitted) != float64(refused) {
			t.Fatalf("%d hits, %g not admitted; want %d and %d", n.Hits, rec.Float(cache.NotAdmitted), hits, refused)
		}
	})
}

// afterPrompt returns what LRU has, in the order of last requests, after a prompt whose first block is to leave last.
func afterPrompt(list, prompt []uint32, room int) []uint32 {
	list = slices.DeleteFunc(list, func(o uint32) bool { return slices.Contains(prompt, o) })
	list = slices.Concat(prompt, list)
	return list[:min(len(list), room)]
}

// TestAdmissionsThatCachesRefuse: what does not work together is said, with what does.
func TestAdmissionsThatCachesRefuse(t *testing.T) {
	files := simtest.Reads(t, 100, 10, time.Second)
	for parts, want := range map[string]string{
		"cache=sets admission=tinylfu":                          "use the cache exact or semantic",
		"cache=sets admission=size":                             "count objects only",
		"cache=igtcache(mode=safe,outer=true) admission=second": "write outer=false",
	} {
		c := simtest.Cell(t, "lru", capacity.Of(20, false), strings.Fields(parts)...)
		must.Fail(t, sim.NewReplayer(files, sim.ReplayerOptions{}).Check(c), want)
	}
}
