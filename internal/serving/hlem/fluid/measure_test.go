package fluid

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// generated draws a trace from a population, with the lookups of each request.
func generated(p recommender.Population, hotShare float64, requests int) Trace {
	bits := random.Stream(3, 1)
	source := rand.New(bits)
	shards := random.NewZipf(p.Shards, p.ShardAlpha)
	hotUsers, coldUsers := random.NewZipf(p.Hot(), p.UserAlpha), random.NewZipf(p.Users-p.Hot(), p.UserAlpha)
	own := make([][]uint32, p.Users)
	tokens := make([]int, p.Users)
	for u := range own {
		tokens[u] = p.MinTokens + source.IntN(p.MaxTokens-p.MinTokens+1)
		if u < 50 {
			tokens[u] = (p.MinTokens + p.MaxTokens) / 2
		}
		for range p.OwnShards {
			own[u] = append(own[u], uint32(shards.Draw(bits)))
		}
	}
	t := Trace{Shards: p.Shards, ShardRows: p.ShardRows, Nodes: p.Nodes, Hosts: p.Nodes}
	t.Hot = func(request int) bool { return int(t.Users[request]) < p.Hot() }
	var read [][]uint32
	for range requests {
		u := coldUsers.Draw(bits) + p.Hot()
		if source.Float64() < hotShare {
			u = hotUsers.Draw(bits)
		}
		rows := make([]uint32, 0, 128)
		for range p.Draws(tokens[u]) {
			shard := uint32(shards.Draw(bits))
			if source.Float64() < p.OwnShare {
				shard = own[u][source.IntN(p.OwnShards)]
			}
			rows = append(rows, shard)
		}
		t.Users, t.Tokens, read = append(t.Users, uint32(u)), append(t.Tokens, int32(tokens[u])), append(read, rows)
	}
	t.Read = func(request int, yield func(shard, rows uint32)) {
		slices.Sort(read[request])
		for i, drawn := 0, read[request]; i < len(drawn); {
			from := i
			for ; i < len(drawn) && drawn[i] == drawn[from]; i++ {
			}
			yield(drawn[from], uint32((i-from)*p.ShardRows))
		}
	}
	return t
}

// TestMeasure compares what is measured in a generated trace with the population that it was drawn from.
func TestMeasure(t *testing.T) {
	for _, c := range []struct {
		own, hot float64
	}{{0.96, 0.38}, {0, 0.6}}[:brief.Of(2, 1)] {
		p, costs, gpus, memory := small(c.own)
		want := NewCached(p, costs, gpus, memory)
		got := Measure(generated(p, c.hot, 40000), costs, gpus, memory)
		for _, hotShare := range []float64{c.hot, c.hot - 0.1} {
			l := hlem.Load{HotShare: hotShare, Rate: want.Rate(hotShare, 0.85, 0.4)}
			for _, r := range []float64{0.2, 0.4, 0.6, 0.8} {
				g, w := got.Predict(l, r), want.Predict(l, r)
				t.Logf("own %.2f hot %.2f ratio %.1f: EMB %.3f of %.3f, KV %.3f of %.3f, P99 %.1f of %.1f ms", c.own, hotShare,
					r, g.EMBHit, w.EMBHit, g.KVHit, w.KVHit, 1e3*g.P99, 1e3*w.P99)
				if math.Abs(g.EMBHit-w.EMBHit) > 0.03 || math.Abs(g.KVHit-w.KVHit) > 0.03 {
					t.Errorf("own %v, hot %v, ratio %v: hit ratios differ by more than 0.03", c.own, hotShare, r)
				}
			}
			if a, b := got.Best(l, 0.1, 0.9, 0.02), want.Best(l, 0.1, 0.9, 0.02); math.Abs(a-b) > 0.08 {
				t.Errorf("own %v, hot %v: the best ratio is %v, want %v", c.own, hotShare, a, b)
			}
		}
	}
}
