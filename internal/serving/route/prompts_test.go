package route

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// nodeStates are nodes whose states are written down.
type nodeStates []nodeState

type nodeState struct {
	prompts, waiting int
	tokens           int64
	usage            float64
	resident         map[dense.Object]bool
}

func (s nodeStates) Prompts(node int) int                  { return s[node].prompts }
func (s nodeStates) Tokens(node int) int64                 { return s[node].tokens }
func (s nodeStates) Waiting(node int) int                  { return s[node].waiting }
func (s nodeStates) Usage(node int) float64                { return s[node].usage }
func (s nodeStates) Resident(node int) int64               { return int64(len(s[node].resident)) }
func (s nodeStates) Has(node int, block dense.Object) bool { return s[node].resident[block] }

// numbers gives each beginning of a text, of which a letter is a block, the number of its last block.
type numbers map[string]dense.Object

func (n numbers) of(text string) (blocks []dense.Object) {
	for i := range text {
		prefix := text[:i+1]
		if _, known := n[prefix]; !known {
			n[prefix] = dense.Object(len(n))
		}
		blocks = append(blocks, n[prefix])
	}
	return blocks
}

const blockTokens = 16

// prompt returns a prompt of full blocks.
func (n numbers) prompt(text string) Prompt {
	return Prompt{Blocks: n.of(text), Tokens: blockTokens * len(text), Session: -1}
}

func newRouter(t must.TB, call string, nodes int, s State) Router {
	t.Helper()
	spec := must.Get(Registry.Parse(must.Get(WithNodes(call, strconv.Itoa(nodes)))(t)))(t)
	return spec.Entry.New(Config{Params: spec.Params, Nodes: nodes, Objects: 1 << 12, BlockTokens: blockTokens,
		Sessions: 64, Capacity: 100, Seed: 7, State: s})
}

// TestRoutersOfPrompts works out small cases by hand. Each prompt is routed after those before it, to three nodes.
func TestRoutersOfPrompts(t *testing.T) {
	busy := nodeStates{{prompts: 4, tokens: 10}, {prompts: 2, tokens: 90}, {prompts: 3, tokens: 80}}
	idle := nodeStates{{}, {}, {}}
	for _, test := range []struct {
		router string
		state  nodeStates
		texts  string
		want   []int
	}{
		{"round-robin", busy, "a a b a", []int{0, 1, 2, 0}},
		{"least-loaded", busy, "a b", []int{1, 1}},
		{"least-loaded(load=tokens)", busy, "a b", []int{0, 0}},
		{"least-loaded", idle, "a", []int{0}},
		// abcd goes to the smallest tree, abce matches three of four blocks of it, abxy two of four, which is not above a
		// half, and so goes to another tree; then node 2 has the smallest
		{"prefix-aware", idle, "abcd abce abxy xyz", []int{0, 0, 1, 2}},
		{"prefix-aware(cache_threshold=0.4)", idle, "abcd abce abxy xyz", []int{0, 0, 0, 1}},
		// 4 is more than 2 by 2, and twice as much
		{"prefix-aware(balance_abs_threshold=1)", busy, "abcd abcd", []int{1, 1}},
		{"prefix-aware(balance_abs_threshold=2)", busy, "abcd abcd", []int{0, 0}},
		{"prefix-aware(balance_abs_threshold=1,balance_rel_threshold=2)", busy, "abcd abcd", []int{0, 0}},
		// whatever it has sent, nothing is resident
		{"prefix-exact", busy, "abcd abcd", []int{1, 1}},
	} {
		r, known := newRouter(t, test.router, 3, test.state), numbers{}
		var got []int
		for text := range strings.FieldsSeq(test.texts) {
			got = append(got, r.Route(known.prompt(text), 3))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s routes %s to %v, want %v", test.router, test.texts, got, test.want)
		}
	}
}

func TestPrefixExactKnowsWhatIsResident(t *testing.T) {
	known := numbers{}
	p := known.prompt("abcd")
	s := nodeStates{{prompts: 5}, {}, {prompts: 1}}
	for node, blocks := range []int{3, 2, 3} {
		s[node].resident = map[dense.Object]bool{}
		for _, block := range p.Blocks[:blocks] {
			s[node].resident[block] = true
		}
	}
	r := newRouter(t, "prefix-exact", 3, s)
	if node := r.Route(p, 3); node != 2 {
		t.Errorf("node %d, want 2: it has as many blocks as node 0, and fewer prompts", node)
	}
	if node := r.Route(known.prompt("axyz"), 3); node != 1 {
		t.Errorf("node %d, want 1, with the fewest blocks: a quarter of the prompt is not enough", node)
	}
	if node := r.Route(known.prompt("abcx"), 2); node != 0 {
		t.Errorf("node %d of two, want 0", node)
	}
}

// naiveAware is the rule of SGLang's router with sets of texts, slowly and plainly.
type naiveAware struct {
	trees          []map[string]int // per node: the time of each prefix
	share          float64
	absolute       int
	relative       float64
	room, interval int
	due, time      int
}

func (r *naiveAware) route(text string, now int, loads []int) (node int) {
	r.time++
	n := len(loads)
	least, most := slices.Min(loads), slices.Max(loads)
	if most-least > r.absolute && float64(most) > r.relative*float64(least) {
		node = slices.Index(loads, least)
	} else {
		node = r.balanced(text, n)
	}
	r.touch(text, node)
	full := len(r.trees[node]) > 2*r.room
	if now >= r.due || full {
		r.due = now + r.interval
		for _, tree := range r.trees {
			r.cut(tree)
		}
	}
	return node
}

func (r *naiveAware) balanced(text string, n int) (node int) {
	for length := len(text); length > 0; length-- {
		for holder := range n {
			if _, has := r.trees[holder][text[:length]]; !has {
				continue
			}
			r.touch(text[:length], holder)
			if float64(length) > r.share*float64(len(text)) {
				return holder
			}
			return r.smallest(n)
		}
	}
	return r.smallest(n)
}

func (r *naiveAware) smallest(n int) (node int) {
	for k := range n {
		if len(r.trees[k]) < len(r.trees[node]) {
			node = k
		}
	}
	return node
}

func (r *naiveAware) touch(text string, node int) {
	for i := range text {
		r.trees[node][text[:i+1]] = r.time
	}
}

// cut evicts the oldest leaves.
func (r *naiveAware) cut(tree map[string]int) {
	for len(tree) > r.room {
		leaves := slices.DeleteFunc(slices.Collect(maps.Keys(tree)), func(p string) bool {
			for other := range tree {
				if len(other) == len(p)+1 && strings.HasPrefix(other, p) {
					return true
				}
			}
			return false
		})
		delete(tree, slices.MinFunc(leaves, func(a, b string) int { return cmp.Compare(tree[a], tree[b]) }))
	}
}

func TestPrefixAwareEqualsNaive(t *testing.T) {
	matched, evicted, balanced := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		room := rapid.IntRange(1, 12).Draw(t, "room")
		naive := &naiveAware{trees: make([]map[string]int, nodes), room: room,
			share:    rapid.SampledFrom([]float64{0, 0.3, 0.5, 1}).Draw(t, "share"),
			absolute: rapid.IntRange(0, 4).Draw(t, "absolute"), relative: rapid.Float64Range(0, 3).Draw(t, "relative"),
			interval: rapid.IntRange(1, 9).Draw(t, "interval")}
		naive.due = naive.interval
		for i := range naive.trees {
			naive.trees[i] = map[string]int{}
		}
		s := make(nodeStates, nodes)
		r := newRouter(t, fmt.Sprintf("prefix-aware(cache_threshold=%v,balance_abs_threshold=%d,balance_rel_threshold=%v,"+
			"eviction_interval=%d,max_tree_size=%d)", naive.share, naive.absolute, naive.relative, naive.interval,
			room*blockTokens+blockTokens/2), nodes, s)
		known, now, up := numbers{}, 0, nodes
		for range 60 {
			now += rapid.IntRange(0, 2).Draw(t, "passes")
			if rapid.IntRange(0, 15).Draw(t, "resize") == 0 {
				up = rapid.IntRange(1, nodes).Draw(t, "up")
				r.Keep(up)
				for node := up; node < nodes; node++ {
					clear(naive.trees[node])
				}
			}
			loads := make([]int, up)
			for node := range loads {
				loads[node] = rapid.IntRange(0, 6).Draw(t, "load")
				s[node].prompts = loads[node]
			}
			text := rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 1, 8, -1).Draw(t, "text")
			p := known.prompt(text)
			p.Now = time.Duration(now) * time.Second
			before := len(naive.trees[0])
			got, want := r.Route(p, up), naive.route(text, now, loads)
			if got != want {
				t.Fatalf("%s goes to node %d, want %d", text, got, want)
			}
			if len(naive.trees[0]) < before {
				evicted++
			}
			if want > 0 {
				matched++
			}
			if slices.Max(loads)-slices.Min(loads) > naive.absolute {
				balanced++
			}
			for node, tree := range naive.trees {
				if have := r.(*prefixAware).index.(*trees).of[node].blocks; have != int64(len(tree)) ||
					have > int64(2*room) {
					t.Fatalf("the tree of node %d has %d blocks, want %d, at most %d", node, have, len(tree), 2*room)
				}
			}
		}
	})
	seeded.Covers(t, matched > 0 && evicted > 0 && balanced > 0, "%d prompts went to other nodes than 0, %d evicted, "+
		"%d found loads out of balance: too little is tested", matched, evicted, balanced)
}

// TestLLMDScores compares the chosen node with scores that are computed from lists, and how often ties go to whom.
func TestLLMDScores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const first, room = 5, 9
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		weight := rapid.SampledFrom([]float64{0, 1, 2, 3})
		prefix, queue, kv := weight.Draw(t, "prefix"), weight.Draw(t, "queue"), weight.Draw(t, "kv")
		s := make(nodeStates, nodes)
		r := newRouter(t, fmt.Sprintf("llm-d(prefix=%v,queue=%v,kv=%v,match_blocks=%d,lru_blocks=%d)", prefix, queue, kv,
			first, room), nodes, s)
		recent := make([][]string, nodes) // per node: the oldest first
		known := numbers{}
		for range 40 {
			text := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 1, 8, -1).Draw(t, "text")
			waiting := make([]int, nodes)
			for node := range s {
				waiting[node] = rapid.IntRange(0, 3).Draw(t, "waiting")
				s[node].waiting, s[node].usage = waiting[node], float64(rapid.IntRange(0, 2).Draw(t, "usage"))/2
			}
			var prefixes []string
			for i := range min(first, len(text)) {
				prefixes = append(prefixes, text[:i+1])
			}
			scores := make([]float64, nodes)
			for node := range scores {
				matched := 0
				for _, p := range prefixes {
					if !slices.ContainsFunc(recent, func(have []string) bool { return slices.Contains(have, p) }) {
						break
					}
					if slices.Contains(recent[node], p) {
						matched++
					}
				}
				short := 1.0
				if least, most := slices.Min(waiting), slices.Max(waiting); most > least {
					short = float64(most-waiting[node]) / float64(most-least)
				}
				scores[node] = prefix*float64(matched)/float64(len(prefixes)) + queue*short + kv*(1-s[node].usage)
			}
			node := r.Route(known.prompt(text), nodes)
			if best := slices.Max(scores); scores[node] < best-1e-12 {
				t.Fatalf("%s goes to node %d, whose score is %v of %v", text, node, scores[node], scores)
			}
			for _, p := range prefixes {
				recent[node] = append(slices.DeleteFunc(recent[node], func(have string) bool { return have == p }), p)
				recent[node] = recent[node][max(0, len(recent[node])-room):]
			}
		}
	})
}

func TestTiesOfLLMDAreEven(t *testing.T) {
	r := newRouter(t, "llm-d(prefix=0)", 4, nodeStates{{usage: 1}, {}, {}, {}})
	var counts [4]int
	for range 3000 {
		counts[r.Route(numbers{}.prompt("a"), 4)]++
	}
	if counts[0] != 0 || slices.Min(counts[1:]) < 900 {
		t.Errorf("counts %v, want none and then a third each", counts)
	}
}

func TestHashMovesOnlyWhatItMust(t *testing.T) {
	r := newRouter(t, "hash(blocks=2)", 8, nodeStates{})
	counts, moved := [8]int{}, 0
	for i := range 4000 {
		p := Prompt{Blocks: []dense.Object{dense.Object(i / 50), dense.Object(100 + i)}}
		node := r.Route(p, 8)
		counts[node]++
		p.Blocks = append(p.Blocks, 9999)
		if again := r.Route(p, 8); again != node {
			t.Fatalf("prompts with the same two first blocks go to nodes %d and %d", node, again)
		}
		switch fewer := r.Route(p, 7); {
		case node < 7 && fewer != node:
			t.Fatalf("node %d of 8 becomes %d of 7", node, fewer)
		case node == 7:
			moved++
		}
	}
	if slices.Min(counts[:]) < 400 || slices.Max(counts[:]) > 600 || moved != counts[7] {
		t.Errorf("counts %v, %d moved", counts, moved)
	}
}

func TestSessionsStay(t *testing.T) {
	s := nodeStates{{prompts: 1}, {}, {prompts: 2}}
	r := newRouter(t, "session(remember=2)", 3, s)
	to := func(session, nodes int) int {
		return r.Route(Prompt{Session: session, Blocks: []dense.Object{1}}, nodes)
	}
	if node := to(5, 3); node != 1 {
		t.Fatalf("a new conversation goes to node %d, want the least loaded", node)
	}
	s[1].prompts = 9
	for _, step := range []struct{ session, nodes, want int }{
		{5, 3, 1}, // it stays
		{6, 3, 0}, {5, 3, 1},
		{7, 3, 0}, // conversation 6 is forgotten
		{5, 3, 1},
	} {
		if node := to(step.session, step.nodes); node != step.want {
			t.Fatalf("conversation %d goes to node %d, want %d", step.session, node, step.want)
		}
	}
	s[0].prompts = 10
	if node := to(6, 3); node != 2 {
		t.Errorf("a conversation that was forgotten goes to node %d, want 2", node)
	}
	r.Keep(1) // conversation 5 was on node 1, and 6 on node 2
	if node := to(5, 1); node != 0 {
		t.Errorf("a conversation whose node is gone goes to node %d", node)
	}
	if node := to(5, 3); node != 0 {
		t.Errorf("it goes back to node %d", node)
	}
}

// TestMemoryOnASample: on a sample of a quarter a router remembers a quarter.
func TestMemoryOnASample(t *testing.T) {
	for call, quarter := range map[string]string{
		"session(remember=8)": "session(remember=2)", "llm-d(lru_blocks=20)": "llm-d(lru_blocks=5)",
		"prefix-aware(max_tree_size=160)": "prefix-aware(max_tree_size=40)", "session(remember=1)": "session(remember=1)",
		"llm-d": "llm-d", // as many as the cache, whose capacity is scaled already
	} {
		s := nodeStates{{}, {}, {}}
		sampled, want := must.Get(Registry.Parse(must.Get(WithNodes(call, "3"))(t)))(t), newRouter(t, quarter, 3, s)
		got := sampled.Entry.New(Config{Params: sampled.Params, Nodes: 3, Objects: 1 << 12, BlockTokens: blockTokens,
			Sessions: 64, Capacity: 100, SampleRate: 0.25, Seed: 7, State: s})
		rng, names := rand.New(rand.NewPCG(4, 4)), numbers{}
		for i := range 400 {
			p := names.prompt(string([]byte{byte('a' + rng.IntN(4)), byte('a' + rng.IntN(4)), byte('a' + rng.IntN(4))}))
			p.Session = rng.IntN(9)
			s[rng.IntN(3)].prompts = rng.IntN(5)
			if a, b := got.Route(p, 3), want.Route(p, 3); a != b {
				t.Fatalf("%s on a sample: prompt %d goes to node %d, with %s to %d", call, i, a, quarter, b)
			}
		}
	}
}

func TestPowerOfTwo(t *testing.T) {
	s := nodeStates{{prompts: 3}, {prompts: 2}, {prompts: 1}, {prompts: 0}}
	r := newRouter(t, "power-of-two", 4, s)
	var counts [4]float64
	for range 6000 {
		counts[r.Route(Prompt{}, 4)] += 1. / 1000
	}
	// Of six pairs, the node with the k-th lowest load is the lower one of 4-k.
	for node, want := range []float64{0, 1, 2, 3} {
		if math.Abs(counts[node]-want) > 0.15 {
			t.Errorf("node %d has %.2f of 6 prompts, want %v", node, counts[node], want)
		}
	}
}

// TestRoutersOfPromptsAreSane: every router chooses a node that exists, the same one again after the same prompts, and
// node 0 of one.
func TestRoutersOfPromptsAreSane(t *testing.T) {
	for _, e := range Registry.All() {
		if e.New == nil {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
				s := make(nodeStates, nodes)
				one, two := newRouter(t, e.Name, nodes, s), newRouter(t, e.Name, nodes, s)
				known, up := numbers{}, nodes
				for range 30 {
					if rapid.IntRange(0, 9).Draw(t, "resize") == 0 {
						up = rapid.IntRange(1, nodes).Draw(t, "up")
						one.Keep(up)
						two.Keep(up)
					}
					for node := range s {
						s[node] = nodeState{prompts: rapid.IntRange(0, 50).Draw(t, "prompts"),
							waiting: rapid.IntRange(0, 9).Draw(t, "waiting"), usage: rapid.Float64Range(0, 1).Draw(t, "usage")}
					}
					p := known.prompt(rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 1, 6, -1).Draw(t, "text"))
					p.Session = rapid.IntRange(0, 63).Draw(t, "session")
					node, again := one.Route(p, up), two.Route(p, up)
					if node < 0 || node >= up || node != again {
						t.Fatalf("node %d of %d, and %d again", node, up, again)
					}
				}
			})
		})
	}
}

func TestRoutingDoesNotAllocate(t *testing.T) {
	known := numbers{}
	p := known.prompt("abcdefgh")
	p.Session = 3
	s := nodeStates{{}, {prompts: 50}, {}}
	for _, e := range Registry.All() {
		if e.New == nil {
			continue
		}
		r := newRouter(t, e.Name, 3, s)
		for range 3 {
			r.Route(p, 3)
		}
		if n := testing.AllocsPerRun(50, func() { r.Route(p, 3) }); n != 0 {
			t.Errorf("%s allocates %v times per prompt", e.Name, n)
		}
	}
}

func TestParseNodes(t *testing.T) {
	for text, want := range map[string][]Change{
		"8": {{0, 8}}, "4@0s,8@600s": {{0, 4}, {10 * time.Minute, 8}}, "4@0s+8@10m": {{0, 4}, {10 * time.Minute, 8}},
		"1024": {{0, 1024}}, "8, 4@1h30m,8@2h": {{0, 8}, {90 * time.Minute, 4}, {2 * time.Hour, 8}},
	} {
		if got, err := ParseNodes(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"0": "from 1 to 1024", "1000000000": "from 1 to 1024", "-1": "from 1 to 1024", "": "from 1 to 1024",
		"x": "no number of nodes", "99999999999999999999": "no number of nodes", "4@0s,8": "from which time on",
		"4@5s": "before 5s", "4@0s,8@600": "no time", "4@0s,8@-1s": "no time", "4@0s,8@9s,4@9s": "not after",
		"4@0s,8@600s,6@300s": "not after", "4@0s,4@600s": "already", "4@0s,,8@1s": "no number of nodes",
	} {
		if got, err := ParseNodes(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want an error with %q", text, got, err, want)
		}
	}
}

func FuzzParseNodes(f *testing.F) {
	f.Add("4@0s,8@600s")
	f.Fuzz(func(t *testing.T, text string) {
		changes, err := ParseNodes(text)
		for i, c := range changes {
			if c.Nodes < 1 || c.Nodes > MostNodes || i > 0 && c.At <= changes[i-1].At {
				t.Errorf("%q: %v", text, changes)
			}
		}
		if err == nil && len(changes) == 0 {
			t.Errorf("%q: no nodes and no error", text)
		}
	})
}

func TestWithNodes(t *testing.T) {
	for list, want := range map[string]string{
		"":                           "round-robin(nodes=4@0s+8@9s)",
		"hash(by=session),llm-d":     "hash(nodes=4@0s+8@9s,by=session),llm-d(nodes=4@0s+8@9s)",
		"joint":                      "joint",
		"least-loaded(load=prompts)": "least-loaded(nodes=4@0s+8@9s,load=prompts)",
	} {
		if got, err := WithNodes(list, "4@0s,8@9s"); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", list, got, err, want)
		}
	}
	for list, want := range map[string]string{"hash(nodes=3)": "of its own", "hash(": "unbalanced"} {
		if got, err := WithNodes(list, "8"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want an error with %q", list, got, err, want)
		}
	}
}

func TestRoutersOfRecommendationsAreEntries(t *testing.T) {
	want := []string{"joint", "kv", "embeddings", "least-loaded", "hash"}
	if got := Recommenders(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, err := Registry.Parse("joint"); err == nil || !strings.Contains(err.Error(), "recommender(router=joint)") {
		t.Errorf("joint routes prompts: %v", err)
	}
}

func BenchmarkRoutePrompts(b *testing.B) {
	known := numbers{}
	p := known.prompt(strings.Repeat("abcd", 8))
	p.Session = 3
	for _, e := range Registry.All() {
		if e.New == nil {
			continue
		}
		b.Run(e.Name, func(b *testing.B) {
			r := newRouter(b, e.Name, 8, make(nodeStates, 8))
			b.ReportAllocs()
			for b.Loop() {
				r.Route(p, 8)
			}
		})
	}
}
