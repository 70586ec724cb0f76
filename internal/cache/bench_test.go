package cache_test

import (
	"sync"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/sim/all"
	"github.com/cachesim/cachesim/internal/traces"
)

// benchZipf is 1 M requests to 100 000 objects, Zipf(1.0), with sizes.
var benchZipf = sync.OnceValue(func() *traces.Trace {
	const requests, objects = 1_000_000, 100_000
	t := &traces.Trace{Name: "zipf"}
	zipf, rng := random.NewZipf(objects, 1), random.Stream(1, 1)
	number := make([]uint32, objects)
	for range requests {
		key := zipf.Draw(rng)
		if number[key] == 0 {
			t.NumObjects++
			number[key] = uint32(t.NumObjects)
			t.ObjectSizes = append(t.ObjectSizes, 64+int64(rng.Uint64()%4096))
		}
		t.Objects = append(t.Objects, number[key]-1)
	}
	return t
})

// BenchmarkExact replays requests one by one through the pool of an exact cache of a tenth of the objects, in objects
// and in bytes.
func BenchmarkExact(b *testing.B) {
	t := benchZipf()
	next := oracle.NextUse(t.Objects, t.NumObjects)
	for _, unit := range []string{"objects", "bytes"} {
		for _, e := range policies.Registry.All() {
			bytes := unit == "bytes"
			if e.New == nil || policies.Can[policies.PredictorUser](e) || e.Relates || e.Unbounded || e.NeedsTime != nil ||
				!bytes && e.Units == policies.UnitsBytes || bytes && e.Units == policies.UnitsObjects {
				continue
			}
			b.Run(unit+"/"+e.Name, func(b *testing.B) { benchExact(b, t, next, e, bytes) })
		}
	}
}

func benchExact(b *testing.B, t *traces.Trace, next []uint32, e policies.Entry, bytes bool) {
	spec := must.Get(policies.Registry.Parse(e.Name))(b)
	config := policies.Config{
		Capacity: int64(t.NumObjects / 10), Unit: !bytes, Objects: t.NumObjects, Requests: len(t.Objects), Seed: 1,
		Params: spec.Params,
	}
	if bytes {
		config.Capacity *= 2100
	}
	if e.Kind == policies.Offline {
		config.NextUse, config.Sequence = next, t.Objects
	}
	w := cache.WindowOf(t, 0, len(t.Objects), bytes, make([]int64, len(t.Objects)))
	for b.Loop() {
		b.StopTimer()
		p := must.Get(e.New(config))(b)
		c := cache.NewExact(p, config.Capacity, t.NumObjects)
		b.StartTimer()
		c.Serve(w, &cache.Counts{})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(t.Objects)), "ns/request")
}
