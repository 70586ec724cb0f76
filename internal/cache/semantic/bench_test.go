package semantic_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/sim/all"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
)

// benchQueries is a trace of 200,000 requests to 100,000 queries in topics of 50. Every second pair within a topic is
// similar from 0.6 on, and two queries of a topic answer each other. So a query has 24 neighbours.
var benchQueries = sync.OnceValues(func() (*traces.Trace, *similarity.Neighbours) {
	const queries, ofTopic = 100_000, 50
	rng := rand.New(rand.NewPCG(1, 1))
	var pairs []similarity.Pair
	for first := uint32(0); first < queries; first += ofTopic {
		for b := range uint32(ofTopic) {
			for a := range b {
				switch {
				case b == a+1 && a%2 == 0:
					pairs = append(pairs, similarity.Pair{A: first + a, B: first + b, Similarity: 0.85 + 0.15*rng.Float32()})
				case rng.IntN(2) == 0:
					pairs = append(pairs, similarity.Pair{A: first + a, B: first + b, Similarity: 0.6 + 0.2*rng.Float32()})
				}
			}
		}
	}
	t := &traces.Trace{Name: "queries", NumObjects: queries}
	for len(t.Objects) < 200_000 { // whole sessions of a topic, some topics more often than others
		topic := uint32(float64(queries/ofTopic) * rng.Float64() * rng.Float64() * rng.Float64())
		for range 8 {
			t.Objects = append(t.Objects, topic*ofTopic+rng.Uint32N(ofTopic))
		}
	}
	return t, similarity.NewNeighbours(queries, 0.6, pairs)
})

// BenchmarkSemantic replays queries whose neighbours are known already. The targets of one core at a capacity of 1000
// are 300,000 queries/s for lru and 100,000 for rac.
func BenchmarkSemantic(b *testing.B) {
	for _, policy := range []string{"lru", "topic-lru", "topic-lfu", "rac", "rac(structure=pagerank)", "rac-adaptive",
		"rac-adaptive(among=rac)"} {
		for _, capacity := range []int64{100, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s/C=%d", policy, capacity), func(b *testing.B) { benchSemantic(b, policy, capacity) })
		}
	}
}

func benchSemantic(b *testing.B, policyText string, capacity int64) {
	t, neighbours := benchQueries()
	policy := must.Get(policies.Registry.Parse(policyText))(b)
	kind := must.Get(cache.Registry.Parse("semantic"))(b)
	config := cache.Config{Trace: t, Capacity: capacity, Unit: true, Params: kind.Params, Policy: policy,
		Neighbours: neighbours,
		Relations:  &policies.Relations{Similar: neighbours, HitFrom: 0.85}}
	var n cache.Counts
	for b.Loop() {
		c := must.Get(kind.Entry.New(config))(b)
		n = cache.Counts{}
		c.Serve(cache.Window{Objects: t.Objects}, &n)
	}
	requests := float64(b.N) * float64(len(t.Objects))
	b.ReportMetric(b.Elapsed().Seconds()*1e9/requests, "ns/request")
	b.ReportMetric(requests/b.Elapsed().Seconds()/1e3, "kreq/s")
	b.ReportMetric(100*float64(n.Hits)/float64(n.Requests), "%hits")
}

// BenchmarkSemanticPredicted is BenchmarkSemantic for policies that follow predictions of the next similar request. It
// counts the time of the predictions, too.
func BenchmarkSemanticPredicted(b *testing.B) {
	for _, predictor := range []string{"oracle", "ewma", "gbm(features=21)", "gbm"} {
		for _, policy := range []string{"fpb", "laru"} {
			b.Run(fmt.Sprintf("%s/%s/C=1000", predictor, policy), func(b *testing.B) {
				b.ReportAllocs()
				var n cache.Counts
				t, _ := benchQueries()
				for b.Loop() {
					c := predictedCache(b, policy, predictor, 1000)
					n = cache.Counts{}
					c.Serve(cache.Window{Objects: t.Objects}, &n)
				}
				requests := float64(b.N) * float64(len(t.Objects))
				b.ReportMetric(b.Elapsed().Seconds()*1e9/requests, "ns/request")
				b.ReportMetric(100*float64(n.Hits)/float64(n.Requests), "%hits")
			})
		}
	}
}

// predictedCache returns an empty cache for benchQueries under a policy that follows predictions.
func predictedCache(tb testing.TB, policyText, predictor string, capacity int64) cache.Cache {
	t, neighbours := benchQueries()
	policy := must.Get(policies.Registry.Parse(policyText))(tb)
	kind := must.Get(cache.Registry.Parse("semantic"))(tb)
	const hitFrom = 0.85
	return must.Get(kind.Entry.New(cache.Config{Trace: t, Capacity: capacity, Unit: true, Params: kind.Params,
		Policy: policy, Neighbours: neighbours, Predictor: predictorOf(tb, t, policy, predictor, neighbours, hitFrom)}))(tb)
}

// A full cache serves queries without allocating, though predictions end whenever an entry could have answered.
func TestPredictedServesWithoutAllocating(t *testing.T) {
	trace, _ := benchQueries()
	half := len(trace.Objects) / 2
	for _, predictor := range []string{"oracle", "noisy(p=0.3)", "ewma"} {
		for _, policy := range []string{"fpb", "laru", "guard", "hf"} {
			c := predictedCache(t, policy, predictor, 1000)
			var n cache.Counts
			c.Serve(cache.Window{Objects: trace.Objects[:half]}, &n)
			first, requests := half, half/4
			allocations := testing.AllocsPerRun(1, func() { // twice, and counts the second time
				c.Serve(cache.Window{Objects: trace.Objects[first : first+requests], First: first}, &n)
				first += requests
			})
			if allocations > 20 { // lists that still grow
				t.Errorf("%s with %s: %v allocations in %d requests", policy, predictor, allocations, requests)
			}
		}
	}
}
