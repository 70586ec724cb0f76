// Package blocks holds blocks of keys and values of an attention head in a cache of its own, under any policy. Package
// retrieve chooses the blocks that a decode step wants.
package blocks

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

// Block is the number of a block in its head.
type Block = policies.Object

// Config is what a store is built from.
type Config struct {
	Policy   policies.Spec
	Capacity int64 // tokens
	Blocks   int   // every Block is below it
	Size     int   // tokens of each block; 0: Sizes says how many
	// Sizes are the tokens of each block. A block then takes whole pages of Page tokens, at least 1.
	Sizes []int
	Page  int
	// Requests is how many blocks all steps want together, or more.
	Requests int
	Seed     uint64
	Life     *policies.Life // of the policy
	// Plan has what all steps will want. It is needed for policies that are offline, and ignored by all others.
	Plan *Plan
	// Predictor is for policies with Predicts, nil for all others. Its positions count the wanted blocks of all steps.
	Predictor predict.Predictor
}

// Store holds blocks of one head, as RetroInfer does (wave_buffer_cpu.cpp of microsoft/RetrievalAttention): it looks up
// all blocks of a step before anything changes. Then the policy is notified of the hits, from the last of the list to
// the first, so that the first becomes the most recent. Then the misses are loaded in the order of the list.
type Store struct {
	pool      *cache.Pool
	size      int // of each block; 0: sizes has it
	sizes     []int
	page      int
	plan      *Plan          // nil unless the policy is offline
	predictor *stepPredictor // nil unless the policy uses one

	step         int
	at           int      // blocks that earlier steps wanted
	hits, misses []lookup // of the current step
}

// lookup is a wanted block and its position among those of all steps.
type lookup struct {
	block Block
	pos   int
}

// Outcome is what a step found.
type Outcome struct {
	Hits, Misses          int // blocks
	HitTokens, MissTokens int // in them: rows read in the cache, and rows transferred
	Evictions             int // blocks
}

// New returns an empty store. The error says why the policy does not work in one.
func New(c Config) (*Store, error) {
	e := c.Policy.Entry
	if err := Check(c.Policy, c.Size == 0); err != nil {
		return nil, err
	}
	s := &Store{size: c.Size, sizes: c.Sizes, page: c.Page}
	capacity := s.capacity(c)
	config := policies.Config{
		Capacity: max(capacity, 1), Unit: c.Size != 0, Objects: c.Blocks, Requests: c.Requests, Seed: c.Seed,
		Params: c.Policy.Params, Life: c.Life, Key: func(b Block) uint64 { return uint64(b) },
	}
	if e.Kind == policies.Offline {
		if c.Plan == nil {
			return nil, fmt.Errorf("a store of blocks under %s, which is offline, needs a plan", c.Policy)
		}
		s.plan = c.Plan
		config.Requests, config.NextUse, config.Sequence = len(c.Plan.next), c.Plan.next, c.Plan.sequence
	}
	if policies.Can[policies.PredictorUser](e) {
		if c.Predictor == nil {
			return nil, fmt.Errorf("a store of blocks under %s needs a predictor", c.Policy)
		}
		s.predictor = &stepPredictor{Predictor: c.Predictor}
		config.Predictor = s.predictor
	}
	if e.Relates {
		config.Relations = &policies.Relations{HitFrom: cache.IdentityOnly, Tau: cache.IdentityOnly}
	}
	policy, err := e.New(config)
	if err != nil {
		return nil, err
	}
	s.pool = cache.NewPool(policy, capacity, c.Blocks)
	return s, nil
}

func (s *Store) capacity(c Config) (capacity int64) {
	switch {
	case c.Policy.Entry.Unbounded:
		for b := range c.Blocks {
			capacity += s.charge(Block(b))
		}
		return capacity
	case c.Size != 0:
		return c.Capacity / int64(c.Size)
	}
	return c.Capacity
}

// Check says why a policy does not work in a store of blocks, whose sizes differ if sized is set; nil if it does.
func Check(policy policies.Spec, sized bool) error {
	e := policy.Entry
	switch {
	case e.New == nil:
		return fmt.Errorf("%s cannot hold blocks: it is no policy of a pool; use lru, for example", policy)
	case policies.NeedsClock(policy):
		return fmt.Errorf("%s cannot hold blocks: it needs requests with times, and decode steps have none; use lru, for "+
			"example", policy)
	case sized && e.Units == policies.UnitsObjects:
		return fmt.Errorf("%s cannot hold clusters: it needs blocks of equal size; use blocks of 8 tokens", policy)
	case !sized && e.Units == policies.UnitsBytes:
		return fmt.Errorf("%s cannot hold blocks of equal size: it needs different ones; use clusters", policy)
	}
	return nil
}

// Step serves a step, which wants these blocks, each once, the best first.
func (s *Store) Step(wanted []Block) (o Outcome) {
	s.pool.Expire(int64(s.step))
	before := s.pool.Evictions()
	s.lookUp(wanted, &o)
	s.apply()
	o.Evictions = int(s.pool.Evictions() - before)
	s.at += len(wanted)
	s.step++
	return o
}

func (s *Store) lookUp(wanted []Block, o *Outcome) {
	s.hits, s.misses = s.hits[:0], s.misses[:0]
	for i, b := range wanted {
		tokens := s.tokens(b)
		if s.pool.Has(b) {
			s.hits = append(s.hits, lookup{b, s.at + i})
			o.HitTokens += tokens
		} else {
			s.misses = append(s.misses, lookup{b, s.at + i})
			o.MissTokens += tokens
		}
	}
	o.Hits, o.Misses = len(s.hits), len(s.misses)
	if s.predictor != nil {
		s.predictor.observe(wanted, s.at)
	}
}

// apply notifies the policy of the hits, and loads the misses. Positions grow as an online policy sees the blocks.
func (s *Store) apply() {
	slices.Reverse(s.hits)
	if s.plan != nil {
		s.plan.soonestLast(s.misses)
	}
	pos := s.at
	for _, l := range s.hits {
		s.pool.Hit(s.request(l, pos))
		pos++
	}
	for _, l := range s.misses {
		s.pool.Miss(s.request(l, pos))
		pos++
	}
}

// request returns a lookup as the policy sees it, the pos-th of all.
func (s *Store) request(l lookup, pos int) policies.Request {
	if s.plan != nil {
		pos = int(s.plan.at[l.pos])
	}
	return policies.Request{Object: l.block, Query: l.block, Pos: pos, Size: s.charge(l.block), Time: int64(s.step)}
}

// Reserved returns the number of tokens that the store has memory for: whole blocks, no more than there are.
func (s *Store) Reserved() int64 {
	if s.size != 0 {
		return s.pool.Capacity() * int64(s.size)
	}
	return s.pool.Capacity()
}

func (s *Store) tokens(b Block) int {
	if s.size != 0 {
		return s.size
	}
	return s.sizes[b]
}

func (s *Store) charge(b Block) int64 {
	if s.size != 0 {
		return 1
	}
	return int64((s.sizes[b] + s.page - 1) / s.page * s.page)
}

// stepPredictor is a predictor as the policy of a store sees it. The store reports all blocks of a step before the
// policy chooses a victim: they are known by then, so that predictions are as of the end of the step.
type stepPredictor struct {
	predict.Predictor
	now int // where the current step ends
}

func (p *stepPredictor) observe(wanted []Block, at int) {
	for i, b := range wanted {
		p.Predictor.Observe(b, at+i)
	}
	p.now = at + len(wanted)
}

// Observe implements predict.Predictor: the store has reported the whole step.
func (*stepPredictor) Observe(Block, int) {}

func (p *stepPredictor) Predict(blocks []Block, _ int, next []float64) {
	p.Predictor.Predict(blocks, p.now, next)
}

func (p *stepPredictor) Unwrap() predict.Predictor { return p.Predictor }
