package onepass

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// promptStack gives LRU's counts in a cache of prompts.
type promptStack struct {
	stack      *oracle.GroupStack
	order      cache.GroupOrder
	trace      *traces.Trace
	kind       *prompts.Columns
	capacities []int64 // ascending
	window     int
	prompt     int // the next

	all       cache.Counts // that do not depend on the capacity
	blocks    *hitCounts
	kept      int64   // blocks of prompts and answers that the cache keeps
	answers   []int64 // per distance: blocks that answers write again; nil if there are none
	tokens    []int64 // per distance: those of the blocks
	filled    []int64 // per distance of last blocks: the tokens that would fit into them
	again     []int64 // per distance: blocks that are resident when their own turn comes; nil if these are blocks
	oversized []int64 // per capacity
}

func newPromptStack(t *traces.Trace, in cache.Spec, capacities []int64, window int) *promptStack {
	order, _ := in.Entry.GroupOrder(in.Params)
	s := &promptStack{stack: oracle.NewGroupStack(t.NumObjects), order: order, trace: t, kind: prompts.Of(t.Kind),
		capacities: capacities, window: window, blocks: newHitCounts(capacities, t.NumObjects),
		tokens: memory.Column[int64](t.NumObjects), filled: memory.Column[int64](t.NumObjects),
		oversized: make([]int64, len(capacities))}
	if s.kind.Answered() {
		s.answers = memory.Column[int64](t.NumObjects)
	}
	if order == cache.LastStays {
		s.again = memory.Column[int64](t.NumObjects)
	}
	return s
}

func (s *promptStack) Window() int { return s.window }

// Serve serves whole prompts.
func (s *promptStack) Serve(objects []uint32, counted bool) error {
	for len(objects) > 0 {
		blocks, _ := s.trace.Group(s.prompt)
		s.servePrompt(blocks, counted)
		objects = objects[len(blocks):]
		s.prompt++
	}
	return nil
}

func (s *promptStack) servePrompt(blocks []uint32, counted bool) {
	requested, asked := s.kind.Requested(s.prompt, blocks), len(blocks)
	if answer := s.kind.AnswerBlocks(s.prompt); answer > 0 { // a last, partial block is filled by the answer
		asked = s.kind.Full(s.prompt, blocks)
		blocks = blocks[:asked+answer]
	}
	var distances, again []uint32
	if s.order == cache.FirstStays {
		distances = s.stack.FirstStays(blocks)
	} else {
		distances, again = s.stack.LastStays(blocks)
	}
	if !counted {
		return
	}
	tokens := int64(s.kind.InputTokens[s.prompt])
	s.all.Requests += int64(requested)
	s.kept += int64(len(blocks))
	s.all.Prompts++
	s.all.Tokens += tokens
	deepest := uint32(0)
	for i, d := range distances {
		deepest = max(deepest, d) // a block hits only behind others that hit
		if i >= asked {
			s.answers[deepest]++
			continue
		}
		s.blocks.counts[s.blocks.places[deepest]]++
		s.tokens[deepest] += min(int64(i+1)*int64(s.kind.BlockTokens), tokens) - min(int64(i)*int64(s.kind.BlockTokens),
			tokens)
	}
	empty := s.kind.EmptyTokens(s.prompt, requested)
	if s.all.EmptyTokens += empty; len(distances) == requested && requested == len(blocks) {
		s.filled[deepest] += empty // from there on the last block hits
	}
	if s.kind.Rounded != nil {
		s.all.RoundedTokens += int64(s.kind.Rounded[s.prompt])
	}
	for _, d := range again {
		s.again[d]++
	}
	if s.order == cache.LastStays {
		return
	}
	for k, c := range s.capacities {
		if int64(len(blocks)) <= c {
			break
		}
		s.oversized[k] += int64(len(blocks)) - c
	}
}

func (s *promptStack) Resident() []int64 { return ResidentsIn(s.capacities, s.stack.Seen()) }

func (s *promptStack) Hits() (hits, hitBytes []int64, err error) {
	hits = s.blocks.perCapacity()
	return hits, make([]int64, len(hits)), nil
}

func (s *promptStack) Counts() []cache.Counts {
	all := slices.Repeat([]cache.Counts{s.all}, len(s.capacities))
	hits, tokens, filled := s.blocks.perCapacity(), HitsIn(s.capacities, s.tokens), HitsIn(s.capacities, s.filled)
	again, answers := HitsIn(s.capacities, s.again), make([]int64, len(all))
	if s.answers != nil {
		answers = HitsIn(s.capacities, s.answers)
	}
	for k := range all {
		n := &all[k]
		n.Hits, n.HitTokens, n.Oversized = hits[k], tokens[k], s.oversized[k]
		n.EmptyTokens -= filled[k]
		n.Evictions = s.kept - n.Hits - answers[k] - n.Oversized
		if s.again != nil {
			n.Evictions = s.kept - again[k]
		}
	}
	return all
}
