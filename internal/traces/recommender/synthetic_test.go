package recommender_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/serving/hlem/traffic"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/recommender"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/write"
)

func init() { gen.Register(traffic.Generators...) } // as package sim/all does in the program

// generated returns a generator of few requests.
func generated(t *testing.T) *gen.Generator {
	t.Helper()
	spec := must.Get(gen.Parse("recommender(nodes=2,users=300,shards=20000,requests=9000,regime=burst)", ""))(t)
	return must.Get(gen.New(t.Context(), spec, nil))(t)
}

// TestGeneratedRequestsAreTheSameFromAFile compares requests whose lookups are drawn again with those that are stored
// in files, more of them than a row group of Parquet has.
func TestGeneratedRequestsAreTheSameFromAFile(t *testing.T) {
	g := generated(t)
	inMemory := must.Get(read.LoadReader(t.Context(), "generated", g, g.Fields, int64(g.Requests()), needs))(t)
	want := stated(inMemory)
	c := recommender.Of(inMemory.Kind)
	if c.Population == nil || c.Population.Users != 300 || c.Population.Nodes != 2 || c.Shards != 20000 {
		t.Errorf("%d shards of the population %+v", c.Shards, c.Population)
	}
	folder := t.TempDir()
	for _, name := range []string{"t.parquet", "t.csv"} {
		path := filepath.Join(folder, name)
		w := must.Get(write.Create(t.Context(), path, write.Options{Fields: g.Fields}))(t)
		from := generated(t)
		var rec stream.Record
		for from.Read(&rec) == nil {
			must.Do(t, w.Write(&rec))
		}
		must.Do(t, w.Close())
		loaded := must.Get(read.Load(t.Context(), []string{path}, needs))(t)
		if got := stated(loaded); !slices.Equal(got, want) {
			i := 0
			for i < len(got) && i < len(want) && got[i] == want[i] {
				i++
			}
			t.Errorf("%s: request %d of %d is\n%s, want\n%s", name, i, len(want), got[i], want[i])
		}
	}
}

// TestSampleOfGeneratedRequests keeps whole users, with the lookups that they have in the whole.
func TestSampleOfGeneratedRequests(t *testing.T) {
	load := func(rate float64) *traces.Trace {
		g, opts := generated(t), needs
		opts.SampleRate = rate
		return must.Get(read.LoadReader(t.Context(), "generated", g, g.Fields, int64(g.Requests()), opts))(t)
	}
	whole := stated(load(1))
	sample := stated(load(0.1))
	if len(sample) < 300 || len(sample) > 2000 {
		t.Errorf("a tenth of the users makes %d of the 9000 requests", len(sample))
	}
	for _, line := range sample {
		if !slices.Contains(whole, line) {
			t.Fatalf("%s is not in the whole trace", line)
		}
	}
}

func TestLookupsAllocateNothing(t *testing.T) {
	g := generated(t)
	trace := must.Get(read.LoadReader(t.Context(), "generated", g, g.Fields, int64(g.Requests()), needs))(t)
	c, i := recommender.Of(trace.Kind), 0
	room := make([]recommender.Lookup, 0, 1000)
	if n := testing.AllocsPerRun(1000, func() {
		c.Lookups(i, room[:0])
		i++
	}); n != 0 {
		t.Errorf("%v allocations per request", n)
	}
}
