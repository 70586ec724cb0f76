package replicas_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// users are the tenants of salted prompts.
const users = 3

// salted returns prompts of three tenants with conversations, none of which is longer than longest blocks, and those of
// each tenant alone. Tenants ask for the same blocks, and have their own.
func salted(t *testing.T, rng *rand.Rand, n, longest int) (all *traces.Trace, alone [users]*traces.Trace) {
	var lines []string
	var of [users][]string
	length := map[[2]int]int{}
	for i := range n {
		user, conversation := rng.IntN(users), rng.IntN(6)
		if rng.IntN(4) == 0 {
			user = 0
		}
		key := [2]int{user, conversation}
		length[key] = min(longest, length[key]+1+rng.IntN(3))
		var ids []string
		for k := range length[key] {
			ids = append(ids, fmt.Sprint(100*conversation*min(k, 1)+k))
		}
		line := fmt.Sprintf(`{"timestamp":%d,"input_length":%d,"output_length":5,"user":"u%d","block_size":16,`+
			`"hash_ids":[%s]}`, 1000*i, 16*length[key], user, strings.Join(ids, ","))
		lines = append(lines, line)
		of[user] = append(of[user], line)
	}
	load := func(lines []string) *traces.Trace {
		tr := tracetest.MustLoadText(t, strings.Join(lines, "\n"), read.Options{Needs: traces.Needs{Times: true, Kind: true},
			Selection: read.Selection{Tenants: "column(name=user,salt=true)"}})
		return must.Get(tr.WithAnswers(prompts.AnswersOff))(t)
	}
	for user := range users {
		alone[user] = load(of[user])
	}
	return load(lines), alone
}

func replayOf(t *testing.T, tr *traces.Trace, kind, policy, allocator string, size int64) sim.Result {
	c := cell(t, kind, policy, "", "", size)
	c.Allocator = new(must.Get(allocate.Registry.Parse(allocator))(t))
	r := sim.NewReplayer(tr, sim.ReplayerOptions{})
	must.Do(t, r.Check(c))
	return simtest.Replay(t, r, c)
}

// TestFixedShares: a tenant with a fixed share finds what it finds alone in a cache of that size, under engines, too.
func TestFixedShares(t *testing.T) {
	hits := 0.0
	for seed := range brief.Of[uint64](30, 6) {
		rng := rand.New(rand.NewPCG(seed, 61))
		all, alone := salted(t, rng, 200, 12)
		weights := []int{1 + rng.IntN(4), 1 + rng.IntN(4), 1 + rng.IntN(4)}
		size := int64(10 * (weights[0] + weights[1] + weights[2]))
		kind := []string{"prefix", "prefix(evict=any)", "prefix(evict=node)", "prefix(last=computed)"}[seed%4]
		policy := []string{"lru", "s3fifo", "vllm", "lfu", "sglang-lru"}[seed%5]
		if policy == "vllm" || policy == "sglang-lru" {
			kind = "prefix(last=computed)"
		}
		shares := fmt.Sprintf("static(shares=u0:%d;u1:%d;u2:%d)", weights[0], weights[1], weights[2])
		got := replayOf(t, all, kind, policy, shares, size)
		for user := range users {
			name := fmt.Sprint("u", user)
			want := replayOf(t, alone[user], kind, policy, "shared", int64(10*weights[user]))
			for m, of := range map[metric.Metric]metric.Metric{allocate.TenantHits: metric.Hits,
				allocate.TenantRequests: metric.Requests, allocate.TenantHitTokens: prefix.HitTokens} {
				if a, b := named(got, m.Of(name)), want.Float(of); a != b {
					t.Fatalf("seed %d, %s, %s: %s is %v, alone %v", seed, kind, policy, m.Of(name), a, b)
				}
			}
			if a, b := named(got, allocate.TenantCapacity.Of(name)), float64(10*weights[user])/float64(size); a != b {
				t.Fatalf("seed %d: %s has %v of the capacity, want %v", seed, name, a, b)
			}
			hits += want.Float(metric.Hits)
		}
	}
	if hits == 0 {
		t.Error("no hits")
	}
}

// TestIsolated: tenants with quotas that are swept find what they find alone with their quotas.
func TestIsolated(t *testing.T) {
	hits := 0.0
	for seed := range brief.Of[uint64](20, 5) {
		rng := rand.New(rand.NewPCG(seed, 63))
		all, alone := salted(t, rng, 200, 12)
		every := 1 + rng.IntN(60)
		swept := fmt.Sprintf("watermark=%v,ratio=%v,every=%d)", 0.5+rng.Float64()/2, 0.1+rng.Float64()/2, every)
		got := replayOf(t, all, "prefix", "lmcache-lru", "isolated(shares=u0:3;u1:1,"+swept, 40)
		for user, share := range []int64{30, 10, 0} {
			name := fmt.Sprint("u", user)
			if a, b := named(got, allocate.TenantCapacity.Of(name)), float64(share)/40; a != b {
				t.Fatalf("seed %d: %s has %v of the capacity, want %v", seed, name, a, b)
			}
			if share == 0 {
				continue
			}
			want := replayOf(t, alone[user], "prefix", "lmcache-lru", "isolated(shares="+name+":1,"+swept, share)
			a, b := named(got, allocate.TenantHitTokens.Of(name)), want.Float(prefix.HitTokens)
			if a != b {
				t.Fatalf("seed %d, %s: %s hits %v tokens, alone %v", seed, swept, name, a, b)
			}
			hits += a
		}
	}
	if hits == 0 {
		t.Error("no hits")
	}
	all, _ := salted(t, rand.New(rand.NewPCG(1, 63)), 60, 12)
	all.Times = nil
	c := cell(t, "prefix", "lmcache-lru", "", "", 40)
	c.Allocator = new(must.Get(allocate.Registry.Parse("isolated(shares=3;1)"))(t))
	must.Fail(t, sim.NewReplayer(all, sim.ReplayerOptions{}).Check(c), "quotas at times, but stdin has none", "no times")
}

// TestGuarantees: with lru, no tenant finds less than alone in a cache of its share, whatever the others do; all
// together find more wherever one leaves its share idle; and a tenant that is alone has the whole cache.
func TestGuarantees(t *testing.T) {
	more := 0.0
	for seed := range brief.Of[uint64](40, 8) {
		rng := rand.New(rand.NewPCG(seed, 62))
		all, alone := salted(t, rng, 300, 9) // with a block that is computed again, no prompt is longer than a share
		weights := []int{1 + rng.IntN(4), 1 + rng.IntN(4), 1 + rng.IntN(4)}
		size := int64(10 * (weights[0] + weights[1] + weights[2]))
		kind := []string{"prefix", "prefix(last=computed)"}[seed%2]
		shares := fmt.Sprintf("guarantee(shares=u0:%d;u1:%d;u2:%d)", weights[0], weights[1], weights[2])
		got := replayOf(t, all, kind, "lru", shares, size)
		sum := 0.0
		for user := range users {
			name := fmt.Sprint("u", user)
			least := replayOf(t, alone[user], kind, "lru", "shared", int64(10*weights[user])).Float(prefix.HitTokens)
			most := replayOf(t, alone[user], kind, "lru", "shared", size).Float(prefix.HitTokens)
			hit := named(got, allocate.TenantHitTokens.Of(name))
			if hit < least || hit > most {
				t.Fatalf("seed %d, %s, %s: %s hits %v tokens, alone %v with its share and %v with the whole cache", seed, kind,
					shares, name, hit, least, most)
			}
			sum, more = sum+hit, more+hit-least
			only := replayOf(t, alone[user], kind, "lru", fmt.Sprintf("guarantee(shares=%s:1)", name), size)
			if only.Float(prefix.HitTokens) != most {
				t.Fatalf("seed %d: %s alone hits %v tokens of a guarantee, %v of the cache", seed, name,
					only.Float(prefix.HitTokens), most)
			}
		}
		if sum != got.Float(prefix.HitTokens) {
			t.Fatalf("seed %d: tenants hit %v tokens, all %v", seed, sum, got.Float(prefix.HitTokens))
		}
	}
	if more == 0 {
		t.Error("nobody borrows anything")
	}
}

// naiveLender is the rule of guarantee with lru, written down block by block: prompts are chains, the last block of a
// tenant's least recently requested chain goes first.
type naiveLender struct {
	size    int
	share   [users]int
	used    [users]int
	clock   int
	last    map[uint32]int    // per resident block: when it was requested
	tenant  map[uint32]uint32 // likewise
	parents []int32
}

func (n *naiveLender) serve(tenant uint32, blocks []uint32) (hits int) {
	for hits < len(blocks) {
		if _, ok := n.last[blocks[hits]]; !ok {
			break
		}
		hits++
	}
	from := n.clock
	n.clock += len(blocks)
	for i, o := range blocks {
		if _, ok := n.last[o]; !ok {
			if len(n.last) == n.size && !n.evict(tenant, blocks) {
				break // the rest of the prompt has no room
			}
			n.used[tenant]++
		}
		n.last[o], n.tenant[o] = from+i, tenant
	}
	return hits
}

// evict makes room for a block of a tenant whose running prompt has these blocks.
func (n *naiveLender) evict(tenant uint32, running []uint32) bool {
	inner := map[uint32]bool{}
	for o := range n.last {
		if parent := n.parents[o]; parent >= 0 {
			inner[uint32(parent)] = true
		}
	}
	var oldest [users]int
	var victims [users]uint32
	for i := range oldest {
		oldest[i] = -1
	}
	for o, at := range n.last {
		of := n.tenant[o]
		if !inner[o] && !slices.Contains(running, o) && (oldest[of] < 0 || at < oldest[of]) {
			oldest[of], victims[of] = at, o
		}
	}
	from, most := -1, 0
	for i := range oldest {
		above := n.used[i] - n.share[i]
		if uint32(i) == tenant {
			above++
		}
		if oldest[i] >= 0 && (from < 0 || above > most) {
			from, most = i, above
		}
	}
	if from < 0 {
		return false
	}
	n.used[from]--
	delete(n.last, victims[from])
	return true
}

// TestGuaranteeAsNaive compares with the rule written down block by block, prompts longer than shares included.
func TestGuaranteeAsNaive(t *testing.T) {
	for seed := range brief.Of[uint64](20, 5) {
		rng := rand.New(rand.NewPCG(seed, 63))
		all, _ := salted(t, rng, 150, 14)
		weights := [users]int{1 + rng.IntN(9), 1 + rng.IntN(9), 1 + rng.IntN(9)}
		size := weights[0] + weights[1] + weights[2] + 14
		shares := fmt.Sprintf("guarantee(shares=u0:%d;u1:%d;u2:%d)", weights[0], weights[1], weights[2])
		naive := &naiveLender{size: size, last: map[uint32]int{}, tenant: map[uint32]uint32{},
			parents: prompts.Of(all.Kind).Parents}
		capacities := make([]int64, users)
		names := all.Tenants.Names // in the order of their first prompts
		a := must.Get(allocate.New(must.Get(allocate.Registry.Parse(shares))(t), names))(t)
		a.Allocate(&allocate.State{Capacity: int64(size), Unit: true, Pools: make([]allocate.Pool, users)}, capacities)
		for i, c := range capacities {
			naive.share[i] = int(c)
		}
		var want [users]int
		for i, tenant := range all.Tenants.OfPrompt {
			blocks, _ := all.Group(i)
			want[tenant] += naive.serve(tenant, blocks)
		}
		got := replayOf(t, all, "prefix", "lru", shares, int64(size))
		for i, name := range names {
			if hits := named(got, allocate.TenantHits.Of(name)); int(hits) != want[i] {
				t.Fatalf("seed %d, %s at %d: %s has %v hits, want %d", seed, shares, size, name, hits, want[i])
			}
		}
	}
}
