package blocks

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// sequence is what the steps of a head want: lists of blocks, each once in a step.
type sequence struct {
	wanted []Block
	ends   []int
	blocks int
}

// drawSequence draws steps that want about what the step before wanted.
func drawSequence(t *rapid.T) sequence {
	q := sequence{blocks: rapid.IntRange(1, 12).Draw(t, "blocks")}
	most := rapid.IntRange(1, q.blocks).Draw(t, "most")
	var list []Block
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		all := make([]Block, q.blocks)
		for b := range all {
			all[b] = Block(b)
		}
		fresh := rapid.Permutation(all).Draw(t, "list")
		list = slices.Concat(list[:min(len(list), rapid.IntRange(0, most).Draw(t, "kept"))], fresh)
		list = distinct(list)[:rapid.IntRange(0, most).Draw(t, "length")]
		q.wanted = append(q.wanted, list...)
		q.ends = append(q.ends, len(q.wanted))
	}
	return q
}

// distinct removes all but the first of each block.
func distinct(list []Block) (once []Block) {
	for _, b := range list {
		if !slices.Contains(once, b) {
			once = append(once, b)
		}
	}
	return once
}

// each calls f for every step.
func (q sequence) each(f func(step int, wanted []Block)) {
	first := 0
	for step, end := range q.ends {
		f(step, q.wanted[first:end])
		first = end
	}
}

// hits returns the hits of all steps.
func (q sequence) hits(s *Store) (hits int) {
	q.each(func(_ int, wanted []Block) { hits += s.Step(wanted).Hits })
	return hits
}

// config returns what a store for the sequence is built from.
func (q sequence) config(t must.TB, policy string, capacity int64) Config {
	t.Helper()
	spec := must.Get(policies.Registry.Parse(policy))(t)
	c := Config{Policy: spec, Capacity: capacity, Blocks: q.blocks, Size: 1, Requests: len(q.wanted), Seed: 3}
	if spec.Entry.Kind == policies.Offline {
		c.Plan = NewPlan(q.wanted, q.ends, q.blocks)
	}
	if policies.Can[policies.PredictorUser](spec.Entry) {
		predictor := must.Get(predict.Registry.Parse("noisy(p=0.3)"))(t)
		next := policytest.NextUses(q.wanted, q.blocks)
		c.Predictor = must.Get(predictor.Entry.New(predict.Config{
			Objects: q.wanted, Count: q.blocks, NextUse: next, Seed: 5, Params: predictor.Params,
			OptEvicts: func() []bool { return policies.OptEvicts(q.wanted, q.blocks, next, max(capacity, 1)) },
		}))(t)
	}
	return c
}

// naive is a store that keeps its blocks in a list, the next victim first.
type naive struct {
	charge   func(Block) int
	capacity int
	renews   bool // a hit makes a block the last victim
	list     []Block
}

func (n *naive) step(wanted []Block) (hits, misses []Block) {
	for _, b := range wanted {
		if slices.Contains(n.list, b) {
			hits = append(hits, b)
		} else {
			misses = append(misses, b)
		}
	}
	if n.renews {
		for _, b := range slices.Backward(hits) {
			n.list = append(slices.DeleteFunc(n.list, func(x Block) bool { return x == b }), b)
		}
	}
	for _, b := range misses {
		if n.charge(b) > n.capacity {
			continue
		}
		for n.used()+n.charge(b) > n.capacity {
			n.list = n.list[1:]
		}
		n.list = append(n.list, b)
	}
	return hits, misses
}

func (n *naive) used() (used int) {
	for _, b := range n.list {
		used += n.charge(b)
	}
	return used
}

func TestStoreEqualsNaive(t *testing.T) {
	for _, policy := range []string{"lru", "fifo"} {
		t.Run(policy, rapid.MakeCheck(func(t *rapid.T) {
			q := drawSequence(t)
			c := q.config(t, policy, rapid.Int64Range(0, 40).Draw(t, "capacity"))
			n := &naive{renews: policy == "lru"}
			if rapid.Bool().Draw(t, "sized") {
				c.Size, c.Page = 0, rapid.IntRange(1, 4).Draw(t, "page")
				c.Sizes = rapid.SliceOfN(rapid.IntRange(1, 9), q.blocks, q.blocks).Draw(t, "sizes")
				n.capacity = int(c.Capacity)
				n.charge = func(b Block) int {
					pages := 0
					for pages*c.Page < c.Sizes[b] {
						pages++
					}
					return pages * c.Page
				}
			} else {
				c.Size = rapid.IntRange(1, 8).Draw(t, "size")
				n.capacity = int(c.Capacity) / c.Size
				n.charge = func(Block) int { return 1 }
			}
			checkAgainst(t, q, c, n)
		}))
	}
}

func checkAgainst(t *rapid.T, q sequence, c Config, n *naive) {
	s := must.Get(New(c))(t)
	tokens := func(all []Block) (sum int) {
		for _, b := range all {
			sum += s.tokens(b)
		}
		return sum
	}
	q.each(func(step int, wanted []Block) {
		before := len(n.list)
		hits, misses := n.step(wanted)
		got := s.Step(wanted)
		loaded := 0
		for _, b := range misses {
			if n.charge(b) <= n.capacity {
				loaded++
			}
		}
		want := Outcome{Hits: len(hits), Misses: len(misses), HitTokens: tokens(hits), MissTokens: tokens(misses),
			Evictions: before + loaded - len(n.list)}
		if got != want {
			t.Fatalf("step %d: %+v, want %+v", step, got, want)
		}
		for b := range q.blocks {
			if got, want := s.pool.Has(Block(b)), slices.Contains(n.list, Block(b)); got != want {
				t.Fatalf("step %d: block %d is resident: %v, want %v", step, b, got, want)
			}
		}
	})
}

// The orders are those of RetroInfer, worked out by hand.
func TestOrders(t *testing.T) {
	q := sequence{wanted: []Block{0, 1, 2, 0, 1, 3, 4}, ends: []int{3, 6, 7}, blocks: 5}
	for _, c := range []struct {
		policy   string
		resident []Block
	}{
		{"lru", []Block{0, 3, 4}},  // the second step evicts 2, and leaves 1 as the next victim: it was behind 0 in the list
		{"fifo", []Block{2, 3, 4}}, // the second step evicts 0, which it wants itself
	} {
		s := must.Get(New(q.config(t, c.policy, 3)))(t)
		q.each(func(_ int, wanted []Block) { s.Step(wanted) })
		for b := range q.blocks {
			if got, want := s.pool.Has(Block(b)), slices.Contains(c.resident, Block(b)); got != want {
				t.Errorf("%s: block %d is resident: %v, want %v", c.policy, b, got, want)
			}
		}
	}
}

func TestStoreUnderEveryPolicy(t *testing.T) {
	for _, sized := range []bool{false, true} {
		policytest.ForSample(t, sized, func(t *testing.T, e policies.Entry) {
			spec := policytest.Spec(e)
			if policies.NeedsClock(must.Get(policies.Registry.Parse(spec))(t)) {
				t.Skip("it needs times, which a test of Check covers")
			}
			rapid.Check(t, func(t *rapid.T) { checkPolicy(t, spec, sized) })
		})
	}
}

func checkPolicy(t *rapid.T, policy string, sized bool) {
	q := drawSequence(t)
	c := q.config(t, policy, rapid.Int64Range(0, 30).Draw(t, "capacity"))
	if sized {
		c.Size, c.Page = 0, 8
		c.Sizes = rapid.SliceOfN(rapid.IntRange(1, 30), q.blocks, q.blocks).Draw(t, "sizes")
	}
	s := must.Get(New(c))(t)
	c.Predictor = q.config(t, policy, c.Capacity).Predictor // a second one, since it learns
	twin := must.Get(New(c))(t)
	q.each(func(step int, wanted []Block) {
		s.pool.Expire(int64(step)) // so that what is resident now is what the step finds
		twin.pool.Expire(int64(step))
		resident := make([]bool, q.blocks)
		for b := range resident {
			resident[b] = s.pool.Has(Block(b))
		}
		got := s.Step(wanted)
		if again := twin.Step(wanted); again != got {
			t.Fatalf("step %d: %+v, and %+v from the same seed", step, got, again)
		}
		hits := 0
		for _, b := range wanted {
			if resident[b] {
				hits++
			}
		}
		if got.Hits != hits || got.Hits+got.Misses != len(wanted) {
			t.Fatalf("step %d: %+v for %d blocks, of which %d were resident", step, got, len(wanted), hits)
		}
		if used := s.pool.Used(); used > s.pool.Capacity() {
			t.Fatalf("step %d: %d of %d used", step, used, s.pool.Capacity())
		}
	})
}

// Under the rules of a store no policy that loads what it misses has more hits than opt.
func TestNoPolicyBeatsOpt(t *testing.T) {
	policytest.ForSample(t, false, func(t *testing.T, e policies.Entry) {
		spec := must.Get(policies.Registry.Parse(policytest.Spec(e)))(t)
		if e.Unbounded || policies.NeedsClock(spec) {
			t.Skip("it is not bounded by the capacity, or needs times")
		}
		optimum := "opt"
		if spec.Entry.Bypasses(spec.Params) {
			optimum = "opt-bypass"
		}
		rapid.Check(t, func(t *rapid.T) {
			q := drawSequence(t)
			capacity := rapid.Int64Range(0, 12).Draw(t, "capacity")
			most := q.hits(must.Get(New(q.config(t, optimum, capacity)))(t))
			if got := q.hits(must.Get(New(q.config(t, spec.String(), capacity)))(t)); got > most {
				t.Fatalf("%d hits, more than the %d of %s", got, most, optimum)
			}
		})
	})
}

// most returns the hits of the best schedule: all ways to load the misses of each step are tried.
func most(q sequence, capacity int) int {
	best := map[uint32]int{0: 0} // by the resident blocks, as bits
	q.each(func(_ int, wanted []Block) {
		next := map[uint32]int{}
		for resident, hits := range best {
			var misses []Block
			for _, b := range wanted {
				if resident>>b&1 != 0 {
					hits++
				} else {
					misses = append(misses, b)
				}
			}
			for _, after := range outcomes(resident, misses, capacity) {
				next[after] = max(next[after], hits)
			}
		}
		best = next
	})
	hits := 0
	for _, n := range best {
		hits = max(hits, n)
	}
	return hits
}

// outcomes returns what may be resident once the misses have been loaded in any order: of what was resident or is
// loaded any choice that fits, and the one that was loaded last. Nothing is evicted while there is room.
func outcomes(resident uint32, misses []Block, capacity int) (all []uint32) {
	if len(misses) == 0 || capacity == 0 {
		return []uint32{resident}
	}
	candidates := resident
	for _, b := range misses {
		candidates |= 1 << b
	}
	for set := candidates; set > 0; set = (set - 1) & candidates {
		last := slices.ContainsFunc(misses, func(b Block) bool { return set>>b&1 != 0 })
		if last && bitsIn(set) == min(capacity, bitsIn(candidates)) {
			all = append(all, set)
		}
	}
	return all
}

func bitsIn(set uint32) (n int) {
	for ; set > 0; set &= set - 1 {
		n++
	}
	return n
}

func TestOptIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawSequence(t)
		if q.blocks > 8 {
			t.Skip("too many schedules")
		}
		capacity := rapid.IntRange(0, 5).Draw(t, "capacity")
		got := q.hits(must.Get(New(q.config(t, "opt", int64(capacity))))(t))
		if want := most(q, capacity); got != want {
			t.Fatalf("%d hits, want %d", got, want)
		}
	})
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		policy string
		sized  bool
		want   string
	}{
		{"ttl", false, "needs requests with times"},
		{"opt-bypass", true, "needs blocks of equal size"},
		{"pfoo-l", false, "is no policy of a pool"},
	} {
		spec := must.Get(policies.Registry.Parse(c.policy))(t)
		if err := Check(spec, c.sized); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.policy, err, c.want)
		}
		if _, err := New(Config{Policy: spec, Size: map[bool]int{false: 1}[c.sized], Blocks: 1}); err == nil {
			t.Errorf("a store under %s", c.policy)
		}
	}
}
