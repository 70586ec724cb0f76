package fluid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// sane fails if a model predicts something that cannot be, for any share of hot users and any ratio.
func sane(t *testing.T, name string, m *Model) {
	t.Helper()
	share := func(x float64) bool { return x >= -1e-9 && x <= 1+1e-9 } // false for NaN
	for _, hotShare := range []float64{0, 0.03, 0.5, 0.97, 1} {
		if m.meanTokens(hotShare) == 0 {
			continue // nobody requests anything
		}
		l := hlem.Load{HotShare: hotShare, Rate: m.Rate(hotShare, 0.8, 0.4)}
		emb, kv := 0.0, 1.0
		for _, r := range []float64{0, 0.01, 0.1, 0.37, 0.5, 0.9, 1} {
			p := m.Predict(l, r)
			if !share(p.EMBHit) || !share(p.KVHit) || !share(p.Violations) || !share(p.SlowEMB+p.SlowKV) ||
				!(p.Mean > 0) || !(p.P99 > 0) || !(p.Utilisation >= 0) {
				t.Fatalf("%s: hot share %v, ratio %v: %+v", name, hotShare, r, p)
			}
			if p.EMBHit < emb-1e-6 || p.KVHit > kv+1e-6 {
				t.Fatalf("%s: hot share %v, ratio %v: EMB hits %v after %v, KV hits %v after %v", name, hotShare, r, p.EMBHit,
					emb, p.KVHit, kv)
			}
			emb, kv = p.EMBHit, p.KVHit
		}
		n := m.NewNode()
		for i, r := range []float64{0.1, 0.9, 0.5, 0.1} {
			l.Rate *= 1 + float64(i)
			w := n.Step(l, r)
			if !share(w.EMBHit) || !share(w.KVHit) || !share(w.Violations) || !(w.P99 > 0) || math.IsInf(w.P99, 0) {
				t.Fatalf("%s: hot share %v, step to %v: %+v", name, hotShare, r, w)
			}
		}
	}
}

// TestExtremePopulations builds models of populations at the ends of what may be asked for.
func TestExtremePopulations(t *testing.T) {
	costs := hlem.DefaultCosts()
	draws := rand.New(rand.NewPCG(1, 2))
	pick := func(values ...float64) float64 { return values[draws.IntN(len(values))] }
	for range brief.Of(25, 6) {
		p := recommender.DefaultPopulation()
		p.Users, p.Shards = int(pick(1, 2, 3, 100, 5000)), int(pick(1, 2, 100, 10_000))
		p.UserAlpha, p.ShardAlpha = pick(0, 0.6, 1, 10), pick(0, 0.9, 1, 10)
		p.OwnShare, p.OwnShards = pick(0, 0.5, 1), int(pick(1, 64, 60_000))
		p.MinTokens = int(pick(1, 5000))
		p.MaxTokens = p.MinTokens + int(pick(0, 1, 10_000))
		p.Tables, p.Nodes = int(pick(1, 25)), int(pick(1, 4))
		memory := int64(pick(1, 1e6, 4e6, 1e9, 1e11))
		sane(t, fmt.Sprintf("%+v, %d bytes", p, memory), NewModel(p, costs, 2, memory))
	}
}

// TestExtremeTraces measures traces in which little happens: few users, shards of one user, and memory that is never
// full though some shards are not read.
func TestExtremeTraces(t *testing.T) {
	costs := hlem.DefaultCosts()
	draws := rand.New(rand.NewPCG(1, 2))
	for trial := range brief.Of(15, 4) {
		users, shards := 1+draws.IntN(40), 1+draws.IntN(300)
		each := 1 + draws.IntN(10)
		trace := Trace{Shards: shards, ShardRows: 25, Nodes: 1 + draws.IntN(3), Hosts: 1 + draws.IntN(3)}
		hot := draws.IntN(users + 1)
		trace.Hot = func(request int) bool { return int(trace.Users[request]) < hot }
		for range 1 + draws.IntN(200) {
			trace.Users = append(trace.Users, uint32(draws.IntN(users)))
			trace.Tokens = append(trace.Tokens, int32(1+draws.IntN(30)))
		}
		trace.Read = func(request int, yield func(shard, rows uint32)) { // most of them are of this user only
			first := int(trace.Users[request]) * each
			for i := range min(each, shards) {
				yield(uint32((first+i)%shards), 25)
			}
			if request%7 == 0 && each < shards {
				yield(uint32((first+each)%shards), 25)
			}
		}
		for _, pages := range []int64{1, 5, int64(shards)/2 + 1, int64(shards), 3 * int64(shards)} {
			sane(t, fmt.Sprintf("trace %d with %d pages", trial, pages), Measure(trace, costs, 1, pages*25*2048))
		}
	}
}
