package prefix

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// States says how SGLang keeps the states of a model with linear attention or Mamba layers.
type States struct {
	Slots    int // states that fit, beside the keys and values
	Grid     int // tokens of a prompt, from where it hits, after multiples of which a state can be kept
	Interval int // the same of an answer, from the beginning of its prompt
	Chunk    int // tokens that are computed in a step
}

// slotsOfPrompt is how many slots a running prompt takes: for its own state, and for two that may be kept.
const slotsOfPrompt = 3

// stated keeps blocks and states as SGLang does (components/mamba.py and unified_tree_core.py of 0.5.23, with
// extra_buffer): a radix tree, some nodes of which have a state at their end. A prompt hits up to the last one on its
// path. Of each chunk of it, its first tokens are inserted up to the last multiple of the grid that it has, or up to
// where other prompts were found to part from it, and a state there; when it ends, what follows up to the last multiple
// of the interval that its answer has reached. What is behind is not kept. The state that was used longest ago is
// evicted first: alone, or with its node if that is a leaf. Leaves are evicted, for keys and values, by the policy.
type stated struct {
	*Tree
	States
	has   []bool      // per block: a node ends with it and has a state
	using []uint32    // per block: running prompts that hold its state
	order dense.Lists // of the states, the one used last in front
	runs  []statedRun
	idle  []int32 // of runs
}

// statedRun is a prompt that runs.
type statedRun struct {
	prompt  Prompt
	at      int  // blocks on the path that it holds
	counted int  // blocks of which it has been counted as a prompt
	apart   int  // blocks that it has computed and that are not in the tree
	slots   bool // it has its slots
}

// Of SGLang's defaults.
const (
	stateGrid     = 64  // tokens of a chunk of linear attention (FLA_CHUNK_SIZE)
	stateInterval = 256 // mamba_track_interval
	stateRatio    = 0.9 // of the memory for states to that for keys and values (mamba_full_memory_ratio)
)

// newStatedOf returns a store in which the states and the blocks together have as many bytes as c.Capacity blocks. The
// places of states are between blocks of the trace.
func newStatedOf(c cache.Config) (*stated, error) {
	p := prompts.Of(c.Trace.Kind)
	bytes := float64(float64(c.Capacity)*float64(p.Memory.BlockBytes)) / (1 + stateRatio)
	s := States{Slots: int(bytes * stateRatio / p.Memory.State()), Grid: multiple(stateGrid, p.BlockTokens)}
	s.Interval = multiple(s.Grid, stateInterval)
	s.Chunk = multiple(chunkTokens, s.Grid)
	c.Capacity = int64(bytes / float64(p.Memory.TokenBytes*float64(p.BlockTokens)))
	return newStated(c, s)
}

// multiple returns the least multiple of two numbers.
func multiple(a, b int) int {
	for n := a; ; n += a {
		if n%b == 0 {
			return n
		}
	}
}

func newStated(c cache.Config, s States) (*stated, error) {
	t := emptyTree(c)
	t.moreEvents = true
	if err := t.usePolicy(c); err != nil {
		return nil, err
	}
	n := c.Trace.NumObjects
	st := &stated{Tree: t, States: s, has: make([]bool, n), using: make([]uint32, n), order: dense.NewLists(n, 1)}
	others := t.gone
	t.gone = func(o policies.Object, why cache.Departure) {
		if st.has[o] {
			st.drop(o)
		}
		if others != nil {
			others(o, why)
		}
	}
	return st, nil
}

// drop evicts a state.
func (s *stated) drop(o policies.Object) {
	s.has[o] = false
	s.order.Unlink(o)
	s.Slots++
}

// makeSlots evicts states until so many slots are free, and reports whether they are.
func (s *stated) makeSlots(slots int) bool {
	for s.Slots < slots {
		o, ok := s.order.Back(0)
		for ok && s.using[o] > 0 {
			o, ok = s.order.Before(o)
		}
		switch {
		case !ok:
			return false
		case s.evictable(o):
			s.pool.Drop(o) // the node, and its state
		default:
			s.drop(o)
		}
	}
	return true
}

// keep keeps a state at the end of a node, in a slot that is taken. It frees the slot if the node has one.
func (s *stated) keep(o policies.Object) {
	if s.has[o] {
		s.order.MoveToFront(0, o)
		s.Slots++
		return
	}
	s.has[o] = true
	s.order.PushFront(0, o)
}

// holdState moves the hold of a prompt from the state at one place of its path to that at another; 0 is none.
func (s *stated) holdState(r *statedRun, from, to int) {
	if from > 0 {
		s.using[r.prompt.Blocks[from-1]]--
	}
	if to > 0 {
		s.using[r.prompt.Blocks[to-1]]++
	}
}

func (s *stated) begin(p Prompt, n *cache.Counts) (hits int, h Held) {
	evictions, found := s.pool.Evictions(), s.Run(p.Blocks[:p.Reusable], p.Now)
	for hits = found; hits > 0 && !s.has[p.Blocks[hits-1]]; {
		hits--
	}
	h.Run = s.newRun(p, hits)
	r := &s.runs[h.Run]
	s.announce(r, s.divided(p.Blocks[:found]))
	s.split(p.Blocks[:found])
	s.hold(p.Blocks[:hits])
	if hits > 0 {
		s.order.MoveToFront(0, p.Blocks[hits-1])
		s.holdState(r, 0, hits)
	}
	branch := found * s.page / s.Grid * s.Grid
	if r.slots = s.makeSlots(slotsOfPrompt); r.slots {
		s.Slots -= slotsOfPrompt
		s.compute(r, hits, branch)
	}
	s.follower.Finish(p.Blocks[:r.at])
	n.Oversized += int64(max(0, len(p.Blocks)-r.at-r.apart))
	n.Evictions += s.pool.Evictions() - evictions
	return hits, h
}

// announce tells the policy that blocks of a prompt are matched or inserted now, and some renewed.
func (s *stated) announce(r *statedRun, renewed []policies.Object) {
	s.follower.Begin(policies.Prompt{First: r.prompt.First, Time: r.prompt.Now, Priority: r.prompt.Priority,
		Own: len(r.prompt.Blocks), Found: renewed})
}

// divided returns the first part of the node that is divided behind some blocks, if one is. It is as new as a match,
// also where the prompt does not hit it.
func (s *stated) divided(blocks []policies.Object) []policies.Object {
	from := len(blocks)
	if from == 0 || s.segments.behind[blocks[from-1]] < 0 {
		return nil
	}
	for from--; from > 0 && s.segments.behind[blocks[from-1]] == int32(blocks[from]); {
		from--
	}
	return blocks[from:]
}

func (s *stated) newRun(p Prompt, hits int) int32 {
	if len(s.idle) == 0 {
		s.idle = append(s.idle, int32(len(s.runs)))
		s.runs = append(s.runs, statedRun{})
	}
	r := s.idle[len(s.idle)-1]
	s.idle = s.idle[:len(s.idle)-1]
	s.runs[r] = statedRun{prompt: p, at: hits}
	return r
}

// compute computes a prompt and its answer, as far as there is room.
func (s *stated) compute(r *statedRun, hits, branch int) {
	for tokens := hits * s.page; tokens < r.prompt.Tokens; {
		end := min(r.prompt.Tokens, tokens+s.Chunk)
		if !s.take(r, end, s.spare(r.prompt)) {
			return
		}
		if at := s.place(tokens, end, branch) / s.page; at > r.at && at <= len(r.prompt.Blocks) && s.makeSlots(1) {
			s.Slots--
			before := r.at
			s.announce(r, nil) // what is inserted is a node
			s.insert(r, at)
			s.keep(r.prompt.Blocks[at-1])
			s.holdState(r, before, at)
		}
		tokens = end
	}
	s.take(r, r.prompt.Written, s.spareAfter(r.prompt))
}

// take takes room for a prompt up to a token, and reports whether there is some.
func (s *stated) take(r *statedRun, tokens, spare int) bool {
	blocks := max(0, (tokens+s.page-1)/s.page-r.at-r.apart)
	if blocks > int(s.pool.Capacity())-s.locked-s.apart {
		return false
	}
	s.makeRoom(s.apart+blocks+spare, s.locked)
	r.apart += blocks
	s.apart += blocks
	return true
}

// place returns at which token of a chunk a state is kept; 0 for none.
func (s *stated) place(from, end, branch int) int {
	if end-from < s.Grid {
		return 0
	}
	at := from + (end-from)/s.Grid*s.Grid
	if branch > from && branch <= at && (branch-from)%s.Grid == 0 {
		return branch
	}
	return at
}

// insert puts the next blocks of a prompt, up to one, into the tree.
func (s *stated) insert(r *statedRun, to int) {
	blocks, known := r.prompt.Blocks, r.at
	for known < to && s.pool.Has(blocks[known]) {
		known++
	}
	if known > r.at {
		s.hold(blocks[r.at:known])
		s.split(blocks[:known])
	}
	req := policies.Request{Size: 1, Time: r.prompt.Now}
	for i := r.counted; i < known; i++ {
		req.Object, req.Query, req.Pos = blocks[i], blocks[i], r.prompt.First+i
		s.policy.Hit(req)
	}
	s.lockAll(blocks[known:to])
	s.segments.add(blocks[known:to])
	s.apart -= to - r.at
	r.apart -= to - r.at
	for i := known; i < to; i++ {
		req.Object, req.Query, req.Pos = blocks[i], blocks[i], r.prompt.First+i
		s.pool.Miss(req)
		s.link(blocks[i])
	}
	r.at, r.counted = to, to
}

func (s *stated) Finish(_ []policies.Object, h Held) {
	r := &s.runs[h.Run]
	p, held := r.prompt, r.at
	at := p.Written / s.Interval * s.Interval
	if r.slots {
		s.Slots += slotsOfPrompt
	}
	if r.slots && at > p.Tokens && at/s.page <= min(len(p.Blocks), r.at+r.apart) {
		s.announce(r, nil)
		s.insert(r, at/s.page)
		s.Slots-- // of the prompt
		s.keep(p.Blocks[r.at-1])
		s.follower.Finish(p.Blocks[:r.at])
	}
	s.holdState(r, held, 0)
	s.apart -= r.apart
	s.release(p.Blocks[:r.at])
	r.prompt = Prompt{}
	s.idle = append(s.idle, h.Run)
}
