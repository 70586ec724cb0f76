package oracle

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// game is a tiny game, which is solved by trying everything: in each step the link, if it is free, begins to fetch any
// block in place of any other, or none, and what is there is served or not.
type game struct {
	objects         []uint32
	capacity, fetch int
}

type gameState struct {
	at      int // the next request
	held    uint32
	coming  int // the block on its way; -1 for none
	left    int // steps until it is here
	waiting int // steps until the next request
}

// solve returns the least number of steps until the last request is served.
func (g *game) solve() int {
	known := map[gameState]bool{}
	states := []gameState{{coming: -1}}
	for steps := 0; ; steps++ {
		var after []gameState
		for len(states) > 0 {
			s := states[len(states)-1]
			states = states[:len(states)-1]
			if s.coming >= 0 && s.left == 0 {
				s.held, s.coming = s.held|1<<s.coming, -1
			}
			if known[s] {
				continue
			}
			known[s] = true
			if s.waiting == 0 && s.held>>g.objects[s.at]&1 != 0 {
				if s.at == len(g.objects)-1 {
					return steps
				}
				served := s
				served.at, served.waiting = s.at+1, 1
				states = append(states, served)
			}
			for _, next := range g.choices(s) {
				next.waiting = max(0, next.waiting-1)
				if next.coming >= 0 {
					next.left--
				}
				after = append(after, next)
			}
		}
		states = after
	}
}

// choices returns a state with each fetch that the link may begin, and as it is.
func (g *game) choices(s gameState) []gameState {
	all := []gameState{s}
	for _, o := range g.objects {
		if s.coming >= 0 || s.held>>o&1 != 0 {
			continue
		}
		next := s
		next.coming, next.left = int(o), g.fetch
		if bits.OnesCount32(s.held) < g.capacity {
			all = append(all, next)
		}
		for v := range 8 {
			if s.held>>v&1 != 0 {
				next.held = s.held &^ (1 << v)
				all = append(all, next)
			}
		}
	}
	return all
}

// Against all schedules of tiny games: none is faster than the bound, and Aggressive is as close to the fastest as Cao
// et al. have proven. It is often the fastest, and the bound often exact.
func TestSchedulesOfTinyGames(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	const games = 400
	exact, fastest := 0, 0
	for range games {
		g := game{capacity: 1 + draw.IntN(3), fetch: 1 + draw.IntN(5)}
		distinct := 2 + draw.IntN(4)
		for range 1 + draw.IntN(10) {
			g.objects = append(g.objects, uint32(draw.IntN(distinct)))
		}
		j := Job{Objects: g.objects, Next: NextUse(g.objects, distinct), Capacity: g.capacity, Fetch: int64(g.fetch),
			Gap: func(int) int64 { return 1 }}
		best, bound, aggressive := g.solve(), int(j.Bound()), int(j.Aggressive(distinct))
		if bound > best || aggressive < best {
			t.Fatalf("%+v: the best schedule takes %d, the bound is %d, and Aggressive takes %d", j, best, bound, aggressive)
		}
		// Their times have the step of the last request.
		if k := g.capacity; (aggressive+1)*k > (best+1)*min(k+g.fetch, 2*k) {
			t.Errorf("%+v: Aggressive takes %d, more than proven: the best schedule takes %d", j, aggressive, best)
		}
		if bound == best {
			exact++
		}
		if aggressive == best {
			fastest++
		}
	}
	t.Logf("of %d games, Aggressive is the fastest in %d, and the bound is reached in %d", games, fastest, exact)
	if fastest < games*3/4 || exact < games/2 {
		t.Errorf("of %d games, Aggressive is the fastest in %d, and the bound is reached in %d", games, fastest, exact)
	}
}

// Three blocks in a cache of two, by hand: a fetch takes 4, and gaps take 3.
func TestAggressiveByHand(t *testing.T) {
	objects := []uint32{0, 1, 0, 1, 2}
	j := Job{Objects: objects, Next: NextUse(objects, 3), Capacity: 2, Fetch: 4, Gap: func(int) int64 { return 3 }}
	// 0 is there at 4, 1 at 8, and requests are served at 4, 8, 11 and 14. At 11 nothing needs 0 any more, so that 2 is
	// there at 15, before it is requested at 17.
	if got := j.Aggressive(3); got != 17 {
		t.Errorf("the last request is served at %d, want 17", got)
	}
	if got := j.Bound(); got != 17 { // two blocks, and the three gaps after the second one
		t.Errorf("bound of %d, want 17", got)
	}
}
