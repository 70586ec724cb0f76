package recommender

import (
	"context"
	"fmt"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// mostDraws is the most shards that a generated request draws, and mostOwn the most that a user owns.
const (
	mostDraws = maxLookups / 2
	mostOwn   = 255
)

// Purposes of random bits of a seed.
const (
	ownBits    = 0x0e4b
	commonBits = 0xc033
	groupBits  = 0x96f0
	tokenBits  = 0x70ce
	lookupBits = 0x100c
)

// Synthetic draws the lookups of generated requests. They are not stored: the number of a request gives the same
// lookups whenever they are drawn, from any goroutine. It needs 4 bytes per shard that a user owns, and 8 per shard. It
// implements recipe.
type Synthetic struct {
	population Population // of a node
	turned     Population // in the other turn
	seed       uint64
	shards     random.Zipf
	own        []uint32 // of each user, one after another
	ownBelow   uint64   // of 2^32, what draws of own shards are below
}

// drawsAtOnce is the number of draws of own shards between two checks of the context: some milliseconds.
const drawsAtOnce = 1 << 16

// NewSynthetic draws which shards each of the users of all nodes owns. It ends with ctx, and calls drawn, unless that
// is nil, with the number of draws so far, from time to time.
func NewSynthetic(ctx context.Context, p Population, seed uint64, drawn func(n int64)) (*Synthetic, error) {
	if err := CheckSynthetic(p); err != nil {
		return nil, err
	}
	s := &Synthetic{population: p, turned: p.Turned(), seed: seed, shards: random.NewZipf(p.Shards, p.ShardAlpha),
		own: make([]uint32, OwnDraws(p)), ownBelow: uint64(p.OwnShare * (1 << 32))}
	bits := random.Stream(seed, ownBits)
	for i := range s.own {
		if i%drawsAtOnce == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if drawn != nil {
				drawn(int64(i))
			}
		}
		s.own[i] = uint32(s.shards.Draw(bits))
	}
	return s, s.share(ctx)
}

// share replaces own shards of users by some that their groups have in common.
func (s *Synthetic) share(ctx context.Context) error {
	p := &s.population
	if p.SharedShare == 0 {
		return nil
	}
	common := make([]uint32, p.Groups*CommonShards*p.OwnShards)
	bits := random.Stream(s.seed, commonBits)
	for i := range common {
		if i%drawsAtOnce == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		common[i] = uint32(s.shards.Draw(bits))
	}
	each := len(common) / p.Groups
	for i := range s.own {
		if i%drawsAtOnce == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if random.Unit(bits) < p.SharedShare {
			n, _ := random.Below(bits, each)
			s.own[i] = common[s.group(uint32(i/p.OwnShards))*each+n]
		}
	}
	return nil
}

func (s *Synthetic) group(user uint32) int {
	bits := random.Scramble(random.Scramble(s.seed^groupBits) + uint64(user))
	return int(bits >> 32 * uint64(s.population.Groups) >> 32)
}

// OwnDraws returns how many draws NewSynthetic makes.
func OwnDraws(p Population) int { return p.Users * p.Nodes * p.OwnShards }

// CheckSynthetic refuses a population for which NewSynthetic has no room.
func CheckSynthetic(p Population) error {
	if err := p.Check(); err != nil {
		return err
	}
	switch draws := max(p.Draws(p.MaxTokens), p.Turned().Draws(p.MaxTokens)); {
	case p.Shards > maxShards:
		return fmt.Errorf("%d shards: want at most 2^27", p.Shards)
	case p.OwnShards > mostOwn:
		return fmt.Errorf("%d shards of each user: want at most %d", p.OwnShards, mostOwn)
	case draws > mostDraws:
		return fmt.Errorf("sequences of %d tokens in %d tables draw %d shards: want at most %d; use shorter "+
			"sequences or fewer tables", p.MaxTokens, max(p.Tables, p.TurnTables), draws, mostDraws)
	case p.Users*p.Nodes > mostUsers:
		return fmt.Errorf("%d nodes of %d users: want at most %d users", p.Nodes, p.Users, mostUsers)
	}
	return nil
}

// mostUsers bounds the users of all nodes together.
const mostUsers = 1 << 26

// SyntheticBytes returns the memory that NewSynthetic needs while it builds its tables.
func SyntheticBytes(p Population) int64 {
	bytes := 16*int64(p.Shards) + 4*int64(OwnDraws(p))
	if p.SharedShare > 0 {
		bytes += 4 * int64(p.Groups) * CommonShards * int64(p.OwnShards)
	}
	return bytes
}

func (s *Synthetic) Kind() Kind { return Kind{recipe: s} }

// otherTurn is set in the numbers of requests of the other turn.
const otherTurn = 1 << 31

// Turn returns the number of a request of the other turn.
func Turn(number uint32) uint32 { return number | otherTurn }

// Request fills in request number of a user, from 0 to the users of all nodes.
func (s *Synthetic) Request(head *Head, number, user uint32, hot bool) {
	*head = Head{Tokens: int64(s.Tokens(user)), ShardRows: int64(s.population.ShardRows), recipe: s,
		at: place{number, user}, text: head.text}
	if hot {
		head.Hot = 1
	}
}

// Tokens returns the length of a user's sequence, which stays the same.
func (s *Synthetic) Tokens(user uint32) int {
	p := &s.population
	below := uint64(p.MaxTokens - p.MinTokens + 1)
	bits := random.Scramble(random.Scramble(s.seed^tokenBits) + uint64(user))
	return p.MinTokens + int(bits>>32*below>>32)
}

// append implements recipe. A draw is of an own shard, each as likely, or of all shards by Zipf's law, and stands for
// the lookups of all rows of a shard. Own shards come first, in the order of drawing.
func (s *Synthetic) append(at place, tokens int32, to []Lookup) []Lookup {
	p := &s.population
	if at[0]&otherTurn != 0 {
		p = &s.turned
	}
	draws := p.Draws(int(tokens))
	var room struct { // for ordinary requests
		index  [1024]uint16
		others [512]uint64
	}
	x, others := index(room.index[:]), room.others[:]
	if draws > len(others) {
		x, others = indexFor(nil, draws), make([]uint64, draws)
	}
	var ownRoom [mostOwn]uint32
	own := ownRoom[:copy(ownRoom[:p.OwnShards], s.own[int(at[1])*p.OwnShards:])]
	var count [mostOwn]uint16    // how often each own shard is drawn
	var order [mostOwn + 1]uint8 // own shards in the order of their first draw, and a place that may be overwritten
	counter := random.Scramble(random.Scramble(s.seed^lookupBits) + uint64(at[0]))
	drawn, m := 0, 0
	var bits uint64
	for i := range draws {
		if bits <<= 32; i%2 == 0 { // two draws of 32 bits each
			counter += random.Golden
			bits = random.Mix(counter)
		}
		chosen := bits >> 32 * uint64(len(own))
		// One product gives both choices: its upper half is the own shard, its lower half decides whether it counts.
		if chosen&(1<<32-1) >= s.ownBelow {
			others[m] = counter + uint64(i)
			m++
			continue
		}
		number := uint8(chosen >> 32)
		order[drawn] = number
		drawn += int((uint32(count[number]) - 1) >> 31) // 1 if it was 0, without a branch, often mispredicted
		count[number]++
	}
	first, rows := len(to), uint32(p.ShardRows)
	for _, i := range order[:drawn] {
		to = x.add(to, first, own[i], uint32(count[i])*rows)
	}
	others = others[:m]
	for i, bits := range others { // in a loop of their own, so that their cache misses overlap
		others[i] = uint64(s.shards.Rank(random.Mix(^bits)))
	}
	for _, shard := range others {
		to = x.add(to, first, uint32(shard), rows)
	}
	return to
}

func (s *Synthetic) describe(c *Columns) {
	p := s.population
	c.Population, c.Shards = &p, p.Shards
}

func (s *Synthetic) bytes() int64 { return stream.ColumnBytes(s.own) + stream.ColumnBytes(s.shards) }
