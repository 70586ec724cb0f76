package fluid

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// small is a tenth of the default node, which is quick to simulate.
func small(own float64) (recommender.Population, hlem.Costs, int, int64) {
	p, c := recommender.DefaultPopulation(), hlem.DefaultCosts()
	p.Nodes, p.OwnShare, p.Users, p.Shards = 1, own, 3060, 234375
	return p, c, 8, 8 * gigabyte
}

// lru is LRU over objects with sizes, as a list of those that are resident; position 0 is its head.
type lru struct {
	next, prev []int32
	size       []int64
	used, room int64
}

func newLRU(objects int, room int64) *lru {
	return &lru{next: make([]int32, objects+1), prev: make([]int32, objects+1), size: make([]int64, objects+1), room: room}
}

func (c *lru) has(object int) bool { return c.size[object+1] > 0 }

func (c *lru) unlink(i int32) {
	c.next[c.prev[i]], c.prev[c.next[i]] = c.next[i], c.prev[i]
	c.used -= c.size[i]
	c.size[i] = 0
}

func (c *lru) touch(object int, size int64) {
	i := int32(object + 1)
	if c.size[i] > 0 {
		c.unlink(i)
	}
	if size > c.room {
		return
	}
	for c.used+size > c.room {
		c.unlink(c.prev[0])
	}
	c.size[i] = size
	c.used += size
	c.next[i], c.prev[i] = c.next[0], 0
	c.prev[c.next[0]], c.next[0] = i, i
}

// simulated is what a simulation measures after the warm-up.
type simulated struct{ emb, kv, service, mean, p99, windowP99, violations float64 }

// simulate serves requests on one node with two LRU caches.
func simulate(p recommender.Population, c hlem.Costs, gpus int, memory int64, l hlem.Load, ratio float64,
	requests int, seed uint64) (s simulated) {
	bits := random.Stream(seed, 1)
	source := rand.New(bits)
	page := c.PageBytes(p.ShardRows)
	pages := float64(int64(gpus) * memory / page)
	emb := newLRU(p.Shards, int64(ratio*pages))
	kv := newLRU(p.Users, int64((1-ratio)*pages))
	shards := random.NewZipf(p.Shards, p.ShardAlpha)
	hotUsers, coldUsers := random.NewZipf(p.Hot(), p.UserAlpha), random.NewZipf(p.Users-p.Hot(), p.UserAlpha)
	own := make([][]int32, p.Users)
	tokens := make([]int, p.Users)
	for u := range own {
		tokens[u] = p.MinTokens + u*6151%(p.MaxTokens-p.MinTokens+1) // spread evenly over neighbouring ranks
		if u < 50 {
			tokens[u] = (p.MinTokens + p.MaxTokens) / 2 // so that the most frequent users are like the others
		}
		for range p.OwnShards {
			own[u] = append(own[u], int32(shards.Draw(bits)))
		}
	}
	var services []float64
	var rows, missedRows, kvHits float64
	drawn := make([]int32, p.Draws(p.MaxTokens))
	for i := range requests {
		u := coldUsers.Draw(bits) + p.Hot()
		if source.Float64() < l.HotShare {
			u = hotUsers.Draw(bits)
		}
		drawn = drawn[:p.Draws(tokens[u])]
		missed := 0
		for k := range drawn {
			drawn[k] = int32(shards.Draw(bits))
			if source.Float64() < p.OwnShare {
				drawn[k] = own[u][source.IntN(p.OwnShards)]
			}
			if !emb.has(int(drawn[k])) {
				missed++
			}
		}
		for _, shard := range drawn {
			emb.touch(int(shard), 1)
		}
		hit := kv.has(u)
		kv.touch(u, c.UserPages(tokens[u], page))
		if i < requests/3 {
			continue
		}
		missing := float64(missed * p.ShardRows)
		services = append(services,
			c.Overhead()+c.Transfer(missing, 0, c.PCIe)+c.Compute(float64(tokens[u]), hit))
		rows += float64(len(drawn))
		missedRows += float64(missed)
		if hit {
			kvHits++
		}
	}
	s.emb, s.kv = 1-missedRows/rows, kvHits/float64(len(services))
	s.queue(services, gpus, l.Rate, source)
	return s
}

// queue lets the requests of these service times wait for a server, several times: in which order users come matters
// for the caches, when they come matters for the queue.
func (s *simulated) queue(services []float64, servers int, rate float64, source *rand.Rand) {
	const runs, epoch = 8, 5.0
	var all, window []float64
	windows := 0.0
	for range runs {
		free := make(ends, servers)
		clock, windowEnd := 0.0, epoch
		for _, service := range services {
			clock += source.ExpFloat64() / rate
			if clock > windowEnd {
				slices.Sort(window)
				s.windowP99 += window[int(math.Ceil(0.99*float64(len(window))))-1]
				windows++
				window, windowEnd = window[:0], windowEnd+epoch
			}
			free[0] = max(clock, free[0]) + service
			latency := free[0] - clock
			heap.Fix(&free, 0)
			all, window = append(all, latency), append(window, latency)
			s.service += service
		}
	}
	slices.Sort(all)
	n := float64(len(all))
	for _, x := range all {
		s.mean += x / n
		if x > 0.030 {
			s.violations += 1 / n
		}
	}
	s.p99, s.windowP99, s.service = all[int(math.Ceil(0.99*n))-1], s.windowP99/windows, s.service/n
}

// ends are the times at which servers are free, as a heap.
type ends []float64

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i] < e[j] }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(any)          {}
func (e *ends) Pop() any          { return nil }

// TestAgainstSimulation compares hit ratios and latencies with those of a simulation that shares no code with the
// model, on a tenth of a node.
func TestAgainstSimulation(t *testing.T) {
	brief.Long(t, "simulates for seconds")
	for _, at := range []struct{ own, hot, ratio float64 }{
		{0.96, 0.18, 0.7}, {0.96, 0.38, 0.5}, {0.96, 0.60, 0.4}, {0, 0.38, 0.4}, {0.6, 0.38, 0.6},
	} {
		p, c, gpus, memory := small(at.own)
		m := NewCached(p, c, gpus, memory)
		l := hlem.Load{HotShare: at.hot, Rate: m.Rate(at.hot, 0.85, 0.4)}
		s := simulate(p, c, gpus, memory, l, at.ratio, 75000, 1)
		f := m.Predict(l, at.ratio)
		t.Logf("own %.2f hot %.2f ratio %.1f: EMB %.3f, simulated %.3f; KV %.3f, %.3f; utilisation %.3f, %.3f; mean %.1f, "+
			"%.1f; P99 %.1f, %.1f (%.1f in windows); above 30 ms %.3f, %.3f", at.own, at.hot, at.ratio, f.EMBHit, s.emb,
			f.KVHit, s.kv, f.Utilisation, l.Rate*s.service/8, 1e3*f.Mean, 1e3*s.mean, 1e3*f.P99, 1e3*s.p99,
			1e3*s.windowP99, f.Violations, s.violations)
		if math.Abs(f.EMBHit-s.emb) > 0.006 || math.Abs(f.KVHit-s.kv) > 0.006 {
			t.Error("the hit ratios differ by more than 0.006")
		}
		if math.Abs(f.P99/s.p99-1) > 0.06 || math.Abs(f.Mean/s.mean-1) > 0.04 {
			t.Error("the P99 differs by more than 6%, or the mean by more than 4%")
		}
		if math.Abs(f.Violations-s.violations) > 0.02 {
			t.Error("the share above the objective differs by more than 0.02")
		}
	}
}
