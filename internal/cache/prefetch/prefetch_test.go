package prefetch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// lru is a cache of addresses, newest last, that does with proposals what package cache does.
type lru struct {
	prefetcher Prefetcher
	capacity   int
	keys       []uint64
	unused     map[uint64]int // how often what was not asked for since has been loaded

	pos                     int
	misses, loads, useful   int
	longest                 int
	wanted                  []uint64 // that Evicted wanted back
	proposed, loaded, again []uint64 // of the last request
}

func newLRU(text string, capacity int) *lru {
	spec, err := Registry.Parse(text)
	if err != nil {
		panic(err)
	}
	return &lru{prefetcher: New(spec, Config{}), capacity: capacity, unused: map[uint64]int{}}
}

func (c *lru) resident(key uint64) bool { return slices.Contains(c.keys, key) }

func (c *lru) request(key uint64) {
	c.proposed, c.loaded, c.again = nil, nil, nil
	i := slices.Index(c.keys, key)
	hit, prefetched := i >= 0, c.unused[key] > 0
	if hit {
		c.keys = append(slices.Delete(c.keys, i, i+1), key)
	} else {
		c.misses++
		c.load(key)
	}
	if prefetched {
		c.useful++
	}
	delete(c.unused, key)
	c.takeBack()
	proposals := c.prefetcher.Request(Access{Object: Object(key), Key: key, Pos: c.pos, Size: 1, Hit: hit,
		Prefetched: prefetched, Resident: c.resident(key)}, nil)
	c.longest = max(c.longest, len(proposals))
	for _, p := range proposals {
		c.proposed = append(c.proposed, p.Key+uint64(p.Object))
		c.propose(p, 1)
		c.takeBack()
	}
	c.pos++
}

func (c *lru) propose(p Proposal, times int) {
	key := p.Key + uint64(p.Object)
	if c.resident(key) {
		return
	}
	c.load(key)
	c.unused[key] = times
	if times == 1 {
		c.loads++
		c.loaded = append(c.loaded, key)
	}
	if w, ok := c.prefetcher.(Watcher); ok {
		w.Loaded(p)
	}
}

// load puts a key in, and tells the prefetcher who leaves.
func (c *lru) load(key uint64) {
	if len(c.keys) == c.capacity {
		victim := c.keys[0]
		c.keys = c.keys[1:]
		w, ok := c.prefetcher.(Watcher)
		if ok && w.Evicted(Eviction{Object: Object(victim), Key: victim, Unused: c.unused[victim]}) {
			c.wanted = append(c.wanted, victim)
		} else {
			delete(c.unused, victim)
		}
	}
	c.keys = append(c.keys, key)
}

func (c *lru) takeBack() {
	for len(c.wanted) > 0 {
		key := c.wanted[0]
		c.wanted = c.wanted[1:]
		c.again = append(c.again, key)
		p := Proposal{Key: key}
		if _, ok := c.prefetcher.(*mithril); ok {
			p = Proposal{Object: Object(key)}
		}
		c.propose(p, c.unused[key]+1)
	}
}

// withoutTrace returns the prefetchers that need no trace. The others have tests of their own, with traces.
func withoutTrace() (names []string) {
	for _, e := range Registry.All() {
		if !e.Files && !e.Future {
			names = append(names, e.Name)
		}
	}
	return names
}

// specs are the prefetchers with defaults, and others that make them do more.
func specs() []string {
	return append(withoutTrace(), "next(n=3,step=2)", "next(when=miss,after=2)", "next(when=tagged)",
		"stride(n=4,zone=16,table=2)", "stride(n=4,run=4,distance=1)", "readahead(max=3,sessions=1)",

		"amp(read=2,apt=2,max=8)", "amp(rule=mimircache,read=2,max=8)",
		"mithril(mining=16,recording=9000,table=30)", "mithril(rule=all,mining=16)",
		"mithril(min=1,mining=8,record=all,list=1)",
		"mithril(min=3,max=3,mining=12,chances=2)", "igt(window=20,steps=0.1)", "igt(window=9,steps=0,depth=64,nodes=40)")
}

// mixed returns requests of a few streams, of loops and of random keys.
func mixed(seed uint64, n int) []uint64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	streams := []uint64{1000, 2000, 3000}
	var keys []uint64
	for len(keys) < n {
		switch s := rng.IntN(5); s {
		case 0, 1, 2:
			streams[s] += uint64(1 + s)
			keys = append(keys, streams[s])
		case 3:
			group := 4000 + 10*uint64(rng.IntN(1500)) // three that are always asked for together
			keys = append(keys, group, group+7, group+3)
		default:
			keys = append(keys, uint64(rng.IntN(300)))
		}
	}
	return keys[:n]
}

func TestEveryPrefetcherIsDeterministic(t *testing.T) {
	for _, text := range specs() {
		t.Run(text, func(t *testing.T) {
			a, b, other := newLRU(text, 40), newLRU(text, 40), newLRU(text, 5)
			for _, key := range mixed(7, 20000) {
				a.request(key)
				other.request(key + 1) // shares nothing with them
				b.request(key)
				if !slices.Equal(a.proposed, b.proposed) || !slices.Equal(a.again, b.again) {
					t.Fatalf("at key %d: proposals %v and %v, wanted back %v and %v", key, a.proposed, b.proposed, a.again,
						b.again)
				}
			}
			if a.loads == 0 && text != "none" && text != "igt" { // no stream there is sequential for igt
				t.Error("nothing was loaded, want proposals that are not always resident")
			}
		})
	}
}

// No prefetcher proposes what was just requested, or what is far from all addresses; proposals are appended; and
// loading evicted objects again comes to an end.
func TestEveryPrefetcherKeepsToItsLimits(t *testing.T) {
	for _, text := range specs() {
		t.Run(text, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				c := newLRU(text, rapid.IntRange(1, 12).Draw(r, "capacity"))
				spec, _ := Registry.Parse(text)
				near := rapid.Uint64Range(0, 60)
				edge := rapid.Uint64Range(math.MaxUint64-3, math.MaxUint64)
				key := rapid.OneOf(near, near, near, edge)
				if !spec.Entry.Addresses {
					key = near
				}
				seen := map[uint64]bool{}
				for range 200 {
					k := key.Draw(r, "key")
					seen[k] = true
					c.request(k)
					for _, p := range c.proposed {
						if p == k {
							r.Fatalf("%d is proposed while it is asked for", k)
						}
						if !spec.Entry.Addresses && !seen[p] {
							r.Fatalf("object %d is proposed, which was never asked for", p)
						}
					}
					if len(c.again) > 10*c.capacity {
						r.Fatalf("%d objects are wanted back at once", len(c.again))
					}
				}
				if c.longest > 256 {
					r.Errorf("%d proposals at once", c.longest)
				}
			})
		})
	}
}

// Whatever the trace asks for, no prefetcher takes more than its tables and what it knows of 1000 residents: once these
// are full, it allocates nothing.
func TestMemoryOfEveryPrefetcherIsBounded(t *testing.T) {
	const residents = 1000
	for _, name := range withoutTrace() {
		t.Run(name, func(t *testing.T) {
			p := mustNew(t, name)
			watcher, _ := p.(Watcher)
			proposals := make([]Proposal, 0, 1024)
			pos := 0
			run := func() {
				for end := pos + 300_000; pos < end; pos++ {
					key := uint64(pos)
					proposals = p.Request(Access{Object: Object(key / 2), Key: key * 7, Pos: pos, Size: 1, Resident: true},
						proposals[:0])
					if watcher != nil && pos >= residents {
						gone := uint64(pos - residents)
						watcher.Evicted(Eviction{Object: Object(gone / 2), Key: gone * 7})
					}
				}
			}
			const few = 100                                                     // the runtime allocates now and then
			if allocations := testing.AllocsPerRun(1, run); allocations > few { // the first of two runs fills tables
				t.Errorf("%v allocations for 300,000 further objects, want at most %d", allocations, few)
			}
		})
	}
}

func TestProposalsAreAppended(t *testing.T) {
	mark := Proposal{Object: 99, Key: 99}
	for _, text := range specs() {
		spec, _ := Registry.Parse(text)
		p := New(spec, Config{})
		for pos, key := range []uint64{1, 2, 3, 1, 2, 3, 4, 5, 6, 1, 2, 3} {
			got := p.Request(Access{Object: Object(key), Key: key, Pos: pos, Size: 1, Resident: true}, []Proposal{mark})
			if len(got) == 0 || got[0] != mark {
				t.Fatalf("%s: proposals %v do not begin with those that were handed in", text, got)
			}
		}
	}
}

// check compares what is loaded after each request with what is expected: "5:6,7 6:" means that 5 loads 6 and 7.
func check(t *testing.T, c *lru, steps string) {
	t.Helper()
	for _, step := range strings.Fields(steps) {
		var key uint64
		request, want, _ := strings.Cut(step, ":")
		must.Get(fmt.Sscan(request, &key))(t)
		c.request(key)
		var texts []string
		for _, k := range c.loaded {
			texts = append(texts, fmt.Sprint(k))
		}
		if got := strings.Join(texts, ","); got != want {
			t.Errorf("request %d at position %d loads %q, want %q", key, c.pos-1, got, want)
		}
	}
}

func TestNext(t *testing.T) {
	for text, steps := range map[string]string{
		"none":                     "5: 6: 7:",
		"next":                     "5:6 6:7 9:10 6:",
		"next(n=3)":                "5:6,7,8 6:9 20:21,22,23",
		"next(step=8)":             "5:13 13:21",
		"next(when=miss)":          "5:6 6: 7:8",
		"next(when=tagged)":        "5:6 5: 6:7 6: 7:8",
		"next(after=2)":            "5: 6: 7:8 8:9 3: 4: 4: 5: 6: 7:",
		"next(after=1,step=2)":     "5: 6: 8:10 10:12",
		"next(n=2,after=1)":        "18446744073709551613: 18446744073709551614:18446744073709551615",
		"next(step=1099511627776)": "18446744073709551615: 0:1099511627776",
	} {
		t.Run(text, func(t *testing.T) { check(t, newLRU(text, 100), steps) })
	}
}

func TestNextChargesItsSize(t *testing.T) {
	spec := must.Get(Registry.Parse("next(size=512)"))(t)
	got := New(spec, Config{}).Request(Access{Key: 7, Size: 4096}, nil)
	if want := []Proposal{{Key: 8, Size: 512}}; !slices.Equal(got, want) {
		t.Errorf("proposals %v, want %v", got, want)
	}
}

// The states are those of figure 4 of Chen and Baer: initial, transient, steady, no prediction.
func TestStride(t *testing.T) {
	for name, tt := range map[string]struct{ text, steps string }{
		"two equal distances are steady":    {"stride", "100: 103: 106:109 109:112 112:115"},
		"backwards":                         {"stride(n=2)", "100: 97: 94:91,88 91:85 88:82"},
		"the same address says nothing":     {"stride", "100: 103: 103: 106:109 106: 109:112"},
		"a break keeps the distance":        {"stride", "10: 12: 14:16 40: 42:44"},
		"one that goes on breaks after two": {"stride", "10: 12: 14:16 40: 45: 50:55"},
		"irregular needs three":             {"stride", "10: 12: 15: 20: 25: 30:35"},
		"zones do not disturb each other":   {"stride(zone=100)", "10: 510: 13: 511: 16:19 512:513 19:22 513:514"},
		"a table of one row":                {"stride(zone=100,table=1)", "10: 510: 13: 511: 16: 512:"},
		"no address below 0":                {"stride(n=3)", "8: 5: 2: 1:"},
		"four in a row, four more": {"stride(n=4,run=4)",
			"5: 6: 7: 8:9,10,11,12 9: 10: 11: 12:13,14,15,16 20: 21: 22: 23:24,25,26,27"},
		"two in a row":                      {"stride(n=1,run=2)", "5: 8:11 9:10 12:15 15: 18:21"},
		"the same one does not count twice": {"stride(n=2,run=2)", "5: 6:7,8 6: 8:10,12"},
		"one distance only":                 {"stride(n=2,run=3,distance=1)", "5: 8: 11: 12: 13:14,15 12: 11: 10:"},
		"one distance only, when steady":    {"stride(n=1,distance=2)", "5: 8: 11: 13: 15: 17:19"},
		"no address above the last": {"stride(n=2)",
			"18446744073709551611: 18446744073709551613: 18446744073709551615:"},
	} {
		t.Run(name, func(t *testing.T) { check(t, newLRU(tt.text, 100), tt.steps) })
	}
}

// A steady row proposes the same addresses again after the same address; any other row proposes nothing.
func TestStrideAtTheSameAddress(t *testing.T) {
	p := mustNew(t, "stride")
	for i, step := range []struct{ key, want uint64 }{{100, 0}, {103, 0}, {103, 0}, {106, 109}, {106, 109}, {106, 109},
		{50, 0}, {50, 0}} {
		got := p.Request(Access{Key: step.key, Resident: true}, nil)
		if step.want == 0 && len(got) > 0 || step.want > 0 && (len(got) != 1 || got[0].Key != step.want) {
			t.Errorf("request %d for %d proposes %v, want %d", i, step.key, got, step.want)
		}
	}
}

// The degree of a stream grows with each miss next to what is resident and with each set that is used up.
func TestAMPGrowsWithTheStream(t *testing.T) {
	c := newLRU("amp", 1000)
	check(t, c, "100: 101:102 102: 103:104,105,106 104: 105: 106: 107:108,109,110,111,112")
	// The degree is above 4 now: two pages ahead of its last the set has the next one loaded.
	check(t, c, "108: 109: 110:113,114,115,116,117,118 111: 112: 113: 114: 115: 116:119,120,121,122,123,124,125")
	if c.misses != 4 {
		t.Errorf("%d misses, want 4", c.misses)
	}
}

func TestAMPShrinksWhereItLoadsInVain(t *testing.T) {
	c := newLRU("amp", 8)
	check(t, c, "100: 101:102 102: 103:104,105,106")
	if got := c.prefetcher.(*amp).pages[106].degree; got != 4 {
		t.Fatalf("the degree of the set is %d, want 4", got)
	}
	// Other requests evict 100 to 103, then the unrequested objects, which get one more chance.
	check(t, c, "1000: 2000: 3000: 4000: 5000: 6000:")
	if !slices.Equal(c.again, []uint64{104, 105, 106}) {
		t.Fatalf("%v were wanted back, want 104 to 106", c.again)
	}
	if got := c.prefetcher.(*amp).pages[106].degree; got != 1 {
		t.Errorf("the degree of the set is %d, want 1", got)
	}
	for key := uint64(7000); key < 30000; key += 1000 {
		c.request(key)
	}
	if got := len(c.prefetcher.(*amp).pages); got != 8 {
		t.Errorf("it knows of %d pages, want the 8 that are resident", got)
	}
}

// By the rule of CMimircache the first use of the last page of a set loads the next one, whatever the degree, and a
// stream that misses begins with degree 1 again.
func TestAMPTriggersAtTheLastPage(t *testing.T) {
	c := newLRU("amp(rule=mimircache)", 1000)
	check(t, c, "100: 101:102 102:103 103:104,105 104: 105:106,107,108 106: 107: 108:109,110,111,112")
	if c.misses != 2 {
		t.Errorf("%d misses, want 2", c.misses)
	}
	// 150 misses beside what is resident: its set has one page.
	check(t, c, "149: 150:151 151:152")
}

// What amp remembers is what is resident, whatever happens.
func TestAMPRemembersWhatIsResident(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec := rapid.SampledFrom([]string{"amp(max=6,apt=2)", "amp(rule=mimircache,max=6,read=2)"}).Draw(r, "spec")
		c := newLRU(spec, rapid.IntRange(1, 9).Draw(r, "capacity"))
		for range 150 {
			c.request(rapid.Uint64Range(0, 40).Draw(r, "key"))
			pages := c.prefetcher.(*amp).pages
			if len(pages) != len(c.keys) {
				r.Fatalf("it knows of %d pages, %d are resident", len(pages), len(c.keys))
			}
			for _, key := range c.keys {
				page, ok := pages[key]
				if !ok {
					r.Fatalf("page %d is resident and not known", key)
				}
				if page.degree > 6 || page.ahead > page.degree || page.ahead < 0 {
					r.Fatalf("page %d has degree %d and a trigger %d ahead", key, page.degree, page.ahead)
				}
			}
		}
	})
}

// recordMisses tells a mithril of misses at positions.
func recordMisses(m Prefetcher, at map[int]Object) {
	for pos := range 1000 {
		if o, ok := at[pos]; ok {
			m.Request(Access{Object: o, Pos: pos}, nil)
		}
	}
}

// associations returns what is proposed after an object.
func associations(m Prefetcher, o Object) (after []Object) {
	for _, p := range m.Request(Access{Object: o, Pos: 5000, Hit: true}, nil) {
		after = append(after, p.Object)
	}
	return after
}

func mustNew(t *testing.T, text string) Prefetcher {
	t.Helper()
	spec := must.Get(Registry.Parse(text))(t)
	return New(spec, Config{})
}

func TestMithrilMinesWhatMissesTogether(t *testing.T) {
	// 1 and 2 miss together twice, 3 shortly after them, 4 far away.
	m := mustNew(t, "mithril(mining=4,errors=0)")
	recordMisses(m, map[int]Object{10: 1, 11: 2, 20: 3, 100: 4, 200: 1, 201: 2, 219: 3, 400: 4})
	for o, want := range map[Object][]Object{1: {2}, 2: {3}, 3: nil, 4: nil} {
		if got := associations(m, o); !slices.Equal(got, want) {
			t.Errorf("after %d it proposes %v, want %v", o, got, want)
		}
	}
}

func TestMithrilAdjacentObjectsAreAssociatedBesidesTheFirst(t *testing.T) {
	// 2 is the first within the lookahead of 1, and 3 once stands right beside it.
	m := mustNew(t, "mithril(mining=3,errors=0,rule=all)")
	recordMisses(m, map[int]Object{10: 1, 12: 2, 14: 3, 100: 1, 102: 2, 101: 3})
	if got := associations(m, 1); !slices.Equal(got, []Object{2, 3}) {
		t.Errorf("after 1 it proposes %v, want 2 and 3", got)
	}
}

// The authors' program lets the first object within the lookahead use up the association that needs no adjacent times,
// even if its other times are too far away, and does not compare the last times.
func TestMithrilRules(t *testing.T) {
	at := map[int]Object{10: 1, 15: 2, 18: 3, 100: 1, 150: 2, 105: 3, 200: 1, 250: 2, 205: 3}
	if got := associations(mined(t, "mithril(mining=3,min=3,errors=0)", at), 1); got != nil {
		t.Errorf("authors: after 1 it proposes %v, want nothing", got)
	}
	if got := associations(mined(t, "mithril(mining=3,min=3,errors=0,rule=all)", at), 1); !slices.Equal(got,
		[]Object{3}) {
		t.Errorf("all: after 1 it proposes %v, want 3", got)
	}
	at = map[int]Object{10: 1, 15: 2, 100: 1, 150: 2}
	if got := associations(mined(t, "mithril(mining=2,errors=0)", at), 1); !slices.Equal(got, []Object{2}) {
		t.Errorf("authors: after 1 it proposes %v, want 2, since the last times are not compared", got)
	}
}

func TestMithrilErrors(t *testing.T) {
	at := map[int]Object{10: 1, 15: 2, 100: 1, 150: 2}
	if got := associations(mined(t, "mithril(mining=2,errors=0,rule=all)", at), 1); got != nil {
		t.Errorf("errors=0: after 1 it proposes %v, want nothing", got)
	}
	if got := associations(mined(t, "mithril(mining=2,errors=1,rule=all)", at), 1); !slices.Equal(got, []Object{2}) {
		t.Errorf("errors=1: after 1 it proposes %v, want 2", got)
	}
}

func mined(t *testing.T, text string, at map[int]Object) Prefetcher {
	m := mustNew(t, text)
	recordMisses(m, at)
	return m
}

func TestMithrilForgetsFrequentObjects(t *testing.T) {
	// With its third time 1 is frequent and leaves the mining table; 2 and 3 fill it.
	m := mined(t, "mithril(mining=2,max=2)", map[int]Object{1: 1, 2: 1, 3: 1, 10: 2, 11: 3, 20: 2, 21: 3})
	if got := associations(m, 1); got != nil {
		t.Errorf("after 1 it proposes %v, want nothing", got)
	}
	if got := associations(m, 2); !slices.Equal(got, []Object{3}) {
		t.Errorf("after 2 it proposes %v, want 3", got)
	}
}

func TestMithrilKeepsTheNewestAssociations(t *testing.T) {
	m := mustNew(t, "mithril(list=2,table=2)").(*mithril)
	for _, pair := range [][2]Object{{1, 2}, {1, 3}, {1, 2}, {1, 4}, {5, 6}} {
		m.associate(pair[0], pair[1])
	}
	if got := associations(m, 1); !slices.Equal(got, []Object{3, 4}) {
		t.Errorf("after 1 it proposes %v, want 3 and 4", got)
	}
	m.associate(7, 8) // a third object: 1 is the oldest
	if got := associations(m, 1); got != nil {
		t.Errorf("after 1 it proposes %v, want nothing", got)
	}
	if got := associations(m, 5); !slices.Equal(got, []Object{6}) {
		t.Errorf("after 5 it proposes %v, want 6", got)
	}
}

func TestMithrilTimesMayWrap(t *testing.T) {
	m := mustNew(t, "mithril(mining=2,errors=0)")
	start := 1<<32 - 5
	for _, a := range []struct {
		o   Object
		pos int
	}{{1, start}, {2, start + 8}, {1, start + 100}, {2, start + 109}} {
		m.Request(Access{Object: a.o, Pos: a.pos}, nil)
	}
	if got := associations(m, 1); !slices.Equal(got, []Object{2}) {
		t.Errorf("after 1 it proposes %v, want 2", got)
	}
}

func TestMithrilTablesAreBounded(t *testing.T) {
	m := mustNew(t, "mithril(mining=16,recording=20,table=10)").(*mithril)
	rng := rand.New(rand.NewPCG(3, 3))
	for pos := range 20000 {
		m.Request(Access{Object: Object(rng.IntN(200)), Pos: pos}, nil)
		if len(m.places) > 36 || len(m.rows) > 10 {
			t.Fatalf("%d objects are recorded and %d have associations, want at most 36 and 10", len(m.places), len(m.rows))
		}
	}
	if len(m.rows) != 10 {
		t.Errorf("%d objects have associations, want 10", len(m.rows))
	}
}

func TestParametersThatExcludeEachOther(t *testing.T) {
	for text, want := range map[string]string{
		"mithril(min=9)":      "min=9 is above max=8",
		"amp(read=9,max=8)":   "read=9 is above max=8",
		"next(n=0)":           "from 1 to 1024",
		"nextt":               `did you mean "next"`,
		"next(when=sometime)": "want one of always, miss, tagged",
	} {
		must.NotGet(Registry.Parse(text))(t, want, text)
	}
}

func TestEveryEntryIsDescribed(t *testing.T) {
	for _, e := range Registry.All() {
		if e.Summary == "" || e.Source == "" || e.Memory == "" {
			t.Errorf("%s: summary %q, source %q, memory %q", e.Name, e.Summary, e.Source, e.Memory)
		}
		for _, p := range e.Params {
			if p.Doc == "" {
				t.Errorf("%s: parameter %s has no doc line", e.Name, p.Name)
			}
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	keys := mixed(1, 1<<16)
	for _, name := range withoutTrace() {
		b.Run(name, func(b *testing.B) {
			spec, _ := Registry.Parse(name)
			p := New(spec, Config{})
			var proposals []Proposal
			for i := 0; b.Loop(); i++ {
				key := keys[i%len(keys)]
				proposals = p.Request(Access{Object: Object(key), Key: key, Pos: i, Size: 1, Resident: true}, proposals[:0])
			}
		})
	}
}
