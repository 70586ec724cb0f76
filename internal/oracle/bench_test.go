package oracle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// zipfRequests returns n requests for objects in shuffled order whose popularity falls with their rank's power alpha.
func zipfRequests(n, numObjects int, alpha float64) []uint32 {
	upTo := make([]float64, numObjects)
	sum := 0.0
	for i := range upTo {
		sum += math.Pow(float64(i+1), -alpha)
		upTo[i] = sum
	}
	rng := rand.New(rand.NewPCG(1, 2))
	shuffled := rng.Perm(numObjects)
	objects := make([]uint32, n)
	for i := range objects {
		rank, _ := slices.BinarySearch(upTo, rng.Float64()*sum)
		objects[i] = uint32(shuffled[rank])
	}
	return objects
}

// BenchmarkReuseDistances measures the distances of requests whose objects fit into the processor's cache, and of some
// whose objects do not.
func BenchmarkReuseDistances(b *testing.B) {
	for _, trace := range []struct {
		objects int
		alpha   float64
	}{{1e6, 1}, {11.5e6, 0.8}} {
		objects := zipfRequests(20e6, trace.objects, trace.alpha)
		b.Run(fmt.Sprintf("zipf=%g/objects=%d", trace.alpha, trace.objects), func(b *testing.B) {
			for b.Loop() {
				NewLRUStack(trace.objects).Serve(objects, true)
			}
			b.ReportMetric(float64(len(objects))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mreq/s")
		})
		sizes := make([]int64, trace.objects)
		for o := range sizes {
			sizes[o] = 1 + int64(o%4096)
		}
		var capacities []int64 // 5 per doubling, up to all objects
		for c := int64(5000); c < int64(trace.objects)*2048; c += c / 5 {
			capacities = append(capacities, c)
		}
		b.Run(fmt.Sprintf("bytes/zipf=%g/objects=%d", trace.alpha, trace.objects), func(b *testing.B) {
			for b.Loop() {
				s := must.Get(NewLRUByteStack(sizes, capacities))(b)
				s.Serve(objects, true)
			}
			b.ReportMetric(float64(len(objects))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mreq/s")
		})
	}
}
