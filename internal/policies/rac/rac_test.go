package rac

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/similarity"
)

// graph is n queries and their similarities; pairs below from are not listed.
type graph struct {
	n    int
	sims map[[2]uint32]float32
	from float32
}

func (g *graph) sim(a, b policies.Object) float32 {
	if a == b {
		return 1
	}
	return g.sims[[2]uint32{min(a, b), max(a, b)}]
}

func (g *graph) neighbours() *similarity.Neighbours {
	var pairs []similarity.Pair
	for ab, s := range g.sims {
		if s >= g.from {
			pairs = append(pairs, similarity.Pair{A: ab[0], B: ab[1], Similarity: s})
		}
	}
	return similarity.NewNeighbours(g.n, g.from, pairs)
}

// randomGraph has groups of similar queries, with many equal similarities.
func randomGraph(seed uint64, n int) *graph {
	rng := rand.New(rand.NewPCG(seed, 3))
	g := &graph{n: n, sims: map[[2]uint32]float32{}, from: 0.2}
	groups := 1 + rng.IntN(6)
	for a := range uint32(n) {
		for b := range a {
			s := float32(rng.IntN(8)) / 20
			if int(a)%groups == int(b)%groups {
				s = float32(8+rng.IntN(13)) / 20
			}
			g.sims[[2]uint32{b, a}] = s
		}
	}
	return g
}

// newFor builds a policy over a graph.
func newFor(tb rapid.TB, text string, capacity int, g *graph, hitFrom float32, labels []int32) *policy {
	tb.Helper()
	spec := must.Get(policies.Registry.Parse(text))(tb)
	p := must.Get(spec.Entry.New(policies.Config{
		Capacity: int64(capacity), Unit: true, Objects: g.n, Params: spec.Params,
		Relations: &policies.Relations{Similar: g.neighbours(), HitFrom: hitFrom, Tau: hitFrom, Topics: labels},
	}))(tb)
	return p.(*policy)
}

// cacheOf is a semantic cache, reduced to what the tests need.
type cacheOf struct {
	policy   policies.Policy
	graph    *graph
	tauHit   float32
	inTopic  bool
	capacity int
	resident map[policies.Object]bool
	pos      int
}

func (c *cacheOf) lookup(r policies.Request) (entry policies.Object, ok bool) {
	if c.resident[r.Query] {
		return r.Query, true
	}
	best := float32(-1)
	for o := range policies.Object(c.graph.n) {
		s := c.graph.sim(r.Query, o)
		if c.resident[o] && s >= c.tauHit && s > best && (!c.inTopic || c.policy.(policies.Scoper).InScope(r, o)) {
			best, entry, ok = s, o, true
		}
	}
	return entry, ok
}

// serve serves a query and returns the entry that it hits and the victims.
func (c *cacheOf) serve(q policies.Object) (entry policies.Object, hit bool, victims []policies.Object) {
	r := policies.Request{Object: q, Query: q, Pos: c.pos, Size: 1}
	c.pos++
	if entry, hit = c.lookup(r); hit {
		r.Object = entry
		c.policy.Hit(r)
		return entry, true, nil
	}
	c.policy.Miss(r)
	for len(c.resident) >= c.capacity {
		v := c.policy.Victim(r)
		victims = append(victims, v)
		if v == q {
			return 0, false, victims
		}
		if !c.resident[v] {
			panic(fmt.Sprintf("%d leaves and is not resident", v))
		}
		delete(c.resident, v)
	}
	c.policy.Insert(r)
	c.resident[q] = true
	return 0, false, victims
}

// example1 is the example of the introduction of the paper: its requests, and the name and topic of each query.
func example1() (g *graph, requests []policies.Object, names []string, topics []int32) {
	number := map[string]policies.Object{}
	for _, name := range strings.Fields("a0 a1 a2 a3 a4 a5 b0 b1 b2 b3 b4 b5 " +
		"a0 a1* a2* a3* a4* a5* b0* b1* b2 b3* b4* b5*") {
		if _, ok := number[name]; !ok {
			number[name] = policies.Object(len(names))
			names = append(names, name)
			topics = append(topics, int32(name[0]-'a'))
		}
		requests = append(requests, number[name])
	}
	g = &graph{n: len(names), sims: map[[2]uint32]float32{}, from: 0.1}
	for b := range uint32(len(names)) {
		for a := range b {
			anchor := names[a] == "a0" || names[b] == "a0" || names[a] == "b2" || names[b] == "b2"
			switch {
			case topics[a] != topics[b]:
				g.sims[[2]uint32{a, b}] = 0.1
			case anchor:
				g.sims[[2]uint32{a, b}] = 0.75
			default:
				g.sims[[2]uint32{a, b}] = 0.5
			}
		}
	}
	return g, requests, names, topics
}

// TestExample1 replays example 1 of the RAC paper (arXiv 2602.21547, table 1 and figure 1), where only the same query
// hits and the topics are given. The paper prints no decisions; those expected here were worked out by hand from
// algorithms 1 to 5.
func TestExample1(t *testing.T) {
	g, requests, names, topics := example1()
	hits := func(params string) (n int, log []string, final []string) {
		p := newFor(t, "rac(routing=label,"+params+")", 6, g, 2, topics)
		c := &cacheOf{policy: p, graph: g, tauHit: 2, capacity: 6, resident: map[policies.Object]bool{}}
		for _, q := range requests {
			_, hit, victims := c.serve(q)
			if hit {
				n++
				log = append(log, fmt.Sprintf("%s HIT at %d", names[q], c.pos))
			}
			for _, v := range victims {
				log = append(log, names[q]+" -> "+names[v])
			}
		}
		for o := range c.resident {
			final = append(final, names[o])
		}
		slices.Sort(final)
		return n, log, final
	}
	want := map[bool]map[string]int{
		true:  {"0": 2, "0.01": 2, "0.05": 2, "0.1": 2, "0.2": 2, "0.5": 0, "1.0": 0},
		false: {"0": 1, "0.01": 1, "0.05": 1, "0.1": 1, "0.2": 1, "0.5": 1, "1.0": 0},
	}
	for protect, byAlpha := range want {
		for alpha, want := range byAlpha {
			for _, keep := range []int{0, 10} {
				params := fmt.Sprintf("alpha=%s,protect-new=%v,keep-tp=%d", alpha, protect, keep)
				if n, log, _ := hits(params); n != want {
					t.Errorf("%s: %d hits, want %d\n%s", params, n, want, strings.Join(log, "\n"))
				}
			}
		}
	}
	_, log, final := hits("alpha=0.05")
	start := []string{"b0 -> a1", "b1 -> b0", "b2 -> a2", "b3 -> a3", "b4 -> a4", "b5 -> a5", "a0 HIT at 13", "a1* -> b3"}
	if !slices.Equal(log[:len(start)], start) || !slices.Contains(log, "b2 HIT at 21") {
		t.Errorf("got %q, want %q and b2 HIT at 21", log, start)
	}
	if got := strings.Join(final, " "); got != "a0 a5* b2 b3* b4* b5*" {
		t.Errorf("the final cache is %s", got)
	}
}

// TestEqualsNaive compares the policies with an implementation that follows algorithms 1 to 5 of the RAC paper (arXiv
// 2602.21547) exactly and uses neither heaps nor lists.
func TestEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(rapid.Uint64().Draw(t, "graph"), rapid.IntRange(2, 40).Draw(t, "queries"))
		n, text := drawNaive(t, g, rapid.IntRange(1, 12).Draw(t, "capacity"))
		replayBoth(t, newFor(t, text, n.capacity, g, n.tauHit, n.labels), n, g,
			rapid.SliceOfN(rapid.Uint32Range(0, uint32(g.n-1)), 20, 300).Draw(t, "requests"))
	})
}

// TestEqualsNaiveAtLength is the same test with more entries and longer, so that heaps have several levels.
func TestEqualsNaiveAtLength(t *testing.T) {
	example := rapid.Custom(func(t *rapid.T) func() {
		g := randomGraph(rapid.Uint64().Draw(t, "graph"), 200)
		n, text := drawNaive(t, g, 60)
		return func() {
			rng := rand.New(rand.NewPCG(5, 5))
			requests := make([]policies.Object, 600)
			for i := range requests {
				requests[i] = policies.Object(float64(g.n) * rng.Float64() * rng.Float64())
			}
			replayBoth(t, newFor(t, text, n.capacity, g, n.tauHit, n.labels), n, g, requests)
		}
	})
	for seed := range brief.Of(40, 10) {
		example.Example(seed)()
	}
}

// drawNaive draws a policy and its parameters.
func drawNaive(t *rapid.T, g *graph, capacity int) (n *naive, text string) {
	flip := func(name string) bool { return rapid.Bool().Draw(t, name) }
	n = &naive{
		capacity: capacity, sim: g.sim, resident: map[policies.Object]*naiveEntry{},
		weight: 1, tauHit: rapid.SampledFrom([]float32{0.7, 0.85, 2}).Draw(t, "hit"),
		tauRoute: rapid.SampledFrom([]float32{0.2, 0.5, 0.6, 0.85}).Draw(t,
			"route"), shortlist: rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "shortlist"),
		inTopic: flip("in topic"), protectNew: true,
		variant: rapid.SampledFrom([]string{variantFull, variantFull, variantNoTP, variantNoTSI, "topic-lru",
			"topic-lfu"}).Draw(t, "variant"),
	}
	text = fmt.Sprintf("(tau-route=%v,shortlist=%d", n.tauRoute, n.shortlist)
	if flip("label") {
		text += ",routing=label"
		n.labels = make([]int32, g.n)
		for o := range n.labels {
			n.labels[o] = int32(o % 5)
		}
	}
	if strings.HasPrefix(n.variant, "topic-") {
		n.tauEdge = 3
		return n, n.variant + text + ")"
	}
	n.alpha, n.lambda = rapid.SampledFrom([]float64{0, 0.013, 0.1, 0.25, 1}).Draw(t,
		"alpha"), rapid.SampledFrom([]float64{0, 0.3, 1, 5}).Draw(t, "lambda")
	n.tauEdge, n.window = rapid.SampledFrom([]float32{0.2, 0.5, 0.7}).Draw(t,
		"edge"), rapid.SampledFrom([]int{1, 5, 32}).Draw(t, "window")
	n.keep = n.capacity * rapid.SampledFrom([]int{0, 1, 10}).Draw(t, "keep")
	if flip("adaptive") {
		return drawAdaptive(t, n, text)
	}
	n.protectNew, n.reparent, n.sameTopic = flip("protect"), flip("reparent"), flip("same topic")
	text += fmt.Sprintf(
		",alpha=%v,lambda=%v,tau-edge=%v,window=%d,keep-tp=%d,protect-new=%v,reparent-if-gone=%v,same-topic=%v,variant=%s",
		n.alpha,
		n.lambda,
		n.tauEdge,
		n.window,
		n.keep/n.capacity,
		n.protectNew,
		n.reparent,
		n.sameTopic,
		n.variant,
	)
	if n.pagerank = flip("pagerank"); n.pagerank {
		n.damping = rapid.SampledFrom([]float64{0.3, 0.85}).Draw(t, "damping")
		text += fmt.Sprintf(",structure=pagerank,damping=%v", n.damping)
	}
	return n, "rac" + text + ")"
}

// drawAdaptive draws what rac-adaptive adds to rac, without policies to choose from.
func drawAdaptive(t *rapid.T, n *naive, text string) (*naive, string) {
	n.variant, n.reparent, n.sameTopic = variantFull, true, true
	n.beta = rapid.SampledFrom([]float64{0, 0.01, 0.2, 2}).Draw(t, "beta") // with 2, sums are scaled down
	n.weight = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "weight")
	n.limit = rapid.IntRange(0, n.capacity-1).Draw(t, "limit")
	share := (float64(n.limit) + 0.5) / float64(n.capacity)
	return n, fmt.Sprintf("rac-adaptive%s,among=rac,alpha=%v,lambda=%v,tau-edge=%v,window=%d,keep-tp=%d,beta=%v,"+
		"topic-weight=%v,limit=%v)", text, n.alpha, n.lambda, n.tauEdge, n.window, n.keep/n.capacity, n.beta, n.weight,
		share)
}

// replayBoth serves requests with p and n, and requires the same state after each. Now and then an entry leaves for
// another reason. In the end, after a while without requests, which changes no order, all entries leave.
func replayBoth(t rapid.TB, p *policy, n *naive, g *graph, requests []policies.Object) {
	t.Helper()
	c := &cacheOf{policy: p, graph: g, tauHit: n.tauHit, inTopic: n.inTopic, capacity: n.capacity,
		resident: map[policies.Object]bool{}}
	evict := func(v policies.Object) {
		want, got := n.victim(), n.resident[v]
		// Values of different topics that are equal up to rounding may come in either order.
		near := (n.alpha > 0 && got.topic != want.topic || n.beta > 0 || n.weight != 1) &&
			!slices.Contains(n.recent, got) && n.value(got) <= n.value(want)*(1+1e-9)
		if got != want && !near {
			t.Fatalf("request %d: %d leaves, worth %v, want %d, worth %v", n.now, v, n.value(got), want.id, n.value(want))
		}
		n.evict(got)
	}
	for i, q := range requests {
		wantHit := n.arrive(q)
		entry, hit, victims := c.serve(q)
		if hit != (wantHit != nil) || hit && entry != wantHit.id {
			t.Fatalf("request %d to %d: hits %d (%v), want %+v", n.now, q, entry, hit, wantHit)
		}
		for _, v := range victims {
			evict(v)
		}
		n.settle()
		if i%20 == 7 && c.resident[q] {
			p.Remove(q)
			delete(c.resident, q)
			n.evict(n.resident[q])
		}
		compare(t, p, n)
	}
	n.now += 200
	p.clock += 200
	for range c.resident {
		evict(p.Victim(policies.Request{}))
	}
}

// compare fails if the policy is in another state than the naive one.
func compare(t rapid.TB, p *policy, n *naive) {
	number, evictable := map[*naiveTopic]topicID{}, map[*naiveTopic]bool{}
	for o, e := range n.resident {
		got := p.entries[o]
		importance := got.importance
		if p.fades() {
			importance /= p.sums.importance.now
		}
		if p.seen[o] == 0 || math.Abs(importance/n.importance(e)-1) > 1e-9 || int(got.requests) != e.freq {
			t.Fatalf("request %d: entry %d is %+v, want importance %v and %d requests", n.now, o, got, n.importance(e), e.freq)
		}
		if p.links && (got.parent != none) != (e.parent != nil) || p.links && e.parent != nil && e.parent.id != got.parent {
			t.Fatalf("request %d: entry %d builds on %d, want %+v", n.now, o, got.parent, e.parent)
		}
		if s, ok := number[e.topic]; ok && s != got.topic {
			t.Fatalf("request %d: entry %d is in topic %d, want %d", n.now, o, got.topic, s)
		}
		number[e.topic] = got.topic
		if !slices.Contains(n.recent, e) {
			evictable[e.topic] = true
		}
	}
	for s, id := range number {
		got := p.topics[id]
		if int(got.members) != len(s.members) || (got.anchor != none) != (s.src != nil) || s.src != nil &&
			got.anchor != s.src.id {
			t.Fatalf("request %d: topic %d is %+v, want %d entries and anchor %+v", n.now, id, got, len(s.members), s.src)
		}
		tp := math.Exp2(p.lasting(&p.topics[id], 1) - p.alpha*float64(p.clock))
		if p.fades() {
			tp = p.topics[id].prevalence / p.sums.prevalence.now
		}
		if math.Abs(tp/n.prevalence(s)-1) > 1e-9 {
			t.Fatalf("request %d: the prevalence of topic %d is %v, want %v", n.now, id, tp, n.prevalence(s))
		}
		if n.labels == nil && got.representative != s.rep {
			t.Fatalf("request %d: topic %d is represented by %d, want %d", n.now, id, got.representative, s.rep)
		}
	}
	if alive, dead := p.alive.Len(), p.dead.Len(); alive != len(evictable) || dead != len(n.dead()) {
		t.Fatalf("request %d: %d topics with entries and %d without, want %d and %d", n.now, alive, dead, len(evictable),
			len(n.dead()))
	}
	if int(p.refreshes) != n.refreshes || int(p.figures.links) != n.newLinks {
		t.Fatalf("request %d: %d refreshes and %d links, want %d and %d", n.now, p.refreshes, p.figures.links,
			n.refreshes, n.newLinks)
	}
}

// requestsTo draws requests to n queries, most of them to a few.
func requestsTo(seed uint64, n, length int) []policies.Object {
	rng := rand.New(rand.NewPCG(seed, 9))
	requests := make([]policies.Object, length)
	for i := range requests {
		requests[i] = policies.Object(float64(n) * rng.Float64() * rng.Float64())
	}
	return requests
}

// TestDependantsAreRequestsOfChildren is Def. 2, as long as nothing leaves.
func TestDependantsAreRequestsOfChildren(t *testing.T) {
	for seed := range uint64(20) {
		g := randomGraph(seed, 60)
		p := newFor(t, "rac(tau-edge=0.5)", 60, g, 0.85, nil)
		c := &cacheOf{policy: p, graph: g, tauHit: 0.85, capacity: 60, resident: map[policies.Object]bool{}}
		for _, q := range requestsTo(seed, 60, 500) {
			c.serve(q)
		}
		want, linked := map[policies.Object]int64{}, 0
		for o := range c.resident {
			if e := p.entries[o]; e.parent != none {
				want[e.parent] += int64(e.requests)
				linked++
			}
		}
		for o := range c.resident {
			if got := p.entries[o].dependants; got != want[o] {
				t.Fatalf("seed %d: entry %d has %d requests to what builds on it, want %d", seed, o, got, want[o])
			}
		}
		if linked == 0 || int64(linked) != p.figures.links {
			t.Errorf("seed %d: %d entries build on others, %d links counted", seed, linked, p.figures.links)
		}
	}
}

// TestOneTopicWithoutStructureIsLFU compares with another policy of the registry.
func TestOneTopicWithoutStructureIsLFU(t *testing.T) {
	equalVictims(t, "rac(lambda=0,routing=label)", "lfu", &policies.Relations{HitFrom: 2, Topics: make([]int32, 80)})
}

// TestTopicLRUOfSingleObjectsIsLRU has neither similarities nor labels, so that each object is a topic of its own.
func TestTopicLRUOfSingleObjectsIsLRU(t *testing.T) {
	equalVictims(t, "topic-lru", "lru", nil)
}

// equalVictims replays requests to 80 queries, each answered only by itself, under two policies, which must evict the
// same objects.
func equalVictims(t *testing.T, a, b string, relations *policies.Relations) {
	t.Helper()
	cacheWith := func(text string) *cacheOf {
		spec := must.Get(policies.Registry.Parse(text))(t)
		p := must.Get(spec.Entry.New(policies.Config{Capacity: 20, Unit: true, Objects: 80, Requests: 2000,
			Params: spec.Params, Relations: relations}))(t)
		return &cacheOf{policy: p, graph: &graph{n: 80}, tauHit: 2, capacity: 20, resident: map[policies.Object]bool{}}
	}
	for seed := range uint64(20) {
		x, y := cacheWith(a), cacheWith(b)
		for i, q := range requestsTo(seed, 80, 2000) {
			_, _, got := x.serve(q)
			if _, _, want := y.serve(q); !slices.Equal(got, want) {
				t.Fatalf("seed %d, request %d: %v leaves, want %v", seed, i, got, want)
			}
		}
	}
}

// TestStrictDegenerates shows why rac has three thresholds and the paper (arXiv 2602.21547, section 4.2) only one: with
// one, every topic has a single entry and none builds on another.
func TestStrictDegenerates(t *testing.T) {
	refused := 0
	for seed := range uint64(20) {
		g := randomGraph(seed, 80)
		p := newFor(t, "rac(strict=true)", 8, g, 0.97, nil)
		if p.keep != 0 || p.protectNew || p.reparent {
			t.Fatalf("strict, but %+v", p.settings)
		}
		c := &cacheOf{policy: p, graph: g, tauHit: 0.97, capacity: 8, resident: map[policies.Object]bool{}}
		hits := 0
		for _, q := range requestsTo(seed, g.n, 1000) {
			_, hit, victims := c.serve(q)
			if hit {
				hits++
			}
			if slices.Contains(victims, q) {
				refused++
			}
			for o := range c.resident {
				if s := p.entries[o].topic; p.topics[s].members != 1 {
					t.Fatalf("seed %d: %d entries in a topic", seed, p.topics[s].members)
				}
			}
		}
		if f := p.figures; f.links != 0 || f.joined != 0 || f.revived != 0 || hits == 0 {
			t.Errorf("seed %d: %+v, %d hits; want hits, no links and no topic joined", seed, f, hits)
		}
	}
	if refused == 0 {
		t.Error("no entry was turned away at its insertion")
	}
}

// TestForgetsLongestIdle passes five topics of one request each through one place. Two topics without entries are
// remembered, all equally prevalent.
func TestForgetsLongestIdle(t *testing.T) {
	g := randomGraph(1, 6)
	p := newFor(t, "rac(alpha=0,keep-tp=2,routing=label)", 1, g, 2, []int32{0, 1, 2, 3, 4, 4})
	c := &cacheOf{policy: p, graph: g, tauHit: 2, capacity: 1, resident: map[policies.Object]bool{}}
	for _, q := range []policies.Object{0, 1, 2, 3, 4} {
		c.serve(q)
	}
	if p.byLabel[0] != none || p.byLabel[1] != none || p.byLabel[2] == none || p.byLabel[3] == none {
		t.Errorf("topics by label %v, want 0 and 1 forgotten, 2 and 3 remembered", p.byLabel[:4])
	}
}

// TestPlacesAreLowerBounds changes how fast topics fade between requests. No topic may be worth less than its place, or
// it would not be found when it is the least.
func TestPlacesAreLowerBounds(t *testing.T) {
	const objects, topics, capacity = 200, 20, 60
	labels := make([]int32, objects)
	for o := range labels {
		labels[o] = int32(o % topics)
	}
	g := randomGraph(1, objects)
	p := newFor(t, "rac(routing=label)", capacity, g, 2, labels)
	c := &cacheOf{policy: p, graph: g, tauHit: 2, capacity: capacity, resident: map[policies.Object]bool{}}
	rng := rand.New(rand.NewPCG(1, 2))
	for at := range 20_000 {
		if at%50 == 0 {
			p.Resize(capacity + rng.Int64N(20*capacity)) // the policy alone, so that all stay resident
		}
		c.serve(policies.Object(objects * rng.Float64() * rng.Float64()))
		for s := range p.topics {
			x := &p.topics[s]
			if p.alive.Has(topicID(s)) && p.key(x) < x.ranked {
				t.Fatalf("request %d: topic %d is worth %v, and its place is %v", at, s, p.key(x), x.ranked)
			}
		}
	}
}

// TestPageRank compares the importance that comes from links with PageRank as the paper defines it, computed by power
// iteration: in units of the PageRank of an entry without dependants, less one.
func TestPageRank(t *testing.T) {
	for seed := range uint64(10) {
		const damping = 0.85
		g := randomGraph(seed, 60)
		p := newFor(t, "rac(structure=pagerank,routing=label,tau-edge=0.4)", 30, g, 2, make([]int32, g.n))
		c := &cacheOf{policy: p, graph: g, tauHit: 2, capacity: 30, resident: map[policies.Object]bool{}}
		for _, q := range requestsTo(seed, g.n, 1000) {
			c.serve(q)
		}
		ranks := map[policies.Object]float64{}
		for range 500 {
			next, jumping := map[policies.Object]float64{}, 0.0
			for o := range c.resident {
				if e := &p.entries[o]; e.parent != none && p.hasParent(e) {
					next[e.parent] += damping * ranks[o]
				} else {
					jumping += damping * ranks[o]
				}
			}
			for o := range c.resident {
				next[o] += (1 - damping + jumping) / float64(len(c.resident))
			}
			ranks = next
		}
		least := 1.0
		for _, r := range ranks {
			least = min(least, r)
		}
		most := 0.0
		for o := range c.resident {
			want := ranks[o]/least - 1
			most = max(most, want)
			if got := float64(p.entries[o].dependants) / pageRankUnit; math.Abs(got-want) > 1e-4 {
				t.Errorf("seed %d: entry %d gets %v from links, want %v", seed, o, got, want)
			}
		}
		if most < 1 {
			t.Errorf("seed %d: the highest is %v, so hardly anything was tested", seed, most)
		}
	}
}

// TestLongIdleness has topics that fade far below the smallest floating-point number.
func TestLongIdleness(t *testing.T) {
	g := randomGraph(1, 4)
	p := newFor(t, "rac(alpha=1,routing=label)", 3, g, 2, []int32{0, 1, 1, 2})
	c := &cacheOf{policy: p, graph: g, tauHit: 2, capacity: 3, resident: map[policies.Object]bool{}}
	for _, q := range []policies.Object{1, 2, 0} {
		c.serve(q)
	}
	p.clock += 1 << 30
	if _, _, victims := c.serve(3); !slices.Equal(victims, []policies.Object{1}) {
		t.Errorf("%v leaves, want 1: its topic was worth 0.75 when topic 0 was worth 1", victims)
	}
	c.serve(2)
	if _, _, victims := c.serve(1); !slices.Equal(victims, []policies.Object{0}) {
		t.Errorf("%v leaves, want 0, whose topic was idle", victims)
	}
}

func TestRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"rac(alpha=-1)":                     "alpha=-1: want a number from 0 to 1000, or one divided by the capacity",
		"rac(alpha=NaN)":                    "alpha=NaN: want a number",
		"rac(alpha=1/D)":                    "alpha=1/D: want a number",
		"rac(damping=0.5)":                  "write structure=pagerank",
		"rac(strict=true,tau-route=0.5)":    "strict=true sets tau-route",
		"rac(strict=true,keep-tp=0)":        "strict=true sets keep-tp",
		"rac(tau-edge=1.5)":                 "from 0 to 1",
		"topic-lru(alpha=1)":                "alpha",
		"rac(structure=trees)":              "want one of links, pagerank",
		"rac(window=0)":                     "from 1",
		"rac(shortlist=0)":                  "from 1",
		"rac(variant=none,structure=links)": "want one of full",
	} {
		must.NotGet(policies.Registry.Parse(text))(t, want, text)
	}
	spec := must.Get(policies.Registry.Parse("rac(routing=label)"))(t)
	if _, err := spec.Entry.New(policies.Config{Capacity: 1, Objects: 1, Params: spec.Params,
		Relations: &policies.Relations{}}); err == nil ||
		!strings.Contains(err.Error(), "needs a trace with topic labels") {
		t.Errorf("routing by labels without labels: error %v", err)
	}
}

func TestAlpha(t *testing.T) {
	for text, want := range map[string]float64{"1/C": 0.01, "0.5/C": 0.005, "0.05": 0.05, "0": 0, "0/C": 0} {
		if got, err := parseFading(text, 100); err != nil || got != want {
			t.Errorf("%s at a capacity of 100: %v, %v, want %v", text, got, err, want)
		}
	}
}

// TestSteadyStateAllocatesNothing replays until all topics have been seen, and all buffers have grown, and then again.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, text := range []string{"rac(keep-tp=1)", "rac-adaptive(keep-tp=1)"} {
		g := randomGraph(3, 100)
		p := newCache(t, text, 20, g, 2).policy
		resident := make([]bool, g.n)
		requests, n := requestsTo(2, g.n, 3000), 0
		replay := func() {
			for _, q := range requests {
				r := policies.Request{Object: q, Query: q, Size: 1}
				if resident[q] {
					p.Hit(r)
					continue
				}
				p.Miss(r)
				for ; n >= 20; n-- {
					resident[p.Victim(r)] = false
				}
				p.Insert(r)
				resident[q] = true
				n++
			}
		}
		replay()
		replay()
		if n := testing.AllocsPerRun(3, replay); n > 0 {
			t.Errorf("%s: %v allocations per replay", text, n)
		}
	}
}
