package pools

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	recommended "github.com/cachesim/cachesim/internal/traces/recommender"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// benchColumns are requests of 30 000 users who read about 60 of 600 000 shards each, most of them their own.
func benchColumns(b *testing.B) *recommended.Columns {
	const users, shards, draws = 30_000, 600_000, 120
	builder := recommended.Kind{}.NewColumns(stream.Fields{})
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.01, 100, shards-1)
	own := make([][]uint32, users)
	for u := range own {
		for range 64 {
			own[u] = append(own[u], uint32(zipf.Uint64()))
		}
	}
	for i := range 100_000 {
		user := uint32(i)
		if i >= users {
			user = uint32(users * rng.Float64() * rng.Float64())
		}
		head := &recommended.Head{Tokens: 5000 + int64(user)*37%10_000, ShardRows: 1024, Hot: recommended.Unknown}
		seen := map[uint32]bool{}
		for range draws {
			if shard := own[user][rng.IntN(64)]; !seen[shard] {
				seen[shard] = true
				head.List = append(head.List, recommended.Lookup{Shard: shard, Rows: 2048})
			}
		}
		must.Do(b, builder.Add(&stream.Record{Extra: head}, user))
	}
	return recommended.Of(builder.Finish())
}

// BenchmarkRequests measures requests to one node of 640 GB, with the router's questions about four nodes and a report
// every 20 requests. Each reads about 55 shards.
func BenchmarkRequests(b *testing.B) {
	columns := benchColumns(b)
	for _, policy := range []string{"lru", "sieve"} {
		b.Run(policy, func(b *testing.B) {
			c := Config{Nodes: 4, GPUs: 8, Memory: 20e9, Start: 0.4, Least: 0.1, Most: 0.9, Embeddings: spec(b, policy),
				Users: spec(b, policy), Requests: columns, Count: countUsers(columns)}
			p := must.Get(New(c))(b)
			p.UseCosts(hlem.DefaultCosts())
			columns.Profile(0)
			b.ReportAllocs()
			b.ResetTimer()
			covered := 0.0
			for i := range b.N {
				at := i % len(columns.Users)
				for node := range 4 {
					covered += p.Coverage(node, columns.Users[at])
				}
				p.Start(i%4, at, time.Duration(i)*time.Millisecond)
				p.Finish(i%4, at)
				if i%20 == 0 {
					for node := range 4 {
						p.Report(node)
					}
				}
			}
		})
	}
}
