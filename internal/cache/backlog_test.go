package cache

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
)

// epoch returns a trace that reads 300 files of one block once, in a random order.
func epoch() *traces.Trace {
	c := &files.Columns{Block: 10}
	t := &traces.Trace{Name: "epoch", NumObjects: 300, Kind: c}
	for object, file := range rand.New(rand.NewPCG(1, 2)).Perm(300) {
		t.Objects = append(t.Objects, uint32(object))
		c.Files, c.Numbers = append(c.Files, int32(object)), append(c.Numbers, 0)
		c.Paths = append(c.Paths, fmt.Sprintf("d/%03d", file))
		c.Sizes, c.Known = append(c.Sizes, 10), append(c.Known, true)
	}
	return t
}

// backlogConfig is that of a cache that has room for all files, and loads them in the background once it knows that
// they are read in a random order: after 101 requests.
func backlogConfig(t *testing.T, tr *traces.Trace) Config {
	t.Helper()
	c := prefetchingConfig(t, tr, "igt(under=none,beside=none)", 300)
	layout := must.Get(prefetch.NewLayout(tr))(t)
	c.Layout, c.Unit = layout, true
	return c
}

func TestTheBacklogIsLoadedAfterEachRequest(t *testing.T) {
	tr := epoch()
	c := must.Get(newExactCache(backlogConfig(t, tr)))(t)
	var n Counts
	for pos := range tr.Objects {
		c.Serve(WindowOf(tr, pos, pos+1, false, nil), &n)
		// The 300 files are proposed in the order of the listing, four per request, resident or not.
		if all := pos >= 100+300/inBackground-1; all != (c.(Occupied).Used() == 300) {
			t.Fatalf("%d resident objects after %d requests", c.(Occupied).Used(), pos+1)
		}
	}
	if n.Misses() < 101 || n.Misses() > 101+300/inBackground {
		t.Errorf("%d misses", n.Misses())
	}
	values := map[string]float64{}
	for _, counter := range c.(Reporting).Counters() {
		values[counter.Name()] = counter.Value
	}
	if values["streams"] != 1 || values["streams_random"] != 1 || values["tree_nodes"] < 100 ||
		values["tree_bytes"] < 1000 ||
		int64(values["prefetches"]) != 300-n.Misses() {
		t.Errorf("counters %v with %d misses", values, n.Misses())
	}
}

// In a model of time the backlog has up to n objects that are neither resident nor being fetched, and comes to an
// end.
func TestTheBacklogInAModelOfTime(t *testing.T) {
	tr := epoch()
	config := backlogConfig(t, tr)
	config.Asynchronous = true
	built := must.Get(newExactCache(config))(t)
	c := built.(Prefetching)
	for pos := range 101 {
		if more := c.More(5, nil); len(more) > 0 {
			t.Fatalf("%v after %d requests", more, pos)
		}
		r := policies.Request{Object: tr.Objects[pos], Query: tr.Objects[pos], Pos: pos, Size: 1}
		c.Ask(r, pos)
		c.Arrive(r)
	}
	fetched := map[policies.Object]bool{}
	for len(fetched) < 199 {
		more := c.More(7, nil)
		if len(more) != min(7, 199-len(fetched)) {
			t.Fatalf("%d fetches after %d", len(more), len(fetched))
		}
		for _, f := range more {
			if f.Object < 101 || fetched[f.Object] || f.Size != 1 {
				t.Fatalf("%v is fetched although it is resident or being fetched", f)
			}
			fetched[f.Object] = true
		}
	}
	if more := c.More(7, nil); len(more) > 0 {
		t.Errorf("%v after everything", more)
	}
}
