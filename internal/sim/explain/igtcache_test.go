package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// drawReads draws a table of reads with paths of every kind: absolute and relative, with empty components, in the root,
// of any bytes, and many in one directory.
func drawReads(r *rapid.T) string {
	name := rapid.OneOf(rapid.SampledFrom([]string{"", ".", "..", "a", "b", "#0", "/", "(others)", "é", "日本", "a b", "[x]",
		"\xff\xfe", "1", "01"}), rapid.StringMatching(`[a-z0-9.\[\]=]{1,3}`))
	var paths []string
	for range rapid.IntRange(1, 12).Draw(r, "directories") {
		path := rapid.SampledFrom([]string{"", "/", "//", "/data/", "data/"}).Draw(r, "root")
		for range rapid.IntRange(0, 2).Draw(r, "depth") {
			path += name.Draw(r, "directory") + "/"
		}
		files := rapid.SampledFrom([]int{0, 1, 3, 120}).Draw(r, "files")
		for i := range files {
			paths = append(paths, fmt.Sprintf("%sf%03d", path, i))
		}
		if path += name.Draw(r, "file"); path != "" {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		paths = append(paths, "/")
	}
	order := rapid.Permutation(paths)
	table := strings.Builder{}
	table.WriteString("time,path,offset,length,file_size\n")
	now := 0.0
	blocks := rapid.Uint64Range(1, 150).Draw(r, "blocks")
	for range rapid.IntRange(1, 3).Draw(r, "epochs") {
		reads := paths
		if rapid.Bool().Draw(r, "shuffled") {
			reads = order.Draw(r, "order")
		}
		for i, path := range reads {
			now += rapid.Float64Range(0, 40).Draw(r, "pause")
			length := rapid.Uint64Range(1, 9000).Draw(r, "length")
			if i == 0 {
				length = 4096 * blocks
			}
			fmt.Fprintf(&table, "%.3f,\"%s\",%d,%d,\n", now, path, rapid.Uint64Range(0, 9000).Draw(r, "offset"), length)
		}
	}
	return table.String()
}

// variants are parameters of every part of igtcache, and prefetchers in place of its own.
var variants = []string{"", "mode=paper", "prefetch=off", "prefetch=next(n=3)", "prefetch=next-file", "prefetch=amp",
	"prefetch=readahead", "prefetch=sfp", "prefetch=stride", "prefetch=mithril(mining=10)", "evict=lru", "evict=s3fifo",
	"skewed=arc", "allocate=off", "allocate=shared", "allocate=marginal(every=20,period_s=9,hysteresis=1)", "ttl=5",
	"trailing=false", "hierarchical=false", "order=numbers"}

// Whatever the paths are, igtcache replays their reads, and what is explained adds up to what a replay counts. Labels
// of streams are never empty, and each request counts for one of them.
func TestIGTCacheOnOddPaths(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		path := filepath.Join(dir, "reads.csv")
		must.Do(r, os.WriteFile(path, []byte(drawReads(r)), 0o600))
		w := workload.Workload{Files: []string{path}, Selection: read.Selection{Format: "reads:block=4"}}
		tr := must.Get(w.Load(t.Context(), nil, read.Options{Needs: traces.Needs{Keys: true, Sizes: true,
			Times: true}}))(r)
		text := fmt.Sprintf("igtcache(window=%d,nodes=%d,%s)", rapid.SampledFrom([]int{2, 5, 100}).Draw(r, "window"),
			rapid.SampledFrom([]int{16, 10000}).Draw(r, "nodes"), rapid.SampledFrom(variants).Draw(r, "variant"))
		spec := must.Get(policies.Registry.Parse(strings.Replace(text, ",)", ")", 1)))(r)
		c := sim.Cell{Parts: sim.Parts{Policy: spec, Cache: cache.ExactSpec()}}
		if amount := rapid.Int64Range(1, 200).Draw(r, "capacity"); rapid.Bool().Draw(r, "bytes") {
			c.Capacity = capacity.Of(1000*amount, true)
		} else {
			c.Capacity = capacity.Of(amount, false)
		}
		checkExplained(t, r, tr, c)
	})
}

// Objects are named that were prefetched and never requested, or not yet.
func TestPrefetchedObjectsAreNamed(t *testing.T) {
	for trace, want := range map[string]string{
		"loop(objects=300,requests=1000)": `{"position":100,"request":"101","hit":false,"loaded":true,` +
			`"evicted":["51","52","53","54","55"],"prefetched":["102","103","104","105"]}`,
		"loop(objects=105,requests=105)": `{"position":104,"request":"105","hit":true,"entry":"105","loaded":false,` +
			`"evicted":["104"],"prefetched":["109"]}`,
	} {
		w := must.Get(workload.Generated(trace, 0))(t)
		tr := must.Get(w.Load(t.Context(), nil, read.Options{Needs: traces.Needs{Keys: true, Times: true}}))(t)
		spec := must.Get(policies.Registry.Parse("igtcache(mode=paper,under=none)"))(t)
		c := sim.Cell{Parts: sim.Parts{Policy: spec, Cache: cache.ExactSpec()}, Capacity: capacity.Of(50, false)}
		var out bytes.Buffer
		must.Do(t, Print(t.Context(), &out, tr, c, sim.ReplayerOptions{}, Options{Format: "json"}))
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: no row %s in those from the 100th on:\n%s", trace, want,
				strings.Join(strings.Split(out.String(), "\n")[100:105], "\n"))
		}
	}
}

// checkExplained compares the rows that Print prints with a replay, which must have counts of streams.
func checkExplained(t *testing.T, r *rapid.T, tr *traces.Trace, c sim.Cell) {
	rec := must.Get(sim.NewReplayer(tr, sim.ReplayerOptions{}).Replay(t.Context(), c))(r)
	var out bytes.Buffer
	must.Do(r, Print(t.Context(), &out, tr, c, sim.ReplayerOptions{}, Options{Format: "json"}))
	var hits, evictions, loaded, prefetched int64
	for line := range strings.Lines(out.String()) {
		var d decision
		must.Do(r, json.Unmarshal([]byte(line), &d))
		if d.Hit {
			hits++
		}
		if d.Loaded {
			loaded++
		}
		evictions += int64(len(d.Evicted))
		prefetched += int64(len(d.Prefetched))
	}
	back := prefetched - rec.Int(prefetch.Prefetches) // loaded again when they were evicted, which is no eviction
	if back < 0 || hits != rec.Int(metric.Hits) || evictions != rec.Int(metric.Evictions)+back {
		r.Fatalf("%s: explained %d hits, %d evictions, %d prefetches; replayed %d, %d, %d", c.Policy, hits, evictions,
			prefetched, rec.Int(metric.Hits), rec.Int(metric.Evictions), rec.Int(prefetch.Prefetches))
	}
	if misses := rec.Int(metric.Misses); loaded > misses {
		r.Fatalf("%s: %d objects loaded by %d misses", c.Policy, loaded, misses)
	}
	var requests float64
	streams := 0
	for name := range rec.Names() {
		if label, ok := strings.CutPrefix(name, "stream_requests["); ok {
			value, _ := rec.Get(name)
			requests += value
			streams++
			if label == "]" {
				r.Fatalf("%s: a stream without a name", c.Policy)
			}
		}
	}
	if streams < 20 && int64(requests) != rec.Int(metric.Requests) {
		r.Fatalf("%s: %g of %d requests belong to streams", c.Policy, requests, rec.Int(metric.Requests))
	}
	must.Do(r, PrintStreams(t.Context(), &out, tr, c, sim.ReplayerOptions{}, Options{Format: "table"}))
}
