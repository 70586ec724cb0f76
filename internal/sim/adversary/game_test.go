package adversary

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func newGame(t *testing.T, text string, capacity int, againstLRU bool) *game {
	t.Helper()
	spec := policy(t, text)
	rules, ok := spec.Entry.Game(spec.Params, capacity)
	if !ok {
		t.Fatalf("%s is no game", text)
	}
	return &game{Game: rules, capacity: capacity, againstLRU: againstLRU}
}

func solved(t *testing.T, text string, capacity int, againstLRU bool) (*game, cycle) {
	t.Helper()
	g := newGame(t, text, capacity, againstLRU)
	g.explore()
	return g, must.Get(g.worst(t.Context()))(t)
}

// LRU's worst ratio is its capacity (Sleator and Tarjan 1985), and its own misses are those of LRU. That of marker is
// 2H_k-1 (Achlioptas, Chrobak and Noga 2000). docs have LARU's.
func TestSolvedGames(t *testing.T) {
	for _, c := range []struct {
		policy     string
		againstLRU bool
		want       []float64 // for capacities from 1
	}{
		{"lru", false, []float64{1, 2, 3, 4, 5}},
		{"lru", true, []float64{1, 1, 1, 1, 1}},
		{"marker", false, []float64{1, 2, 2 + 2./3, 3 + 1./6, 3 + 17./30}},
		{"laru", false, []float64{1, 2, 3, 5, 5}},
		{"laru(decay=2)", false, []float64{1, 2, 4, 6, 7}},
		{"laru", true, []float64{1, 2, 2, 2.5, 2}},
		{"laru(decay=2)", true, []float64{1, 2, 2.5, 3, 3}},
	} {
		for i, want := range c.want {
			_, worst := solved(t, c.policy, i+1, c.againstLRU)
			if got := float64(worst.misses) / float64(worst.them); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s, capacity %d, against LRU %v: %v, want %v", c.policy, i+1, c.againstLRU, got, want)
			}
		}
	}
	for _, text := range []string{"laru(mode=async)", "laru(marks=bitset)"} {
		if spec := policy(t, text); spec.Entry.Game != nil {
			if _, ok := spec.Entry.Game(spec.Params, 4); ok {
				t.Errorf("%s is said to be a game", text)
			}
		}
	}
}

// The table of docs/policies-learned.md has what is solved and stated.
func TestGamesOfTheDocumentation(t *testing.T) {
	page := string(must.Get(os.ReadFile("../../../docs/policies-learned.md"))(t))
	for _, text := range []string{"lru", "marker", "laru", "laru(decay=2)"} {
		solvedRow, statedRow, formula := fmt.Sprintf("| `%s` |", text), "", ""
		for capacity := 2; capacity <= MaxSolved; capacity++ {
			_, c := solved(t, text, capacity, false)
			ratio := math.Round(100*float64(c.misses)/float64(c.them)) / 100
			solvedRow += fmt.Sprintf(" %v |", ratio)
			var bound string
			formula, bound, _ = strings.Cut(Stated(policy(t, text), capacity).Robustness, " = ")
			statedRow += fmt.Sprintf(" %s |", bound)
		}
		rows := []string{solvedRow}
		if formula != "O(k)" {
			rows = append(rows, fmt.Sprintf("| stated for `%s`: %s |%s", text, formula, statedRow))
		}
		for _, row := range rows {
			if !strings.Contains(page, row+"\n") {
				t.Errorf("docs/policies-learned.md lacks the row %q", row)
			}
		}
	}
}

// The replayed traces have nearly the ratios of the games, which hold in the long run.
func TestSolvedGamesAreReplayed(t *testing.T) {
	for _, text := range []string{"lru", "marker", "laru", "laru(decay=2)"} {
		for capacity := 2; capacity <= MaxSolved; capacity++ {
			f := must.Get(Any(t.Context(), policy(t, text), capacity, Options{Length: 24, Requests: 2000, Tries: 1}))(t)
			if f.Solved == 0 || f.Ratio < 0.98*f.Solved || f.Ratio > f.Solved {
				t.Errorf("%s, capacity %d: replayed %v, solved %v, on %s with %s", text, capacity, f.Ratio, f.Solved, f.Trace,
					f.Predictor)
			}
		}
	}
}

// played is moves of a game from its beginning, with predictions that ask for their victims, and the misses of both.
type plays struct {
	game         *game
	at           position
	pattern      pattern
	evictions    []eviction
	last         [SolvedObjects]int
	misses, them int
}

func begun(g *game) *plays {
	p := &plays{game: g, at: g.begin(), misses: g.capacity, them: g.capacity}
	for i := SolvedObjects - g.capacity; i < SolvedObjects; i++ {
		p.request(uint8(i))
	}
	return p
}

func (p *plays) request(object uint8) {
	p.last[object] = len(p.pattern)
	p.pattern = append(p.pattern, request{object: object})
}

func (p *plays) play(m move) {
	p.misses += int(m.misses)
	p.them += int(m.theirMisses)
	if m.predicted {
		p.evictions = append(p.evictions, p.game.eviction(p.at, m, p.last))
	}
	p.request(p.at.name[m.object])
	p.at = p.game.after(p.at, m)
}

// missesOf replays a policy.
func (p *plays) missesOf(t *testing.T, text string) int {
	t.Helper()
	for i, next := range predictionsOf(p.evictions, len(p.pattern)) {
		p.pattern[i].next = next
	}
	s := newSearch(policy(t, text), p.game.capacity, Options{Requests: len(p.pattern)}, false)
	return int(must.Get(s.replay(t.Context(), p.pattern, 1))(t).Misses)
}

// Random plays of a game evict what the policy evicts, with predictions that ask for these victims.
func TestGamesAreThePolicies(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		capacity, text := 1+rng.IntN(5), []string{"lru", "laru", "laru(decay=2)", "laru(b=4)"}[seed%4]
		p := begun(newGame(t, text, capacity, seed%3 == 0))
		for range 120 {
			var moves []move
			p.game.playFrom(p.at, func(m move, _ position) { moves = append(moves, m) })
			p.play(moves[rng.IntN(len(moves))])
		}
		if misses := p.missesOf(t, text); misses != p.misses {
			t.Errorf("%s, capacity %d, seed %d: %v misses, the game has %d", text, capacity, seed, misses, p.misses)
		}
		if p.game.againstLRU {
			if them := p.missesOf(t, "lru"); them != p.them {
				t.Errorf("LRU, capacity %d, seed %d: %v misses, the game has %d", capacity, seed, them, p.them)
			}
		}
	}
}

// A marker's chances of a miss are those over all contents that its draws can lead to, and the mean of its replays.
func TestMarkerIsTheDistribution(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		capacity := 1 + rng.IntN(4)
		p := begun(newGame(t, "marker", capacity, false))
		contents := map[uint8]float64{} // sets of names, and their chances
		var marked uint8
		for i := SolvedObjects - capacity; i < SolvedObjects; i++ {
			marked |= 1 << i
		}
		contents[marked] = 1
		for at := range 60 {
			var moves []move
			p.game.playFrom(p.at, func(m move, _ position) { moves = append(moves, m) })
			m := moves[rng.IntN(len(moves))]
			next, miss := drawn(contents, &marked, 1<<p.at.name[m.object], capacity)
			if got := float64(m.misses) / float64(p.game.miss()); math.Abs(got-miss) > 1e-9 {
				t.Fatalf("seed %d, request %d: the chance of a miss is %v, want %v", seed, at, got, miss)
			}
			p.play(m)
			contents = next
		}
		s := newSearch(policy(t, "marker"), capacity, Options{Requests: len(p.pattern)}, false)
		got := must.Get(s.replay(t.Context(), p.pattern, finalSeeds))(t).Misses
		want := float64(capacity) + float64(p.misses-capacity)/float64(p.game.miss())
		if math.Abs(got-want) > 2 { // five deviations of the mean: those of a replay are below 4
			t.Errorf("seed %d: %v misses, want %v", seed, got, want)
		}
	}
}

// drawn returns the contents after a request to a name, a bit, and the chance that it misses.
func drawn(contents map[uint8]float64, marked *uint8, name uint8, capacity int) (next map[uint8]float64, miss float64) {
	if bits.OnesCount8(*marked) == capacity && *marked&name == 0 {
		*marked = 0
	}
	next = map[uint8]float64{}
	for set, chance := range contents {
		if set&name != 0 {
			next[set] += chance
			continue
		}
		miss += chance
		for victims := set &^ *marked; victims != 0; victims &= victims - 1 {
			left := set &^ (victims & -victims)
			next[left|name] += chance / float64(bits.OnesCount8(set&^*marked))
		}
	}
	*marked |= name
	return next, miss
}

// Against LRU: the cycle of capacity 4, on which LARU has 5 misses for 2 of LRU's, in a replay of both.
func TestAgainstLRUIsReplayed(t *testing.T) {
	g, c := solved(t, "laru", 4, true)
	before := make([]int, len(g.positions)) // the shortest way to the cycle
	by := make([]move, len(g.positions))
	reached := map[int32]bool{0: true}
	for queue := []int32{0}; len(queue) > 0; queue = queue[1:] {
		for _, m := range g.moves[queue[0]] {
			if !reached[m.to] {
				reached[m.to], before[m.to], by[m.to] = true, int(queue[0]), m
				queue = append(queue, m.to)
			}
		}
	}
	var way []move
	for at := int(c.from); at != 0; at = before[at] {
		way = append(way, by[at])
	}
	slices.Reverse(way)
	p := begun(g)
	for _, m := range way {
		p.play(m)
	}
	for range 100 {
		for _, m := range c.moves {
			p.play(m)
		}
	}
	ratio := float64(p.missesOf(t, "laru")) / float64(p.missesOf(t, "lru"))
	if ratio < 2.4 || ratio > 2.5 {
		t.Errorf("%v times LRU's misses, want nearly 2.5", ratio)
	}
}

// A search in a larger cache begins with the cycle of the largest game that was solved.
func TestWidened(t *testing.T) {
	for _, capacity := range []int{6, 7, 8, 10} {
		s := newSearch(policy(t, "laru"), capacity, Options{Length: 24, Requests: 2000, Tries: 1}, false)
		_, p, ok, err := s.solve(t.Context(), widenedFrom(capacity))
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		wide := must.Get(s.replay(t.Context(), p.widened(widenedFrom(capacity), capacity), 1))(t)
		f := must.Get(Any(t.Context(), policy(t, "laru"), capacity, s.options))(t)
		if f.Ratio != wide.Ratio || f.Solved != 0 {
			t.Errorf("capacity %d: the search begins with a ratio of %v, want %v", capacity, f.Ratio, wide.Ratio)
		}
		t.Logf("capacity %d: ratio %v", capacity, wide.Ratio)
	}
	if pattern(nil).widened(5, 7) != nil {
		t.Error("requests from nothing")
	}
}
