package sim_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/records/blocks"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// requestsUntilFull returns how many requests of the trace fit into the capacity together with all earlier ones.
func requestsUntilFull(t *traces.Trace, c capacity.Capacity) int {
	seen := map[uint32]bool{}
	size := int64(0)
	for pos, o := range t.Objects {
		if seen[o] {
			continue
		}
		seen[o] = true
		if size++; c.Bytes {
			size += t.Size(pos) - 1
		}
		if size > c.Amount {
			return pos
		}
	}
	return len(t.Objects)
}

// The blocks of a replay add up to its record, and LRU in one pass has the same as one replay for each capacity.
func TestBlocksAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bytes := rapid.Bool().Draw(rt, "bytes")
		tr := policytest.Trace(rapid.Uint64Range(0, 20).Draw(rt, "seed"), 12000, 300)
		if bytes && rapid.Bool().Draw(rt, "changing sizes") {
			policytest.ChangeSizes(tr)
		}
		if rapid.Bool().Draw(rt, "files") {
			tr.Starts = []int{0, 100, 3500, 11999}
		}
		if rapid.Bool().Draw(rt, "writes") {
			tr.Written.Mode = rapid.SampledFrom([]stream.Writes{stream.WritesFill, stream.WritesCount}).Draw(rt, "mode")
			tr.Ops = make([]stream.Op, len(tr.Objects))
			for pos := range tr.Ops {
				tr.Ops[pos] = stream.OpRead
				if pos%7 == 3 {
					tr.Ops[pos] = stream.OpWrite
				}
			}
		}
		warmup := 0
		if tr.Starts == nil {
			warmup = rapid.SampledFrom([]int{0, 1, 700, 1000}).Draw(rt, "warm-up")
		}
		limit := int64(tr.NumObjects)
		if bytes {
			limit = tr.Footprint()
		}
		r := sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup, Blocks: true})
		var pass []sim.Cell
		for range 3 {
			c := simtest.Cell(t, "lru", capacity.Of(rapid.Int64Range(1, limit+5).Draw(rt, "capacity"), bytes))
			c.OnePass = true
			pass = append(pass, c)
		}
		for _, job := range r.Jobs(pass) {
			for k, result := range must.Get(r.ReplayJob(t.Context(), job))(t) {
				c := job.Cells()[k]
				checkBlocks(rt, tr, c, warmup, result)
				c.OnePass = false
				if alone := simtest.Replay(t, r, c); !reflect.DeepEqual(alone.Blocks, result.Blocks) {
					rt.Fatalf("alone %+v, in one pass %+v", alone.Blocks, result.Blocks)
				}
				other := simtest.Cell(t, rapid.SampledFrom([]string{"arc", "w-tinylfu", "s3fifo"}).Draw(rt, "policy"), c.Capacity)
				checkBlocks(rt, tr, other, warmup, simtest.Replay(t, r, other))
			}
		}
	})
}

func checkBlocks(t *rapid.T, tr *traces.Trace, c sim.Cell, warmup int, r sim.Result) {
	t.Helper()
	b := r.Blocks
	if b == nil || len(b.Each) != blocks.Count {
		t.Fatalf("no blocks: %+v", b)
	}
	sum := b.Sum()
	if sum.Requests != r.Int(metric.Requests) || sum.Misses != r.Int(metric.Misses) ||
		sum.MissedBytes != r.Int(metric.RequestedBytes)-r.Int(metric.HitBytes) {
		t.Fatalf("blocks add up to %+v, the record has %+v", sum, r.Values)
	}
	if b.Restarts != (tr.Starts != nil) {
		t.Fatal("it is unknown whether the cache was emptied")
	}
	if b.Restarts {
		return
	}
	added := b.New[0] + b.New[1]
	if objects := b.Before + added; objects != int64(tr.NumObjects) || !tr.Fills() && b.Cold != added ||
		b.Cold > sum.Misses {
		t.Fatalf("%d first requests, %d of them misses, to %d objects", objects, b.Cold, tr.NumObjects)
	}
	seen := map[uint32]bool{}
	for _, o := range tr.Objects[:(warmup+len(tr.Objects))/2] {
		seen[o] = true
	}
	if b.Before+b.New[0] != int64(len(seen)) {
		t.Fatalf("%d objects in the warm-up, %d new ones in the first half; want %d", b.Before, b.New[0], len(seen))
	}
	full := requestsUntilFull(tr, c.Capacity)
	if full == len(tr.Objects) {
		full = -1
	}
	if got := b.Filled; got.At != int64(full+1) {
		t.Fatalf("filled at %d, want %d", got.At, full+1)
	} else if full >= 0 && got.Requests != int64(tr.Counted(max(warmup, full), len(tr.Objects))) {
		t.Fatalf("%d requests follow, want %d", got.Requests, len(tr.Objects)-full)
	}
}

// Until the cache is full, LRU misses first requests only.
func TestFilledWorkedExample(t *testing.T) {
	keys := make([]rune, 12000)
	for i := range keys {
		keys[i] = rune('a' + min(i/100, 3)) // a, b, c, and d from request 301 on
	}
	keys[5000] = 'a'
	r := sim.NewReplayer(simtest.FromKeys(string(keys)), sim.ReplayerOptions{Blocks: true})
	for amount, want := range map[int64]blocks.Filled{1: {At: 101, Requests: 11900, Misses: 5},
		3: {At: 301, Requests: 11700, Misses: 2}, 4: {}} {
		if got := simtest.Replay(t, r, simtest.Cell(t, "lru", capacity.Of(amount, false))).Blocks.Filled; got != want {
			t.Errorf("at %d: %+v, want %+v", amount, got, want)
		}
	}
}

// Tiers have filled when all of them have, and nodes when all of them have.
func TestFilledTogether(t *testing.T) {
	keys := make([]rune, 12000)
	for i := range keys {
		keys[i] = rune('a' + min(i/100, 20)) // 21 objects, a new one every 100 requests
	}
	r := sim.NewReplayer(simtest.FromKeys(string(keys)), sim.ReplayerOptions{Blocks: true})
	for tiers, want := range map[string]int64{"tiers(host=2x,ssd=3)": 901, "tiers(host=20x)": 0,
		"tiers(host=5,mode=inclusive)": 501, "tiers(host=5,joined=true)": 701} {
		c := simtest.Cell(t, "lru", capacity.Of(2, false), "cache="+tiers)
		if got := simtest.Replay(t, r, c).Blocks.Filled.At; got != want {
			t.Errorf("%s: filled at %d, want %d", tiers, got, want)
		}
	}
	prompts := policytest.RandomPrompts(rand.New(rand.NewPCG(1, 1)), 300, 5, 40)
	r = sim.NewReplayer(prompts, sim.ReplayerOptions{Blocks: true})
	at := func(size int64, parts ...string) int64 {
		c := simtest.Cell(t, "lru", capacity.Of(size, false), append(parts, "cache=prefix")...)
		return simtest.Replay(t, r, c).Blocks.Filled.At
	}
	if one, nodes := at(60), at(20, "router=round-robin(nodes=3)"); one == 0 || one != nodes {
		t.Errorf("three nodes have filled at %d, one that is as large as all at %d", nodes, one)
	}
	if got := at(math.MaxInt64/2, "router=round-robin(nodes=3)"); got != 0 {
		t.Errorf("huge nodes have filled at %d", got)
	}
}

// Blocks are not there unless asked for, of bounds and where a model serves the requests.
func TestWithoutBlocks(t *testing.T) {
	long, short := policytest.Trace(1, 12000, 50), policytest.Trace(1, 4000, 50)
	one := simtest.Replay(t, sim.NewReplayer(short, sim.ReplayerOptions{Blocks: true}),
		simtest.Cell(t, "lru", capacity.Of(10, false)))
	if len(one.Blocks.Each) != 1 || one.Blocks.Sum().Misses != one.Int(metric.Misses) {
		t.Errorf("blocks of a short trace: %+v", one.Blocks)
	}
	lru := simtest.Cell(t, "lru", capacity.Of(10, false))
	for what, none := range map[string]sim.Result{
		"not asked for": simtest.Replay(t, sim.NewReplayer(long, sim.ReplayerOptions{}), lru),
		"a bound": simtest.Replay(t, sim.NewReplayer(long, sim.ReplayerOptions{Blocks: true}),
			simtest.Cell(t, "pfoo-l", capacity.Of(10, true))),
	} {
		if none.Blocks != nil {
			t.Errorf("%s: %+v", what, none.Blocks)
		}
	}
	asked := simtest.Replay(t, sim.NewReplayer(long, sim.ReplayerOptions{Blocks: true}), lru)
	without := simtest.Replay(t, sim.NewReplayer(long, sim.ReplayerOptions{}), lru)
	if !reflect.DeepEqual(asked.Record, without.Record) {
		t.Errorf("blocks change the record: %+v, %+v", asked.Record, without.Record)
	}
}

// First requests are misses only where nothing else can serve them: not a similar query, and no load ahead.
func TestFirstRequestsThatHit(t *testing.T) {
	tr := simtest.Queries(1, 6000, 20, 0.1)
	r := sim.NewReplayer(tr, sim.ReplayerOptions{Blocks: true})
	for parts, hit := range map[string]bool{"exact": false, "semantic(match=identity)": false, "semantic": true} {
		c := simtest.Cell(t, "lru", capacity.Of(100, false), "cache="+parts)
		b := simtest.Replay(t, r, c).Blocks
		want := int64(tr.NumObjects)
		if hit {
			want = 0
		}
		if added := b.New[0] + b.New[1]; b.FirstsHit != hit || b.Cold != want || added != int64(tr.NumObjects) {
			t.Errorf("%s: first requests may hit: %v, %d cold misses, %d new objects; want %v, %d, %d", parts, b.FirstsHit,
				b.Cold, added, hit, want, tr.NumObjects)
		}
	}
	ahead := simtest.Cell(t, "lru", capacity.Of(100, false), "prefetcher=mithril")
	if b := simtest.Replay(t, sim.NewReplayer(policytest.Trace(1, 6000, 50), sim.ReplayerOptions{Blocks: true}),
		ahead).Blocks; !b.FirstsHit || b.Cold != 0 {
		t.Errorf("with a prefetcher: first requests may hit: %v, %d cold misses; want true, 0", b.FirstsHit, b.Cold)
	}
}
