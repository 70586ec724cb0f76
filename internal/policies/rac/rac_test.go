package rac

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/similarity"
)

// graph is n queries and how similar they are; pairs below from are not listed.
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

// randomGraph has groups of queries that are similar to each other, with many equal similarities.
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

func parse(tb testing.TB, text string) policies.Spec {
	tb.Helper()
	spec, err := policies.ParseSpec(text)
	if err != nil {
		tb.Fatal(err)
	}
	return spec
}

// newRACFor builds rac over a graph.
func newRACFor(tb testing.TB, text string, capacity int, g *graph, hitFrom float32, labels []int32) *policy {
	tb.Helper()
	spec := parse(tb, text)
	p, err := spec.Entry.New(policies.Config{
		Capacity: int64(capacity), Unit: true, Objects: g.n, Params: spec.Params,
		Relations: &policies.Relations{Similar: g.neighbours(), HitFrom: hitFrom, Topics: labels},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return p.(*policy)
}

// cacheOf is a semantic cache, reduced to what tests need.
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

// serve serves a query and returns the entry that it hits and what leaves.
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
	for _, name := range strings.Fields("a0 a1 a2 a3 a4 a5 b0 b1 b2 b3 b4 b5 a0 a1* a2* a3* a4* a5* b0* b1* b2 b3* b4* b5*") {
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

// TestExample1 holds rac to section 9 of the specification: hits where only the same query hits and topics are known.
func TestExample1(t *testing.T) {
	g, requests, names, topics := example1()
	hits := func(params string) (n int, log []string, final []string) {
		p := newRACFor(t, "rac(routing=label,"+params+")", 6, g, 2, topics)
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

// TestEqualsNaive holds the policy to an implementation that follows the specification and knows neither heaps nor lists.
func TestEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(rapid.Uint64().Draw(t, "graph"), rapid.IntRange(2, 40).Draw(t, "queries"))
		n := drawNaive(t, g)
		alpha := n.alpha
		text := fmt.Sprintf("rac(alpha=%v,lambda=%v,tau-route=%v,tau-edge=%v,window=%d,shortlist=%d,keep-tp=%d,protect-new=%v,reparent-if-gone=%v,same-topic=%v,"+
			"variant=%s", alpha, n.lambda, n.tauRoute, n.tauEdge, n.window, n.shortlist, n.keep/n.capacity, n.protectNew, n.reparent, n.sameTopic, n.variant)
		if n.pagerank {
			text += fmt.Sprintf(",structure=pagerank,damping=%v", n.damping)
		}
		if n.labels != nil {
			text += ",routing=label"
		}
		p := newRACForRapid(t, text+")", n.capacity, g, n.tauHit, n.labels)
		c := &cacheOf{policy: p, graph: g, tauHit: n.tauHit, inTopic: n.inTopic, capacity: n.capacity, resident: map[policies.Object]bool{}}
		requests := rapid.SliceOfN(rapid.Uint32Range(0, uint32(g.n-1)), 20, 300).Draw(t, "requests")
		for i, q := range requests {
			wantHit := n.arrive(q)
			entry, hit, victims := c.serve(q)
			if hit != (wantHit != nil) || hit && entry != wantHit.id {
				t.Fatalf("request %d to %d: hits %d (%v), want %+v", i, q, entry, hit, wantHit)
			}
			for _, v := range victims {
				want := n.victim()
				got := n.resident[v]
				// Values of different topics that are equal up to rounding may come out in either order.
				near := alpha > 0 && got.topic != want.topic && n.value(got) <= n.value(want)*(1+1e-9)
				if got != want && !near {
					t.Fatalf("request %d to %d: %d leaves, worth %v, want %d, worth %v", i, q, v, n.value(got), want.id, n.value(want))
				}
				n.evict(got)
			}
			if rapid.IntRange(0, 20).Draw(t, "remove") == 0 && c.resident[q] {
				p.Remove(q)
				delete(c.resident, q)
				n.evict(n.resident[q])
			}
			compare(t, p, n)
		}
	})
}

// drawNaive draws parameters.
func drawNaive(t *rapid.T, g *graph) *naive {
	flip := func(name string) bool { return rapid.Bool().Draw(t, name) }
	n := &naive{
		capacity: rapid.IntRange(1, 12).Draw(t, "capacity"), sim: g.sim, resident: map[policies.Object]*naiveEntry{},
		alpha: rapid.SampledFrom([]float64{0, 0.013, 0.1, 0.25, 1}).Draw(t, "alpha"), lambda: rapid.SampledFrom([]float64{0, 0.3, 1, 5}).Draw(t, "lambda"),
		damping: rapid.SampledFrom([]float64{0.3, 0.85}).Draw(t, "damping"), tauHit: rapid.SampledFrom([]float32{0.7, 0.85, 2}).Draw(t, "hit"),
		tauRoute: rapid.SampledFrom([]float32{0.2, 0.5, 0.6, 0.85}).Draw(t, "route"), tauEdge: rapid.SampledFrom([]float32{0.2, 0.5, 0.7}).Draw(t, "edge"),
		window: rapid.SampledFrom([]int{1, 5, 32}).Draw(t, "window"), shortlist: rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "shortlist"),
		protectNew: flip("protect"), reparent: flip("reparent"), sameTopic: flip("same topic"), pagerank: flip("pagerank"), inTopic: flip("in topic"),
		variant: rapid.SampledFrom([]string{variantFull, variantNoTP, variantNoTSI}).Draw(t, "variant"),
	}
	n.keep = n.capacity * rapid.SampledFrom([]int{0, 1, 10}).Draw(t, "keep")
	if flip("label") {
		n.labels = make([]int32, g.n)
		for o := range n.labels {
			n.labels[o] = int32(o % 5)
		}
	}
	return n
}

func newRACForRapid(t *rapid.T, text string, capacity int, g *graph, hitFrom float32, labels []int32) *policy {
	spec, err := policies.ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := spec.Entry.New(policies.Config{
		Capacity: int64(capacity), Unit: true, Objects: g.n, Params: spec.Params,
		Relations: &policies.Relations{Similar: g.neighbours(), HitFrom: hitFrom, Topics: labels},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p.(*policy)
}

// compare fails where the policy has come to another state than the naive one.
func compare(t *rapid.T, p *policy, n *naive) {
	number := map[*naiveTopic]topicID{}
	for o, e := range n.resident {
		got := p.entries[o]
		if p.seen[o] == 0 || got.importance != n.importance(e) || int(got.requests) != e.freq {
			t.Fatalf("request %d: entry %d is %+v, want importance %v and %d requests", n.now, o, got, n.importance(e), e.freq)
		}
		if (got.parent != none) != (e.parent != nil) || e.parent != nil && e.parent.id != got.parent {
			t.Fatalf("request %d: entry %d builds on %d, want %+v", n.now, o, got.parent, e.parent)
		}
		if s, ok := number[e.topic]; ok && s != got.topic {
			t.Fatalf("request %d: entry %d is in topic %d, want %d", n.now, o, got.topic, s)
		}
		number[e.topic] = got.topic
	}
	for s, id := range number {
		got := p.topics[id]
		if int(got.members) != len(s.members) || (got.anchor != none) != (s.src != nil) || s.src != nil && got.anchor != s.src.id {
			t.Fatalf("request %d: topic %d is %+v, want %d entries and anchor %+v", n.now, id, got, len(s.members), s.src)
		}
		if n.labels == nil && got.representative != s.rep {
			t.Fatalf("request %d: topic %d is represented by %d, want %d", n.now, id, got.representative, s.rep)
		}
	}
	if alive, dead := len(p.alive.ranks), len(p.dead.ranks); alive != len(number) || dead != len(n.dead()) {
		t.Fatalf("request %d: %d topics with entries and %d without, want %d and %d", n.now, alive, dead, len(number), len(n.dead()))
	}
	if int(p.refreshes) != n.refreshes || int(p.figures.links) != n.newLinks {
		t.Fatalf("request %d: %d refreshes and %d links, want %d and %d", n.now, p.refreshes, p.figures.links, n.refreshes, n.newLinks)
	}
}
