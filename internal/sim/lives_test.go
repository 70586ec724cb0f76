package sim_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/lives"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// naiveLives are the lives of objects, from the decisions that Explain tells.
type naiveLives struct {
	ages, idles, stays []float64
	left, unused       int
	room, dead         float64
	misses             map[uint32]int64
	bytes, unusedBytes int64
	loaded, last       map[uint32]int
	used               map[uint32]bool
	since              func(from, to int) float64
	size               func(o uint32) int64
	warmup             int
}

func (n *naiveLives) leave(pos int, o uint32, evicted bool) {
	if pos >= n.warmup {
		if evicted {
			n.ages = append(n.ages, n.since(n.loaded[o], pos))
			n.idles = append(n.idles, n.since(n.last[o], pos))
		}
		n.stays = append(n.stays, n.since(n.loaded[o], pos))
		n.left++
		n.bytes += n.size(o)
		if !n.used[o] {
			n.unused++
			n.unusedBytes += n.size(o)
		}
		n.room += float64(n.size(o)) * float64(pos-n.loaded[o])
		n.dead += float64(n.size(o)) * float64(pos-n.last[o])
	}
}

func (n *naiveLives) decide(d sim.Decision) {
	for _, l := range d.Removed {
		n.leave(d.Pos, l.Object, false)
	}
	if d.Hit {
		n.last[d.Query], n.used[d.Query] = d.Pos, true
	} else if d.Pos >= n.warmup {
		n.misses[d.Query]++
	}
	for _, l := range d.Evicted {
		n.leave(d.Pos, l.Object, true)
	}
	if d.Loaded {
		n.loaded[d.Query], n.last[d.Query], n.used[d.Query] = d.Pos, d.Pos, false
	}
}

// TestLivesAreNaive: times, shares and counts of the lives of objects are those that follow from the decisions of a
// replay, for several policies, with removals, times, sizes and a warm-up.
func TestLivesAreNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := simtest.FromKeys(rapid.StringOfN(rapid.RuneFrom([]rune("abcdefghij")), 1, 200, -1).Draw(t, "keys"))
		bytes := rapid.Bool().Draw(t, "bytes")
		for o := range tr.NumObjects {
			tr.Keys = append(tr.Keys, stream.Key{Num: uint64(o)})
			tr.ObjectSizes = append(tr.ObjectSizes, int64(1+o%4))
		}
		if rapid.Bool().Draw(t, "times") {
			for pos := range tr.Objects {
				tr.Times = append(tr.Times, int64(pos/2)*1000)
			}
		}
		for pos := range tr.Objects {
			if rapid.IntRange(0, 9).Draw(t, "removes") == 0 {
				tr.Removals = append(tr.Removals, traces.Removal{Before: uint32(pos), Object: tr.Objects[pos]})
			}
		}
		warmup := rapid.IntRange(0, len(tr.Objects)-1).Draw(t, "warmup")
		policy := rapid.SampledFrom([]string{"lru", "fifo", "s3fifo", "arc", "gdsf", "random"}).Draw(t, "policy")
		if policy == "gdsf" {
			bytes = true
		}
		cell := simtest.Cell(t, policy, capacity.Of(int64(rapid.IntRange(4, 12).Draw(t, "capacity")), bytes))
		n := &naiveLives{misses: map[uint32]int64{}, loaded: map[uint32]int{}, last: map[uint32]int{},
			used: map[uint32]bool{}, warmup: warmup}
		n.since = func(from, to int) float64 {
			if tr.Times == nil {
				return float64(to - from)
			}
			return float64(tr.Times[to]-tr.Times[from]) / 1e9
		}
		n.size = func(o uint32) int64 {
			if !bytes {
				return 1
			}
			return tr.ObjectSizes[o]
		}
		r := sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup})
		must.Do(t, r.Explain(t.Context(), cell, func(d sim.Decision) error {
			n.decide(d)
			return nil
		}))
		got := must.Get(r.Lives(t.Context(), cell, 3))(t)
		unit := "_requests"
		if tr.Times != nil {
			unit = "_s"
		}
		for name, all := range map[string][]float64{"evicted_age": n.ages, "evicted_idle": n.idles,
			"time_in_cache": n.stays} {
			slices.Sort(all)
			for _, p := range []int{5, 25, 50, 75, 95} {
				x, ok := got.Values.Get(fmt.Sprintf("%s%s[p%d]", name, unit, p))
				if ok != (len(all) > 0) {
					t.Fatalf("%s: p%d %g, %t; there are %d", name, p, x, ok, len(all))
				}
				if ok && x != all[int(math.Ceil(float64(p*len(all))/100))-1] {
					t.Fatalf("%s: p%d is %g of %g", name, p, x, all)
				}
			}
		}
		share := func(name string, part, whole float64) {
			if x, ok := got.Values.Get(name); ok != (whole > 0) || ok && x != part/whole {
				t.Fatalf("%s: %g, %t; want %g of %g", name, x, ok, part, whole)
			}
		}
		share("never_hit", float64(n.unused), float64(n.left))
		share("dead_share", n.dead, n.room)
		if bytes {
			share("never_hit_bytes", float64(n.unusedBytes), float64(n.bytes))
		}
		for i, m := range got.Top {
			if m.Misses != n.misses[m.Object] || i > 0 && m.Misses > got.Top[i-1].Misses {
				t.Fatalf("top %+v, want %v", got.Top, n.misses)
			}
			delete(n.misses, m.Object)
		}
		for o, misses := range n.misses {
			if len(got.Top) < 3 || misses > got.Top[2].Misses {
				t.Fatalf("%d missed %d times, more than %+v", o, misses, got.Top)
			}
		}
	})
}

// newNaiveLives follows objects of size 1, without times.
func newNaiveLives(warmup int) *naiveLives {
	return &naiveLives{misses: map[uint32]int64{}, loaded: map[uint32]int{}, last: map[uint32]int{},
		used: map[uint32]bool{}, warmup: warmup, size: func(uint32) int64 { return 1 },
		since: func(from, to int) float64 { return float64(to - from) }}
}

func (n *naiveLives) load(pos int, o uint32) { n.loaded[o], n.last[o], n.used[o] = pos, pos, false }
func (n *naiveLives) hit(pos int, o uint32)  { n.last[o], n.used[o] = pos, true }

// TestLivesInTiers: an object's life in a tier ends when it goes down, up or away, and its life in the cache when it is
// in no tier; two exclusive tiers of LRU are followed in lists.
func TestLivesInTiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := simtest.FromKeys(rapid.StringOfN(rapid.RuneFrom([]rune("abcdefghijkl")), 1, 200, -1).Draw(t, "keys"))
		warmup := rapid.IntRange(0, len(tr.Objects)-1).Draw(t, "warmup")
		sizes := []int{rapid.IntRange(1, 4).Draw(t, "memory"), rapid.IntRange(1, 6).Draw(t, "flash")}
		for pos := range tr.Objects {
			if rapid.IntRange(0, 9).Draw(t, "removes") == 0 {
				tr.Removals = append(tr.Removals, traces.Removal{Before: uint32(pos), Object: tr.Objects[pos]})
			}
		}
		whole, of := newNaiveLives(warmup), []*naiveLives{newNaiveLives(warmup), newNaiveLives(warmup)}
		var tiers [2][]uint32
		find := func(o uint32) int {
			return slices.IndexFunc(tiers[:], func(tier []uint32) bool { return slices.Contains(tier, o) })
		}
		remove := func(pos int, o uint32) {
			if at := find(o); at >= 0 {
				tiers[at] = slices.DeleteFunc(tiers[at], func(other uint32) bool { return other == o })
				of[at].leave(pos, o, false)
			}
		}
		removals := tr.Removals
		for pos, o := range tr.Objects {
			for len(removals) > 0 && int(removals[0].Before) == pos {
				if find(o) >= 0 {
					remove(pos, o)
					whole.leave(pos, o, false)
				}
				removals = removals[1:]
			}
			at := find(o)
			if at >= 0 {
				whole.hit(pos, o)
				of[at].hit(pos, o)
			} else {
				whole.load(pos, o)
				if pos >= warmup {
					whole.misses[o]++
				}
			}
			if at == 0 {
				tiers[0] = slices.DeleteFunc(tiers[0], func(other uint32) bool { return other == o })
			} else {
				remove(pos, o)
				of[0].load(pos, o)
			}
			for i, moving := range []uint32{o, o} {
				if i == 1 {
					moving = tiers[0][sizes[0]]
					tiers[0] = tiers[0][:sizes[0]]
					of[0].leave(pos, moving, true)
					of[1].load(pos, moving)
				}
				if tiers[i] = slices.Insert(tiers[i], 0, moving); len(tiers[i]) <= sizes[i] {
					break
				}
				if i == 1 {
					gone := tiers[1][sizes[1]]
					tiers[1] = tiers[1][:sizes[1]]
					of[1].leave(pos, gone, true)
					whole.leave(pos, gone, true)
				}
			}
		}
		cell := simtest.Cell(t, "lru", capacity.Of(int64(sizes[0]), false), fmt.Sprintf("cache=tiers(flash=%d)", sizes[1]))
		got := must.Get(sim.NewReplayer(tr, sim.ReplayerOptions{Warmup: warmup}).Lives(t.Context(), cell, 3))(t)
		check := func(name string, want float64, has bool) {
			if x, ok := got.Values.Get(name); ok != has || has && math.Abs(x-want) > 1e-12 {
				t.Fatalf("%s is %v, %t; want %v, %t", name, x, ok, want, has)
			}
		}
		median := func(name string, all []float64) {
			slices.Sort(all)
			want := 0.0
			if len(all) > 0 {
				want = all[(len(all)+1)/2-1]
			}
			check(name, want, len(all) > 0)
		}
		median("evicted_age_requests[p50]", whole.ages)
		median("evicted_idle_requests[p50]", whole.idles)
		median("time_in_cache_requests[p50]", whole.stays)
		check("never_hit", float64(whole.unused)/float64(whole.left), whole.left > 0)
		check("dead_share", whole.dead/whole.room, whole.room > 0)
		for i, name := range []string{"memory", "flash"} {
			n := of[i]
			median("tier_evicted_age_requests["+name+"]", n.ages)
			median("tier_evicted_idle_requests["+name+"]", n.idles)
			check("tier_never_hit["+name+"]", float64(n.unused)/float64(n.left), n.left > 0)
			check("tier_dead_share["+name+"]", n.dead/n.room, n.room > 0)
		}
		for _, m := range got.Top {
			if m.Misses != whole.misses[m.Object] {
				t.Fatalf("%d missed %d times, want %d", m.Object, m.Misses, whole.misses[m.Object])
			}
		}
	})
}

// TestLivesOfLooseBlocks: with evict=any, a block is hit if all before it in its prompt are resident; blocks behind a
// missing one are used, but not hit. Positions are those where prompts begin.
func TestLivesOfLooseBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &prompts.Columns{BlockTokens: 16}
		tr := &traces.Trace{Name: "prompts", SampleRate: 1, Kind: p}
		depth := rapid.IntRange(2, 4).Draw(t, "depth") // of the chain of each of three conversations
		for range rapid.IntRange(1, 60).Draw(t, "prompts") {
			chain, blocks := rapid.IntRange(0, 2).Draw(t, "chain"), rapid.IntRange(1, depth).Draw(t, "blocks")
			tr.Groups = append(tr.Groups, len(tr.Objects))
			p.InputTokens = append(p.InputTokens, int32(16*blocks))
			for i := range blocks {
				tr.Objects = append(tr.Objects, uint32(chain*depth+i))
			}
		}
		tr.NumObjects = 3 * depth
		for o := range tr.NumObjects {
			p.Parents = append(p.Parents, int32(o-1))
			if o%depth == 0 {
				p.Parents[o] = -1
			}
		}
		room := rapid.IntRange(depth, 2*depth).Draw(t, "capacity")
		n := newNaiveLives(0)
		var lru []uint32
		for g, from := range tr.Groups {
			to := len(tr.Objects)
			if g+1 < len(tr.Groups) {
				to = tr.Groups[g+1]
			}
			for _, o := range tr.Objects[from:to] {
				if !slices.Contains(lru, o) {
					break
				}
				n.hit(from, o)
			}
			for _, o := range tr.Objects[from:to] {
				if i := slices.Index(lru, o); i >= 0 {
					lru = slices.Delete(lru, i, i+1)
				} else {
					if len(lru) == room {
						n.leave(from, lru[room-1], true)
						lru = lru[:room-1]
					}
					n.load(from, o)
				}
				lru = slices.Insert(lru, 0, o)
			}
		}
		cell := simtest.With(t, simtest.Cell(t, "lru", capacity.Of(int64(room), false)), "cache=prefix(evict=any)")
		got := must.Get(sim.NewReplayer(tr, sim.ReplayerOptions{}).Lives(t.Context(), cell, 0))(t)
		for name, all := range map[string][]float64{"evicted_age": n.ages, "evicted_idle": n.idles} {
			slices.Sort(all)
			if x, ok := got.Values.Get(name + "_requests[p50]"); ok != (len(all) > 0) || ok && x != all[(len(all)+1)/2-1] {
				t.Fatalf("%s: %v, %t, of %v", name, x, ok, all)
			}
		}
		if x, ok := got.Values.Get("never_hit"); ok && x != float64(n.unused)/float64(n.left) {
			t.Fatalf("never hit: %v, want %d of %d", x, n.unused, n.left)
		}
	})
}

// TestLivesOverTime: the windows of a series have the medians of what left in them.
func TestLivesOverTime(t *testing.T) {
	tr := simtest.FromKeys("abcabcabdd")
	cell := simtest.Cell(t, "fifo", capacity.Of(2, false))
	cell.Series.Requests = 5
	got := must.Get(sim.NewReplayer(tr, sim.ReplayerOptions{}).Lives(t.Context(), cell, 0))(t)
	var text []string
	for _, r := range got.Series {
		text = append(text, fmt.Sprintf("%g %s %s %g", r.Time, r.Name, r.Label, r.Value))
	}
	// Everything is evicted two requests after its load and was not hit, but for the last object.
	want := []string{"5 evicted_age_requests p50 2", "5 evicted_idle_requests p50 2", "5 time_in_cache_requests p50 2",
		"5 never_hit  1", "10 evicted_age_requests p50 2", "10 evicted_idle_requests p50 2",
		"10 time_in_cache_requests p50 2", "10 never_hit  1"}
	if !slices.Equal(text, want) {
		t.Errorf("%q, want %q", text, want)
	}
	if len(lives.Names()) != 7 {
		t.Errorf("%d names", len(lives.Names()))
	}
}

// TestLivesOfShortPrompts: where each prompt is one block, the cache of prompts is the exact cache, and so are the
// lives of its blocks.
func TestLivesOfShortPrompts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := simtest.FromKeys(rapid.StringOfN(rapid.RuneFrom([]rune("abcdefghij")), 1, 200, -1).Draw(t, "keys"))
		asPrompts := *tr
		p := &prompts.Columns{BlockTokens: 16, Parents: slices.Repeat([]int32{-1}, tr.NumObjects)}
		for pos := range tr.Objects {
			asPrompts.Groups = append(asPrompts.Groups, pos)
			p.InputTokens = append(p.InputTokens, 16)
		}
		if rapid.Bool().Draw(t, "times") {
			for pos := range tr.Objects {
				tr.Times = append(tr.Times, int64(pos/2)*int64(time.Millisecond))
			}
			p.Arrivals = tr.Times
		}
		asPrompts.Kind = p
		options := sim.ReplayerOptions{Warmup: rapid.IntRange(0, len(tr.Objects)-1).Draw(t, "warmup")}
		policy := rapid.SampledFrom([]string{"lru", "fifo", "s3fifo", "arc", "random"}).Draw(t, "policy")
		cell := simtest.Cell(t, policy, capacity.Of(int64(rapid.IntRange(1, 8).Draw(t, "capacity")), false))
		want := must.Get(sim.NewReplayer(tr, options).Lives(t.Context(), cell, 0))(t)
		in := simtest.With(t, cell, "cache="+rapid.SampledFrom([]string{"prefix", "prefix(evict=any)"}).Draw(t, "cache"))
		got := must.Get(sim.NewReplayer(&asPrompts, options).Lives(t.Context(), in, 0))(t)
		if !reflect.DeepEqual(got.Values, want.Values) {
			t.Fatalf("%v\nwant %v", got.Values, want.Values)
		}
	})
}

// TestLivesOfPrompts: prompt 0 loads blocks a, b and c of its chain at 0 s, prompt 1 hits a at 10 s and loads d, which
// evicts c, the last of the longest run; prompt 2 comes at 30 s with e, which evicts b, the least recent of the leaves.
func TestLivesOfPrompts(t *testing.T) {
	const second = int64(time.Second)
	tr := &traces.Trace{Name: "prompts", SampleRate: 1, NumObjects: 5, Groups: []int{0, 3, 5},
		Objects: []uint32{0, 1, 2, 0, 3, 4},
		Kind: &prompts.Columns{BlockTokens: 16, Parents: []int32{-1, 0, 1, 0, -1}, InputTokens: []int32{48, 32, 16},
			Arrivals: []int64{0, 10 * second, 30 * second}}}
	cell := simtest.With(t, simtest.Cell(t, "lru", capacity.Of(3, false)), "cache=prefix")
	l := must.Get(sim.NewReplayer(tr, sim.ReplayerOptions{}).Lives(t.Context(), cell, 0))(t)
	for name, want := range map[string]float64{"evicted_age_s[p5]": 10, "evicted_age_s[p95]": 30,
		"evicted_idle_s[p50]": 10, "never_hit": 1, "dead_share": 1} {
		if x, ok := l.Values.Get(name); !ok || math.Abs(x-want) > 0.004*want {
			t.Errorf("%s: %g, %t; want %g", name, x, ok, want)
		}
	}
}
