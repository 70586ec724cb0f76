package sim

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// promptPassOf is passOf for cells of LRU in a cache that is not exact: those of prompts, if the blocks of all prompts
// that run at the same time fit.
func (v *view) promptPassOf(c Cell) string {
	if c.Cache.Entry.GroupOrder == nil || prompts.Of(v.trace.Kind) == nil {
		return ""
	}
	order, running := c.Cache.Entry.GroupOrder(c.Cache.Params)
	if order == cache.NoOrder || running > 1 && c.Capacity.Simulated < v.mostRunning(running) {
		return ""
	}
	return fmt.Sprintf("reuse distances in %s, cache %s, seed %d", c.Capacity.Unit(), c.Cache, c.Seed)
}

// mostRunning returns the most blocks that so many consecutive prompts have together, each counted by itself.
func (v *view) mostRunning(prompts int) int64 {
	if most, ok := v.running.Load(prompts); ok {
		return most.(int64)
	}
	most, groups := 0, v.trace.Groups
	for i, from := range groups {
		end := len(v.trace.Objects)
		if prompts < len(groups)-i {
			end = groups[i+prompts]
		}
		most = max(most, end-from)
	}
	v.running.Store(prompts, int64(most))
	return int64(most)
}

// groupedStack is a stack of a cache that serves groups, whose requests come in whole groups.
type groupedStack interface {
	lruStack
	// counts returns what was counted at capacity k, with loads as evictions.
	counts(k int) cache.Counts
}

// promptStack gives LRU's counts in a cache of prompts.
type promptStack struct {
	stack      *oracle.GroupStack
	order      cache.GroupOrder
	trace      *traces.Trace
	kind       *prompts.Columns
	capacities []int64 // ascending
	prompt     int     // the next

	all       cache.Counts // that do not depend on the capacity
	blocks    []int64      // per distance: blocks that hit from this capacity on
	tokens    []int64      // of them
	filled    []int64      // per distance of last blocks: the tokens that would fit into them
	again     []int64      // per distance: blocks that are resident when their own turn comes; nil if these are blocks
	oversized []int64      // per capacity
}

func newPromptStack(t *traces.Trace, cells []Cell) *promptStack {
	order, _ := cells[0].Cache.Entry.GroupOrder(cells[0].Cache.Params)
	s := &promptStack{stack: oracle.NewGroupStack(t.NumObjects), order: order, trace: t, kind: prompts.Of(t.Kind),
		capacities: simulated(cells), blocks: memory.Column[int64](t.NumObjects), tokens: memory.Column[int64](t.NumObjects),
		filled:    memory.Column[int64](t.NumObjects),
		oversized: make([]int64, len(cells))}
	if order == cache.LastStays {
		s.again = memory.Column[int64](t.NumObjects)
	}
	return s
}

func (s *promptStack) window() int { return longestWindow }

// serve serves whole prompts.
func (s *promptStack) serve(objects []uint32, counted bool) error {
	for len(objects) > 0 {
		end := len(s.trace.Objects)
		if s.prompt+1 < len(s.trace.Groups) {
			end = s.trace.Groups[s.prompt+1]
		}
		n := end - s.trace.Groups[s.prompt]
		s.servePrompt(objects[:n], counted)
		objects = objects[n:]
		s.prompt++
	}
	return nil
}

func (s *promptStack) servePrompt(blocks []uint32, counted bool) {
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
	s.all.Requests += int64(len(blocks))
	s.all.Prompts++
	s.all.Tokens += tokens
	deepest := uint32(0)
	for i, d := range distances {
		deepest = max(deepest, d) // a block hits only behind others that hit
		s.blocks[deepest]++
		s.tokens[deepest] += min(int64(i+1)*int64(s.kind.BlockTokens), tokens) - min(int64(i)*int64(s.kind.BlockTokens),
			tokens)
	}
	empty := s.kind.EmptyTokens(s.prompt, len(blocks))
	if s.all.EmptyTokens += empty; len(distances) == len(blocks) {
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

func (s *promptStack) resident() []int64 { return residentsIn(s.capacities, s.stack.Seen()) }

func (s *promptStack) hits() (hits, hitBytes []int64, err error) {
	hits = hitsIn(s.capacities, s.blocks)
	return hits, make([]int64, len(hits)), nil
}

func (s *promptStack) counts(k int) cache.Counts {
	at := func(distances []int64) int64 { return hitsIn(s.capacities[k:k+1], distances)[0] }
	n := s.all
	n.Hits, n.HitTokens, n.Oversized = at(s.blocks), at(s.tokens), s.oversized[k]
	loads := n.Misses() - n.Oversized
	if s.again != nil {
		loads = n.Requests - at(s.again)
	}
	n.EmptyTokens -= at(s.filled)
	n.Evictions = loads
	return n
}
