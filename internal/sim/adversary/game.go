package adversary

import (
	"context"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

// Games up to this capacity are solved, over this many objects: the policy against an opponent that chooses requests,
// predictions and another schedule. Both have few states if objects are named by their roles. A worst cycle through
// these has the largest ratio of misses of any trace in the long run.
const (
	MaxSolved     = 5
	SolvedObjects = 8
)

// What an object is in a position of a game.
const (
	resident uint8 = 1 << iota
	old            // resident since the phase began, and not requested since
	marked         // evicted by prediction in the phase
	theirs         // in the opponent's cache
)

// position is the objects, from the one whose last request is the longest ago. Where the opponent has any schedule,
// objects that the policy does not have come first, sorted.
type position struct {
	is            [SolvedObjects]uint8
	name          [SolvedObjects]uint8 // of objects, which do not matter
	level, losses uint8
}

func (p position) key() (k uint64) {
	for _, is := range p.is {
		k = k<<4 | uint64(is)
	}
	return k<<16 | uint64(p.level)<<8 | uint64(p.losses)
}

// move is a request to an object, the victims of both caches, -1 for none, and how it is counted. They are places in a
// position. Misses are in parts of one, of which the game says how many there are.
type move struct {
	to                     int32
	object, victim, theirs int8
	predicted              bool // the victim
	misses, theirMisses    int16
}

// game is a policy against an opponent at a capacity.
type game struct {
	policies.Game
	capacity   int
	againstLRU bool // the opponent's cache has LRU instead of any schedule

	positions []position
	moves     [][]move
}

// miss is what a certain miss counts. By it, the chances of all misses are whole numbers up to capacity MaxSolved.
func (g *game) miss() int16 {
	if g.Marking {
		return 60
	}
	return 1
}

// begin is the position in which both caches have filled with the same objects.
func (g *game) begin() (p position) {
	for i := range p.is {
		p.name[i] = uint8(i)
		if i >= SolvedObjects-g.capacity {
			p.is[i] = resident | theirs
		}
	}
	return p
}

// playFrom calls visit with the moves from a position, and where they lead.
func (g *game) playFrom(p position, visit func(move, position)) {
	for i := range p.is {
		g.request(p, i, visit)
	}
}

func (g *game) request(p position, i int, visit func(move, position)) {
	m := move{object: int8(i), victim: -1, theirs: -1}
	victims, others := []int{-1}, []int{-1}
	switch {
	case g.Marking:
		m.misses = g.draw(&p, i)
	case p.is[i]&resident == 0:
		m.misses = g.miss()
		victims, m.predicted = g.victims(&p, i)
	}
	if p.is[i]&theirs == 0 {
		m.theirMisses = g.miss()
		if others = p.places(theirs); g.againstLRU {
			others = others[:1]
		}
	}
	for _, v := range victims {
		for _, o := range others {
			q := p
			if v >= 0 {
				q.is[v] &^= resident | old
				if m.predicted {
					q.is[v] |= marked
				}
			}
			q.is[i] = (q.is[i] | resident) &^ (old | marked)
			if o >= 0 {
				q.is[o] &^= theirs
				q.is[i] |= theirs
			}
			is, name := q.is[i], q.name[i]
			copy(q.is[i:], q.is[i+1:])
			copy(q.name[i:], q.name[i+1:])
			q.is[SolvedObjects-1], q.name[SolvedObjects-1] = is, name
			if !g.againstLRU {
				q.sort(g.Marking)
			}
			m.victim, m.theirs = int8(v), int8(o)
			visit(m, q)
		}
	}
}

// victims returns what the policy may evict for the object at a place, and whether predictions choose from it. A phase
// may begin.
func (g *game) victims(p *position, i int) (places []int, predicted bool) {
	if len(p.places(old)) == 0 {
		for j := range p.is {
			p.is[j] &^= marked
			if p.is[j]&resident != 0 {
				p.is[j] |= old
			}
		}
		p.level, p.losses = 0, 0
	}
	residents, candidates := p.places(resident), g.Candidates[p.level]
	if p.is[i]&marked != 0 {
		if p.losses++; int(p.losses) == g.Every {
			p.level, p.losses = min(p.level+1, uint8(len(g.Candidates)-1)), 0
		}
		return residents[:1], false
	}
	return residents[:candidates], candidates > 1
}

// draw is victims for a policy that draws them: it returns the chance that the object misses. Residents are those that
// were requested in the phase, so that they are certain to be; the rest of the cache is any of the old objects, all
// equally likely. Requests do not change that: a victim is as likely to be one old resident as another.
func (g *game) draw(p *position, i int) (misses int16) {
	marked, unmarked := len(p.places(resident)), len(p.places(old))
	switch {
	case p.is[i]&resident != 0:
		return 0
	case marked == g.capacity:
		for j := range p.is {
			p.is[j] &^= old
			if p.is[j]&resident != 0 {
				p.is[j] ^= resident | old
			}
		}
	case p.is[i]&old != 0:
		return g.miss() * int16(unmarked-(g.capacity-marked)) / int16(unmarked)
	}
	return g.miss()
}

// places returns where objects are something.
func (p *position) places(what uint8) (places []int) {
	for i, is := range p.is {
		if is&what != 0 {
			places = append(places, i)
		}
	}
	return places
}

// sort puts what the policy does not have first, in an order that says nothing about its last requests. All objects are
// in such an order if no policy asks for these.
func (p *position) sort(all bool) {
	var order [SolvedObjects]int
	for i := range order {
		order[i] = i
	}
	rank := func(i int) int {
		if !all && p.is[i]&resident != 0 {
			return math.MaxUint8
		}
		return int(p.is[i])
	}
	slices.SortStableFunc(order[:], func(i, j int) int { return rank(i) - rank(j) })
	before := *p
	for to, from := range order {
		p.is[to], p.name[to] = before.is[from], before.name[from]
	}
}

// explore finds all positions that the game reaches.
func (g *game) explore() {
	number := map[uint64]int32{}
	numberOf := func(p position) int32 {
		n, known := number[p.key()]
		if !known {
			n = int32(len(g.positions))
			number[p.key()] = n
			g.positions = append(g.positions, p)
		}
		return n
	}
	numberOf(g.begin())
	for from := 0; from < len(g.positions); from++ {
		var moves []move
		known := map[[3]int32]bool{}
		g.playFrom(g.positions[from], func(m move, to position) {
			m.to = numberOf(to)
			same := [3]int32{m.to, int32(m.misses), int32(m.theirMisses)}
			if !known[same] {
				known[same] = true
				moves = append(moves, m)
			}
		})
		g.moves = append(g.moves, moves)
	}
}

// cycle is moves that lead back to the position from which they begin.
type cycle struct {
	from         int32
	moves        []move
	misses, them int
}

// worst returns a cycle with the largest ratio of misses. A cycle with a larger ratio than the last one is a cycle of
// positive weight (Lawler, Combinatorial Optimization, 1976, section 3.13).
func (g *game) worst(ctx context.Context) (worst cycle, err error) {
	worst.them = 1
	for {
		if err := ctx.Err(); err != nil {
			return worst, err
		}
		better, found := g.better(worst)
		if !found {
			return worst, nil
		}
		if worst = better; worst.them == 0 {
			return worst, nil
		}
	}
}

// better returns a cycle with a larger ratio than that of another.
func (g *game) better(than cycle) (c cycle, found bool) {
	n := len(g.positions)
	weight := make([]int, n)
	by := make([]int32, n) // the position before, and its move
	at := make([]int, n)
	for i := range by {
		by[i] = -1
	}
	for changed := true; changed; {
		changed = false
		for from, moves := range g.moves {
			for k, m := range moves {
				w := weight[from] + than.them*int(m.misses) - than.misses*int(m.theirMisses)
				if w > weight[m.to] {
					weight[m.to], by[m.to], at[m.to], changed = w, int32(from), k, true
				}
			}
		}
		if start := anyCycle(by); start >= 0 {
			c.from = start
			for p := start; len(c.moves) == 0 || p != start; p = by[p] {
				m := g.moves[by[p]][at[p]]
				c.moves = append(c.moves, m)
				c.misses += int(m.misses)
				c.them += int(m.theirMisses)
			}
			slices.Reverse(c.moves)
			return c, true
		}
	}
	return c, false
}

// anyCycle returns a position on a cycle of predecessors; -1 if there is none.
func anyCycle(by []int32) int32 {
	seen := make([]int32, len(by)) // 1 + the start from which it was seen
	for start := range by {
		for p := int32(start); p >= 0; p = by[p] {
			if seen[p] == int32(start)+1 {
				return p
			}
			if seen[p] != 0 {
				break
			}
			seen[p] = int32(start) + 1
		}
	}
	return -1
}

// pattern returns the requests of a cycle, repeated until objects have the names that they had, with predictions that
// choose its victims.
func (g *game) pattern(c cycle) pattern {
	p := g.positions[c.from]
	for i := range p.name {
		p.name[i] = uint8(i)
	}
	begin := p.name
	var played pattern
	var evictions []eviction
	last := [SolvedObjects]int{} // requests
	length := 0
	for round := 0; length == 0 || len(played) < 3*length; round++ {
		if round > 0 && length == 0 && p.name == begin {
			length = len(played)
		}
		for _, m := range c.moves {
			name := p.name[m.object]
			if m.predicted && length > 0 && len(played) >= 2*length {
				evictions = append(evictions, g.eviction(p, m, last))
			}
			last[name] = len(played)
			played = append(played, request{object: name})
			p = g.after(p, m)
		}
	}
	played = played[:length]
	for i, next := range predictionsOf(evictions, length) {
		played[i].next = next
	}
	return played
}

// after returns where a move leads from a position, with the names of its objects.
func (g *game) after(p position, m move) (to position) {
	g.request(p, int(m.object), func(n move, q position) {
		if n.victim == m.victim && n.theirs == m.theirs {
			to = q
		}
	})
	return to
}

// eviction is the last requests of a victim of predictions, and of other candidates.
type eviction struct {
	victim int
	others []int
}

func (g *game) eviction(p position, m move, last [SolvedObjects]int) (e eviction) {
	e.victim = last[p.name[m.victim]]
	places, _ := g.victims(&p, int(m.object))
	for _, i := range places {
		if i != int(m.victim) {
			e.others = append(e.others, last[p.name[i]])
		}
	}
	return e
}

// predictionsOf returns predictions for the requests of a pattern with which its evictions choose their victims, if
// repeated predictions can do so. Ties go to the older request.
func predictionsOf(evictions []eviction, length int) []float64 {
	next := make([]float64, length)
	for round := range 2 * (length + 1) {
		changed := false
		for _, e := range slices.Backward(evictions) { // what is evicted later is expected sooner
			for _, other := range e.others {
				least := next[other%length] + float64(other-e.victim)
				if other < e.victim {
					least++
				}
				if victim := &next[e.victim%length]; *victim < least {
					if *victim, changed = least, true; round > length {
						*victim = predict.Never // it would have to grow from round to round
					}
				}
			}
		}
		if !changed {
			break
		}
	}
	return next
}

// widenedFrom returns the capacity of the game with which a search in a larger cache begins.
func widenedFrom(capacity int) int {
	for k := MaxSolved; k > 1; k-- {
		if capacity%k == 0 {
			return k
		}
	}
	return MaxSolved
}

// solve returns the worst cycle of the policy; ok is false if the game has none that can be solved.
func (s *search) solve(ctx context.Context, capacity int) (ratio float64, p pattern, ok bool, err error) {
	if s.exact || s.policy.Entry.Game == nil {
		return 0, nil, false, nil
	}
	rules, ok := s.policy.Entry.Game(s.policy.Params, capacity)
	if !ok {
		return 0, nil, false, nil
	}
	g := &game{Game: rules, capacity: capacity}
	g.explore()
	c, err := g.worst(ctx)
	if err != nil || c.them == 0 {
		return 0, nil, false, err
	}
	return float64(c.misses) / float64(c.them), g.pattern(c), true, nil
}
