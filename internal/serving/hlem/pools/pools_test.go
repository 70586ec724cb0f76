package pools

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	recommended "github.com/cachesim/cachesim/internal/traces/recommender"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

const testPage = 1 << 20 // bytes: 512 rows

// request is a request of a small trace.
type request struct {
	user   uint32
	pages  int // of the user
	shards []uint32
}

// tokensOf returns a history that needs so many pages.
func tokensOf(pages int) int64 {
	return int64(pages) * testPage / hlem.DefaultCosts().UserBytes(1)
}

func columnsOf(tb rapid.TB, all []request) *recommended.Columns {
	builder := recommended.Kind{}.NewColumns(stream.Fields{})
	numbers := map[uint32]uint32{}
	for _, r := range all {
		user, ok := numbers[r.user]
		if !ok {
			user = uint32(len(numbers))
			numbers[r.user] = user
		}
		head := &recommended.Head{Tokens: tokensOf(r.pages), ShardRows: 512, Hot: recommended.Unknown}
		for _, s := range r.shards {
			head.List = append(head.List, recommended.Lookup{Shard: s, Rows: 512})
		}
		must.Do(tb, builder.Add(&stream.Record{Extra: head}, user))
	}
	return recommended.Of(builder.Finish())
}

func countUsers(c *recommended.Columns) int { return int(slices.Max(c.Users)) + 1 }

func spec(tb rapid.TB, text string) policies.Spec {
	return must.Get(policies.Registry.Parse(text))(tb)
}

// config returns the config of nodes of so many pages.
func config(tb rapid.TB, all []request, nodes int, pages int64) Config {
	c := columnsOf(tb, all)
	return Config{Nodes: nodes, GPUs: 1, Memory: pages * testPage, Start: 0.4, Least: 0.1, Most: 0.9,
		Embeddings: spec(tb, "lru"), Users: spec(tb, "lru"), Requests: c, Count: countUsers(c)}
}

func newCache(tb rapid.TB, c Config) *Cache {
	p := must.Get(New(c))(tb)
	p.UseCosts(hlem.DefaultCosts())
	return p
}

// toRatio returns an allocator that always sets the ratio that a test writes.
func toRatio(ratio *float64) *allocate.Spec {
	return &allocate.Spec{Entry: allocate.Entry{Name: "test", Serving: true,
		New: func(allocate.Config) (allocate.Allocator, error) { return chosen{ratio}, nil }}}
}

type chosen struct{ ratio *float64 }

func (chosen) Needs() allocate.Needs { return allocate.Needs{} }

func (a chosen) Allocate(s *allocate.State, capacities []int64) {
	capacities[embeddings] = int64(*a.ratio * float64(s.Capacity))
	capacities[users] = s.Capacity - capacities[embeddings]
}

// drawRequests draws the requests of a small trace, whose histories grow.
func drawRequests(t *rapid.T, shards int) (all []request) {
	pages := map[uint32]int{}
	for range rapid.IntRange(1, 80).Draw(t, "requests") {
		r := request{user: rapid.Uint32Range(0, 11).Draw(t, "user")}
		pages[r.user] += rapid.SampledFrom([]int{0, 0, 1, 2, 7}).Draw(t, "more")
		r.pages = max(1, pages[r.user])
		r.shards = rapid.SliceOfNDistinct(rapid.Uint32Range(0, uint32(shards-1)), 1, 6, rapid.ID).Draw(t, "shards")
		all = append(all, r)
	}
	return all
}

// checkNode checks what always holds.
func checkNode(tb rapid.TB, p *Cache, at int) {
	tb.Helper()
	n := &p.nodes[at]
	emb, kv := n.pools[embeddings], n.pools[users]
	if emb.Capacity()+kv.Capacity() != p.pages || emb.Used()+kv.Used() > p.pages {
		tb.Fatalf("capacities of %d and %d, of which %d and %d are used; the node has %d pages", emb.Capacity(),
			kv.Capacity(), emb.Used(), kv.Used(), p.pages)
	}
	if emb.Capacity() < p.clamp(0) || emb.Capacity() > p.clamp(p.pages) {
		tb.Fatalf("%d pages of EMB are outside %d to %d", emb.Capacity(), p.clamp(0), p.clamp(p.pages))
	}
	pinned := map[policies.Object]int64{}
	for _, r := range n.running.requests {
		if charge := kv.Charge(r.user); r.pages > 0 {
			if pinned[r.user] = charge; charge == 0 || charge != r.pages {
				tb.Fatalf("user %d of a running request has %d pages, and had %d when it started", r.user, charge, r.pages)
			}
		}
	}
	sum := int64(0)
	for _, pages := range pinned {
		sum += pages
	}
	if sum != n.running.pages || len(n.pinned.aside) > 0 {
		tb.Fatalf("running requests count %d pages, want %d; %d users are aside", n.running.pages, sum,
			len(n.pinned.aside))
	}
	if missing := p.Missing(at); missing < 0 || missing > (emb.Capacity()-emb.Used())*p.page {
		tb.Fatalf("%d bytes are missing, but %d pages are free", missing, emb.Capacity()-emb.Used())
	}
}

// forEachPolicy runs f for each policy that works in either pool. One that needs to know what the optimum evicts works
// in none.
func forEachPolicy(t *testing.T, f func(t *testing.T, emb, kv string)) {
	needsOptimum := func(t *testing.T, emb, kv string) bool {
		c := config(t, []request{{0, 1, []uint32{0}}}, 1, 20)
		c.Embeddings, c.Users, c.Predictor = spec(t, emb), spec(t, kv), averages
		_, err := New(c)
		return err != nil && strings.Contains(err.Error(), "does not know what the optimum evicts")
	}
	policytest.ForSample(t, false, func(t *testing.T, e policies.Entry) {
		if checkPolicy("embeddings", e, false) == nil && !needsOptimum(t, policytest.Spec(e), "lru") {
			f(t, policytest.Spec(e), "lru")
		}
	})
	policytest.ForSample(t, true, func(t *testing.T, e policies.Entry) {
		if checkPolicy("kv", e, true) == nil && !needsOptimum(t, "lru", policytest.Spec(e)) {
			f(t, "lru", policytest.Spec(e))
		}
	})
}

// averages builds a predictor that knows the past.
func averages(objects, _ int, seed uint64) (predict.Predictor, error) {
	spec, err := predict.Registry.Parse("ewma")
	if err != nil {
		return nil, err
	}
	return spec.Entry.New(predict.Config{Count: objects, Seed: seed, Params: spec.Params})
}

// TestInvariants lets every policy serve random requests in either pool, while the border moves, and checks after each
// event that the memory suffices, that running users stay, and that shrinking EMB leaves users alone.
func TestInvariants(t *testing.T) {
	forEachPolicy(t, func(t *testing.T, emb, kv string) {
		rapid.Check(t, func(t *rapid.T) {
			all := drawRequests(t, 30)
			c := config(t, all, 2, rapid.Int64Range(10, 60).Draw(t, "pages"))
			c.Embeddings, c.Users = spec(t, emb), spec(t, kv)
			c.Strict = rapid.Bool().Draw(t, "strict")
			c.Predictor = averages
			ratio := 0.4
			c.Allocator = toRatio(&ratio)
			p := newCache(t, c)
			running := [2][]int{}
			for i := range all {
				at := rapid.IntRange(0, 1).Draw(t, "node")
				p.Start(at, i, time.Duration(i)*time.Second)
				running[at] = append(running[at], i)
				checkNode(t, p, at)
				switch rapid.IntRange(0, 5).Draw(t, "then") {
				case 0:
					moveBorder(t, p, at, &ratio)
				case 1:
					p.Refill(at, rapid.Int64Range(0, 20*testPage).Draw(t, "bytes"))
				case 2:
					p.Prefetch(at, i, 0.5, 0.8, 3*testPage)
				case 3:
					p.Report(at)
					checkReport(t, p, at)
				}
				checkNode(t, p, at)
				for len(running[at]) > 3 || len(running[at]) > 0 && rapid.Bool().Draw(t, "finish") {
					p.Finish(at, running[at][0])
					running[at] = running[at][1:]
					checkNode(t, p, at)
				}
			}
		})
	})
}

// moveBorder draws a ratio and ends an epoch.
func moveBorder(t *rapid.T, p *Cache, at int, ratio *float64) {
	n := &p.nodes[at]
	emb, kv := n.pools[embeddings], n.pools[users]
	*ratio = rapid.Float64Range(0, 1).Draw(t, "ratio")
	before, residents, free := emb.Capacity(), kv.Used(), kv.Capacity()-kv.Used()
	evictable := kv.Capacity() - n.running.pages
	got := p.Epoch(at, &hlem.Window{Ratio: *ratio})
	if want := float64(emb.Capacity()) / float64(p.pages); got != want {
		t.Fatalf("the ratio is %v, but Epoch returns %v", want, got)
	}
	grown := emb.Capacity() - before
	switch {
	case grown <= 0 && kv.Used() != residents:
		t.Fatalf("EMB shrinks by %d pages, and users go from %d to %d", -grown, residents, kv.Used())
	case p.config.Strict && (grown > free || kv.Used() != residents):
		t.Fatalf("EMB grows by %d pages where %d are free, and users go from %d to %d", grown, free, residents, kv.Used())
	case n.pending() < 0 || n.pending() > 0 && grown != evictable && !p.config.Strict:
		t.Fatalf("%d pages are pending after EMB grew by %d of %d", n.pending(), grown, evictable)
	}
}

func checkReport(t *rapid.T, p *Cache, at int) {
	n := &p.nodes[at]
	for user := range p.config.Count {
		o := policies.Object(user)
		if p.Holds(at, o) != n.pools[users].Resident(o) {
			t.Fatalf("the report on user %d is wrong", user)
		}
		resident := 0.0
		profile := p.config.Requests.Profile(o)
		for _, shard := range profile {
			if n.pools[embeddings].Resident(shard) {
				resident++
			}
		}
		if want := resident / float64(len(profile)); p.Coverage(at, o) != want {
			t.Fatalf("the coverage of user %d is %v, want %v", user, p.Coverage(at, o), want)
		}
	}
}

// naive is a node with LRU in both pools, written down as plainly as possible.
type naive struct {
	shards, users []uint32 // the most recent first
	charge        map[uint32]int
	emb, kv       int
	running       []uint32
}

func front(list []uint32, o uint32) []uint32 {
	list = slices.DeleteFunc(list, func(x uint32) bool { return x == o })
	return slices.Insert(list, 0, o)
}

func (n *naive) used() (sum int) {
	for _, u := range n.users {
		sum += n.charge[u]
	}
	return sum
}

// evict removes users that do not run until so many pages are used at most.
func (n *naive) evict(most int) {
	for i := len(n.users) - 1; i >= 0 && n.used() > most; i-- {
		if !slices.Contains(n.running, n.users[i]) {
			n.users = slices.Delete(n.users, i, i+1)
		}
	}
}

func (n *naive) pinned() (sum int) {
	for i, u := range n.running {
		if slices.Contains(n.users, u) && !slices.Contains(n.running[:i], u) {
			sum += n.charge[u]
		}
	}
	return sum
}

func (n *naive) start(r request) (missed int, hit bool) {
	for _, s := range r.shards {
		if !slices.Contains(n.shards, s) {
			missed++
		}
	}
	for _, s := range r.shards {
		n.shards = front(n.shards, s)
		n.shards = n.shards[:min(len(n.shards), n.emb)]
	}
	hit = slices.Contains(n.users, r.user)
	fits := r.pages <= n.kv-n.pinned()
	switch {
	case hit:
		n.users = front(n.users, r.user)
		if !slices.Contains(n.running, r.user) && r.pages > n.charge[r.user] && fits {
			n.charge[r.user] = 0
			n.running = append(n.running, r.user) // stays while others make room
			n.evict(n.kv - r.pages)
			n.running = n.running[:len(n.running)-1]
			n.charge[r.user] = r.pages
		}
	case fits:
		n.evict(n.kv - r.pages)
		n.charge[r.user] = r.pages
		n.users = front(n.users, r.user)
	}
	n.running = append(n.running, r.user)
	return missed, hit
}

// TestNaive compares the cache under LRU with a naive one, event by event.
func TestNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawRequests(t, 20)
		pages := rapid.IntRange(10, 50).Draw(t, "pages")
		c := config(t, all, 1, int64(pages))
		ratio := 0.4
		c.Allocator = toRatio(&ratio)
		p := newCache(t, c)
		p.Epoch(0, &hlem.Window{})
		emb := int(p.nodes[0].pools[embeddings].Capacity())
		n := &naive{charge: map[uint32]int{}, emb: emb, kv: pages - emb}
		numbers := c.Requests.Users
		first := 0
		for i, r := range all {
			r.user = numbers[i]
			missed, hit := n.start(r)
			a := p.Start(0, i, time.Duration(i))
			if a.Rows != int64(512*len(r.shards)) || a.MissedRows != int64(512*missed) || a.KVHit != hit || a.RemoteRows != 0 {
				t.Fatalf("request %d: %+v, want %d of %d shards missed and hit %v", i, a, missed, len(r.shards), hit)
			}
			if rapid.Bool().Draw(t, "move") {
				ratio = rapid.Float64Range(0.1, 0.9).Draw(t, "ratio")
				p.Epoch(0, &hlem.Window{})
				want := int(p.clamp(int64(ratio*float64(pages) + 0.5)))
				want = min(want, max(n.emb, pages-n.pinned()))
				n.evict(pages - want)
				n.emb, n.kv = want, pages-want
				n.shards = n.shards[:min(len(n.shards), n.emb)]
			}
			for len(n.running) > 3 || len(n.running) > 0 && rapid.Bool().Draw(t, "finish") {
				p.Finish(0, first)
				first++
				n.running = n.running[1:]
			}
			compare(t, p, n)
		}
	})
}

func compare(t *rapid.T, p *Cache, n *naive) {
	node := &p.nodes[0]
	for s := range uint32(20) {
		if s < uint32(p.config.Requests.Shards) && node.pools[embeddings].Resident(s) != slices.Contains(n.shards, s) {
			t.Fatalf("shard %d: resident %v, want %v", s, node.pools[embeddings].Resident(s), slices.Contains(n.shards, s))
		}
	}
	for u := range uint32(p.config.Count) {
		want := 0
		if slices.Contains(n.users, u) {
			want = n.charge[u]
		}
		if got := node.pools[users].Charge(u); got != int64(want) {
			t.Fatalf("user %d has %d pages, want %d", u, got, want)
		}
	}
}

// sees is an allocator that notes what it sees; it changes nothing.
type sees struct{ states *[]allocate.State }

func (sees) Needs() allocate.Needs {
	return allocate.Needs{Every: 5, Footprint: true, Curves: &allocate.Sampling{Steps: 100}}
}

func (a sees) Allocate(s *allocate.State, _ []int64) {
	seen := *s
	seen.Pools = slices.Clone(s.Pools)
	*a.states = append(*a.states, seen)
}

// TestWhatAllocatorsSee checks when an allocator that counts requests is called, and the counts that it gets.
func TestWhatAllocatorsSee(t *testing.T) {
	all := []request{{0, 1, []uint32{0}}, {0, 1, []uint32{0}}, {1, 2, []uint32{0, 1}}, {1, 3, []uint32{2}}}
	c := config(t, all, 1, 20)
	var states []allocate.State
	c.Allocator = &allocate.Spec{Entry: allocate.Entry{Name: "test",
		New: func(allocate.Config) (allocate.Allocator, error) { return sees{&states}, nil }}}
	p := newCache(t, c)
	for i := range all {
		if got := p.Epoch(0, &hlem.Window{}); got != 0.4 {
			t.Errorf("the ratio is %v, want 0.4 as at the beginning", got)
		}
		p.Start(0, i, time.Duration(i)*time.Second)
		p.Finish(0, i)
	}
	p.Epoch(0, &hlem.Window{})
	if len(states) != 2 {
		t.Fatalf("the allocator is called %d times, want 2: at the beginning, and after 7 of 9 requests", len(states))
	}
	s := states[1]
	emb, kv := s.Pools[embeddings], s.Pools[users]
	if s.Capacity != 20*testPage || emb.Capacity != 8*testPage || s.Epoch != 1 || s.Requests != 7 || s.Time != 2e9 {
		t.Errorf("%+v", s)
	}
	if emb.Requests != 4 || emb.Hits != 2 || emb.Used != 2*testPage || emb.Footprint != 2*testPage || emb.Objects != 2 {
		t.Errorf("embeddings %+v", emb)
	}
	if kv.Requests != 3 || kv.Hits != 1 || kv.Used != 3*testPage || kv.Footprint != 3*testPage {
		t.Errorf("users %+v", kv)
	}
	if got := emb.Curve.At(2 * testPage); got != 2 {
		t.Errorf("%v hits of embeddings with two pages, want 2", got)
	}
}

// TestGrowthOfHistory checks that a user with a longer history hits, and is then charged more pages, for which others
// leave.
func TestGrowthOfHistory(t *testing.T) {
	all := []request{{0, 2, []uint32{0}}, {1, 2, []uint32{0}}, {2, 2, []uint32{0}}, {0, 4, []uint32{0}}}
	c := config(t, all, 1, 10) // 6 pages for users
	p := newCache(t, c)
	for i := range all {
		if a := p.Start(0, i, 0); a.KVHit != (i == 3) {
			t.Errorf("request %d: hit %v", i, a.KVHit)
		}
		p.Finish(0, i)
	}
	kv := p.nodes[0].pools[users]
	if got := fmt.Sprint(kv.Charge(0), kv.Charge(1), kv.Charge(2)); got != "4 0 2" {
		t.Errorf("users have %s pages, want 4 0 2: the least recent one leaves", got)
	}
}

// TestGrowthWaits checks that EMB cannot take pages of running users, and gets them at a later epoch.
func TestGrowthWaits(t *testing.T) {
	all := []request{{0, 6, []uint32{0}}, {1, 1, []uint32{1}}}
	c := config(t, all, 1, 10)
	ratio := 0.4
	c.Allocator = toRatio(&ratio)
	p := newCache(t, c)
	p.Epoch(0, &hlem.Window{})
	p.Start(0, 0, 0)
	ratio = 0.8
	if got := p.Epoch(0, &hlem.Window{}); got != 0.4 || p.nodes[0].pending() != 4 {
		t.Errorf("ratio %v with %d pages pending, want 0.4 and 4: the only user runs", got, p.nodes[0].pending())
	}
	p.Finish(0, 0)
	if got := p.Epoch(0, &hlem.Window{}); got != 0.8 || p.nodes[0].pending() != 0 {
		t.Errorf("ratio %v with %d pages pending, want 0.8 and none", got, p.nodes[0].pending())
	}
}

// TestRefill checks that what EMB gains is refilled with what was evicted last, up to what is granted.
func TestRefill(t *testing.T) {
	all := []request{{0, 1, []uint32{0, 1, 2, 3}}, {0, 1, []uint32{4, 5, 6}}, {0, 1, []uint32{1}}}
	c := config(t, all, 1, 10)
	ratio := 0.4
	c.Allocator = toRatio(&ratio)
	p := newCache(t, c)
	p.Epoch(0, &hlem.Window{})
	for i := range all {
		p.Start(0, i, 0)
		p.Finish(0, i)
	}
	if got := p.Missing(0); got != 0 {
		t.Errorf("%d bytes are missing before EMB grows", got)
	}
	// 4, 5, 6 and 1 are resident; 0, 1, 2 and 3 have been evicted in that order.
	ratio = 0.7
	p.Epoch(0, &hlem.Window{})
	emb := p.nodes[0].pools[embeddings]
	if got := p.Missing(0); got != 3*testPage {
		t.Errorf("%d bytes are missing, want 3 pages", got)
	}
	if got := p.Refill(0, 2*testPage+1); got != 2*testPage || !emb.Resident(3) || !emb.Resident(2) || emb.Resident(0) {
		t.Errorf("%d bytes are refilled, want 2 pages, shards 3 and 2", got)
	}
	if got := p.Refill(0, 9*testPage); got != testPage || !emb.Resident(0) || p.Missing(0) != 0 {
		t.Errorf("%d bytes are refilled, want 1 page, shard 0", got)
	}
}

// TestShrinkAndGrow checks that a border that goes back and forth leaves EMB as it was.
func TestShrinkAndGrow(t *testing.T) {
	all := []request{{0, 1, []uint32{0, 1, 2, 3, 4, 5, 6, 7}}, {0, 1, []uint32{2, 0}}}
	c := config(t, all, 1, 10)
	ratio := 0.8
	c.Allocator = toRatio(&ratio)
	p := newCache(t, c)
	p.Epoch(0, &hlem.Window{})
	for i := range all {
		p.Start(0, i, 0)
		p.Finish(0, i)
	}
	ratio = 0.5
	p.Epoch(0, &hlem.Window{})
	emb := p.nodes[0].pools[embeddings]
	if emb.Len() != 5 || emb.Resident(1) || emb.Resident(3) || emb.Resident(4) {
		t.Errorf("%d shards are left, want 5, 6, 7, 2 and 0", emb.Len())
	}
	ratio = 0.8
	p.Epoch(0, &hlem.Window{})
	if p.Refill(0, 99*testPage); emb.Len() != 8 {
		t.Errorf("%d shards are resident, want all 8", emb.Len())
	}
}

// TestRemoteRows checks from which host rows come.
func TestRemoteRows(t *testing.T) {
	all := []request{{0, 1, []uint32{0, 1, 2, 3}}}
	for _, partitioned := range []bool{false, true} {
		c := config(t, all, 4, 100)
		c.Partitioned = partitioned
		want := int64(0)
		if partitioned {
			want = 3 * 512
		}
		if a := newCache(t, c).Start(1, 0, 0); a.MissedRows != 4*512 || a.RemoteRows != want {
			t.Errorf("partitioned %v: %+v, want %d remote rows", partitioned, a, want)
		}
	}
}

// TestWrongPrefetches checks that the wrong items of a list are any shards, and not those beside the right ones, which
// are as popular where numbers follow popularity.
func TestWrongPrefetches(t *testing.T) {
	const shards = 1000
	all := []request{{0, 1, nil}, {0, 1, []uint32{shards - 1}}}
	for i := range uint32(20) {
		all[0].shards = append(all[0].shards, 2*i)
	}
	c := config(t, all, 1, 100)
	p := newCache(t, c)
	if got := p.Prefetch(0, 0, 1, 0, 100*testPage); got < 15*testPage {
		t.Fatalf("%d bytes are prefetched, want nearly 20 pages", got)
	}
	beside, high := 0, 0
	for o := range policies.Object(shards) {
		switch resident := p.nodes[0].pools[embeddings].Resident(o); {
		case resident && o < 2*20+1:
			beside++
		case resident && o >= shards/2:
			high++
		}
	}
	if beside > 5 || high < 3 || high > 17 {
		t.Errorf("%d wrong items are near the right ones, %d are in the upper half of all", beside, high)
	}
}

// TestAllocatorsHaveSeeds checks that the allocator of each node gets the seed of the replay and a number of its own.
func TestAllocatorsHaveSeeds(t *testing.T) {
	c := config(t, []request{{0, 1, []uint32{0}}}, 3, 10)
	c.Seed = 7
	var got []string
	ratio := 0.4
	c.Allocator = toRatio(&ratio)
	c.Allocator.Entry.New = func(a allocate.Config) (allocate.Allocator, error) {
		got = append(got, fmt.Sprintf("%d:%d", a.Seed, a.Number))
		return chosen{&ratio}, nil
	}
	newCache(t, c)
	if want := []string{"7:0", "7:1", "7:2"}; !slices.Equal(got, want) {
		t.Errorf("seeds and numbers are %v, want %v", got, want)
	}
}
