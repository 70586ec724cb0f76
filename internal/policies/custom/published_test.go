package custom_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/interpreter"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// published are the traces of TestPublishedTraces, below the folder that CACHESIM_TRACES names.
var published = []struct {
	file  string
	sizes bool // it has some, so that capacities count bytes, too
}{
	{"block/lirs-multi2.trace.gz", false},
	{"block/lirs-sprite.trace.gz", false},
	{"block/arc-oltp.lis.gz", false},
	{"block/cloudPhysicsIO.oracleGeneral.bin.zst", true},
	{"block/adaptsize-request.trace.xz", true},
}

// Policies that were written from docs/policies-own.md alone, each in another way, have the hits and the misses of the
// program's own on real traces: each request, not only their numbers.
func TestPublishedTraces(t *testing.T) {
	folder := os.Getenv("CACHESIM_TRACES")
	if folder == "" {
		t.Skip("CACHESIM_TRACES does not name a folder with the published traces")
	}
	// The first requests of each trace: Python serves some 200,000 a second.
	first := read.Options{Selection: read.Selection{Limit: brief.OfLong(1_000_000, brief.Of(60_000, 10_000))},
		Needs: traces.Needs{Sizes: true}}
	for _, c := range []struct {
		about, policy string
		own           func(t *testing.T) string
	}{
		{"LFU with ageing in one line", "lfu-da", func(*testing.T) string { return `rank(evict="victim + requests")` }},
		{"S3-FIFO in C", "s3fifo(rule=2024)", func(t *testing.T) string {
			if !interpreter.HasClang() {
				t.Log("without clang and lld, the module of examples/wasm is used instead of its source")
				return "wasm(file=../../../examples/wasm/s3fifo.wasm)"
			}
			return fmt.Sprintf("wasm(file=%s)", interpreter.CompileC(t, "../../../examples/wasm/s3fifo.c"))
		}},
		{"ARC in Python", "arc", func(t *testing.T) string {
			python := interpreter.Python(t, "struct,shlex")
			return fmt.Sprintf(`exec(command="'%s' ../../../examples/exec/arc.py",timeout=300)`, python)
		}},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			own := c.own(t)
			for _, trace := range published {
				tr := must.Get(read.Load(t.Context(), []string{filepath.Join(folder, trace.file)}, first))(t)
				for _, share := range []float64{0.01, 0.1} {
					compare(t, trace.file, c.policy, own, tr, share, false)
				}
				if trace.sizes {
					compare(t, trace.file, c.policy, own, tr, 0.1, true)
				}
			}
		})
	}
}

// compare replays a trace under two policies in a cache for a share of its objects, or of their bytes, and fails at the
// first request that is a hit under one of them alone.
func compare(t *testing.T, name, policy, own string, tr *traces.Trace, share float64, bytes bool) {
	t.Helper()
	whole := int64(tr.NumObjects)
	if bytes {
		whole = 0
		for _, size := range tr.ObjectSizes {
			whole += size
		}
	}
	capacity := int64(share * float64(whole))
	want, got := hits(t, policy, tr, capacity, bytes), hits(t, own, tr, capacity, bytes)
	several := 0
	for i := range want {
		if want[i] != got[i] {
			t.Fatalf("%s, capacity %d, bytes=%v: request %d, of object %d, is a hit: %v; with %s: %v", name, capacity, bytes,
				i, tr.Objects[i], got[i], policy, want[i])
		}
		if want[i] {
			several++
		}
	}
	if several < 10 || several > len(want)-10 {
		t.Errorf("%s, capacity %d, bytes=%v: %d hits of %d requests, which compare nothing", name, capacity, bytes, several,
			len(want))
	}
}

// hits returns for each request of a trace whether it is a hit.
func hits(t *testing.T, policy string, tr *traces.Trace, capacity int64, bytes bool) []bool {
	t.Helper()
	spec := must.Get(policies.Registry.Parse(policy))(t)
	return must.Get(policies.Await(t.Context(), func(ctx context.Context) ([]bool, error) {
		p, err := spec.Entry.New(policies.Config{Capacity: capacity, Unit: !bytes, Objects: tr.NumObjects,
			Requests: len(tr.Objects), Params: spec.Params, Life: policies.LifeOf(ctx)})
		if err != nil {
			return nil, err
		}
		c := cache.NewExact(p, capacity, tr.NumObjects)
		all, sizes := make([]bool, len(tr.Objects)), make([]int64, 1)
		var n cache.Counts
		for i := range all {
			before := n.Hits
			c.Serve(cache.WindowOf(tr, i, i+1, bytes, sizes), &n)
			all[i] = n.Hits > before
		}
		return all, nil
	}))(t)
}
