package prefix

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// grouped keeps the blocks of a model whose layers are of several kinds as vLLM's hybrid manager does
// (kv_cache_coordinator.py, single_type_kv_cache_manager.py and block_pool.py of 0.33): one pool of blocks, each of
// which has some tokens in the layers of one group. Groups of layers with a window free what is behind it while a
// prompt runs, and keep, for other prompts, only what ends where the prompt ends or where it was found to part from
// another; those of layers with a state keep one state there. A prompt hits up to where all groups have what they need.
// Free blocks are taken in the order in which they were freed, those that keep nothing first.
type grouped struct {
	pool   llm.Pool
	per    int // blocks of the trace in a block of the engine
	kinds  []groupKind
	groups int // of all kinds

	at   []int32 // per block of the trace and group: the first block of the pool that keeps it, -1 for none
	kept int     // blocks of the trace that the last group keeps

	// Per block of the pool. Free ones are in a list; number len(keys) is its head.
	keys       []int32 // index into at, -1 for nothing
	copies     []int32 // the next block that keeps the same, -1 for none
	users      []int32 // running prompts
	prev, next []int32
	free       int

	runs    []run
	idle    []int32 // of runs
	running int     // blocks of the pool that running prompts hold
}

// groupKind is a kind of layers in the pool.
type groupKind struct {
	window int // tokens; 0 for all, llm.State for a state
	need   int // blocks in a row that a hit needs; 0: all
	first  int // of its groups
	count  int
}

// run is what a running prompt holds, per group: the blocks of the pool for its blocks, -1 where it holds none.
type run struct{ held [][]int32 }

// noBlock stands for no block of the pool.
const noBlock = -1

// chunkTokens is how many tokens of a prompt vLLM computes in a step (max_num_batched_tokens of a server on H100).
const chunkTokens = 8192

// poolOf returns the pool of vLLM for a trace, if the model that --kv names has one and windows are kept as it does.
func poolOf(p *prompts.Columns) (llm.Pool, bool) {
	if p == nil {
		return llm.Pool{}, false
	}
	return p.Memory.Pool(p.BlockTokens)
}

// newGrouped returns a store of as many bytes as c.Capacity blocks of the trace have.
func newGrouped(c cache.Config, pool llm.Pool) *grouped {
	blocks := math.Floor(float64(c.Capacity) * float64(prompts.Of(c.Trace.Kind).Memory.BlockBytes) / pool.Bytes)
	return groupedOf(c.Trace, pool, blocks)
}

// groupedOf returns a store with so many blocks of a pool.
func groupedOf(t *traces.Trace, pool llm.Pool, blocks float64) *grouped {
	s := &grouped{pool: pool, per: pool.Tokens / prompts.Of(t.Kind).BlockTokens}
	for _, g := range pool.Groups {
		kind := groupKind{window: g.Window, first: s.groups, count: g.Count}
		switch {
		case g.Window == llm.State:
			kind.need = 1
		case g.Window > 0:
			kind.need = (g.Window - 1 + pool.Tokens - 1) / pool.Tokens
		}
		s.kinds = append(s.kinds, kind)
		s.groups += g.Count
	}
	s.at = filled(s.groups * t.NumObjects)
	// vLLM reserves one block. More than all prompts of the trace fill are never taken.
	n := int(max(0, min(blocks-1, float64(s.groups*(len(t.Objects)+len(t.Groups))))))
	s.keys, s.copies, s.users = filled(n), filled(n), make([]int32, n)
	s.prev, s.next = make([]int32, n+1), make([]int32, n+1)
	for i := range n + 1 {
		s.prev[i], s.next[i] = int32((i+n)%(n+1)), int32((i+1)%(n+1))
	}
	s.free = n
	return s
}

// filled returns n times noBlock.
func filled(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = noBlock
	}
	return all
}

// slot returns where at has a block of the engine in a prompt, in a group.
func (s *grouped) slot(p Prompt, block, group int) int {
	return int(p.Blocks[(block+1)*s.per-1])*s.groups + group
}

// has reports whether all groups of a kind keep a block.
func (s *grouped) has(p Prompt, block int, kind groupKind) bool {
	first := s.slot(p, block, kind.first)
	for g := range kind.count {
		if s.at[first+g] == noBlock {
			return false
		}
	}
	return true
}

// match returns how many first blocks of a prompt hit, and how many those do that need all of theirs.
func (s *grouped) match(p Prompt, most int) (hits, full int) {
	last := s.kinds[len(s.kinds)-1]
	for full < most && s.has(p, full, last) {
		full++
	}
	hits = full
	for {
		before := hits
		for _, kind := range s.kinds[:len(s.kinds)-1] {
			hits = s.tail(p, hits, kind)
		}
		if hits == before || len(s.kinds) == 2 {
			return hits, full
		}
	}
}

// tail returns the longest hit, of at most so many blocks, before which a kind keeps what it needs.
func (s *grouped) tail(p Prompt, most int, kind groupKind) int {
	row := 0
	for i := most - 1; i >= 0; i-- {
		if !s.has(p, i, kind) {
			row = 0
			continue
		}
		if row++; row >= kind.need {
			return i + row
		}
	}
	if kind.window == llm.State {
		return 0
	}
	return row // the whole prefix, which is shorter than the window
}

func (s *grouped) begin(p Prompt, n *cache.Counts) (hits int, h Held) {
	full := p.own() / s.per // blocks of the engine that may be kept
	most := (p.Tokens - 1) / s.pool.Tokens
	found, longest := s.match(p, min(most, full))
	r := s.newRun((max(p.Tokens, p.Written) + s.pool.Tokens - 1) / s.pool.Tokens)
	s.take(p, found, &s.runs[r])
	bounds := reachable{most: most}
	if longest > found {
		bounds.junction = longest
	}
	done := s.compute(p, &s.runs[r], found, full, bounds, n)
	if done == full {
		full = len(p.Blocks) / s.per
		done = s.decode(p, &s.runs[r], full, bounds, n)
	}
	n.Oversized += int64(len(p.Blocks)) - int64(min(done*s.per, len(p.Blocks)))
	if done == full {
		n.Oversized -= int64(len(p.Blocks) - full*s.per) // those of the last block, which is not full
	}
	return min(found*s.per, p.Reusable), Held{Run: r}
}

// reachable says at which blocks of a prompt those of layers with a window or a state are kept: before the last block
// that can hit, and before the one from which other prompts were found to go on, if any.
type reachable struct{ most, junction int }

// newRun returns the number of a record of a prompt of so many blocks.
func (s *grouped) newRun(blocks int) int32 {
	if len(s.idle) == 0 {
		s.idle = append(s.idle, int32(len(s.runs)))
		s.runs = append(s.runs, run{held: make([][]int32, s.groups)})
	}
	r := s.idle[len(s.idle)-1]
	s.idle = s.idle[:len(s.idle)-1]
	for g := range s.runs[r].held {
		held := s.runs[r].held[g][:0]
		for range blocks {
			held = append(held, noBlock)
		}
		s.runs[r].held[g] = held
	}
	return r
}

// take lets a prompt hold what it hits.
func (s *grouped) take(p Prompt, hits int, r *run) {
	for _, kind := range s.kinds {
		from := 0
		if kind.need > 0 {
			from = max(0, hits-kind.need)
		}
		for g := kind.first; g < kind.first+kind.count; g++ {
			for i := from; i < hits; i++ {
				b := s.at[s.slot(p, i, g)]
				if s.users[b] == 0 {
					s.unlink(b)
				}
				s.users[b]++
				s.running++
				r.held[g][i] = b
			}
		}
	}
}

// compute computes a prompt from its hits on, a chunk at a time, and keeps its blocks. It returns how many full blocks
// have been computed: fewer than the prompt has if no more fit.
func (s *grouped) compute(p Prompt, r *run, hits, full int, bounds reachable, n *cache.Counts) (done int) {
	tokens := hits * s.pool.Tokens
	for tokens < p.Tokens {
		end := s.chunkEnd(tokens, p.Tokens, bounds)
		if !s.step(p, r, tokens, end, full, bounds, n) {
			return tokens / s.pool.Tokens
		}
		tokens = end
	}
	s.skip(r, tokens) // before the first token of the answer
	return full
}

// decode computes the tokens of an answer, one after the other, and keeps the blocks that they fill. It returns how
// many full blocks the prompt and its answer have then: fewer than they could have if no more fit. Between two steps in
// which a block begins or leaves a window, nothing changes.
func (s *grouped) decode(p Prompt, r *run, full int, bounds reachable, n *cache.Counts) (done int) {
	for tokens := p.Tokens; tokens < p.Written; {
		end := min(p.Written, s.nextStep(tokens))
		if !s.step(p, r, tokens, end, full, bounds, n) {
			return tokens / s.pool.Tokens
		}
		tokens = end
	}
	return full
}

// step computes the tokens of a prompt from one on, and keeps the blocks that are full then. It reports whether they
// had room.
func (s *grouped) step(p Prompt, r *run, from, end, full int, bounds reachable, n *cache.Counts) bool {
	s.skip(r, from)
	if !s.allocate(r, from, end, n) {
		return false
	}
	for _, kind := range s.kinds {
		s.keep(p, r, kind, from/s.pool.Tokens, min(end/s.pool.Tokens, full), bounds)
	}
	return true
}

// nextStep returns the next number of tokens at which a block is full, or leaves a window.
func (s *grouped) nextStep(tokens int) int {
	next := (tokens/s.pool.Tokens + 1) * s.pool.Tokens
	for _, kind := range s.kinds {
		behind := 0 // tokens from the last one that a kind skips to the current one
		switch {
		case kind.window > 0:
			behind = kind.window - 1
		case kind.window == llm.State:
			behind = 1
		default:
			continue
		}
		if tokens < behind {
			next = min(next, behind+s.pool.Tokens)
			continue
		}
		next = min(next, ((tokens-behind)/s.pool.Tokens+1)*s.pool.Tokens+behind)
	}
	return next
}

// chunkEnd returns where a chunk ends that begins at a token. With states, chunks end between blocks, and where a state
// is kept.
func (s *grouped) chunkEnd(from, tokens int, bounds reachable) int {
	end := min(tokens, from+max(chunkTokens, s.pool.Tokens))
	if !s.states() {
		return end
	}
	if end < tokens {
		end = max(from+s.pool.Tokens, end/s.pool.Tokens*s.pool.Tokens)
	}
	for _, stop := range []int{bounds.junction, bounds.most} {
		if at := stop * s.pool.Tokens; at > from && at < end {
			return at
		}
	}
	return end
}

// states reports whether some layers have a state.
func (s *grouped) states() bool {
	for _, kind := range s.kinds {
		if kind.window == llm.State {
			return true
		}
	}
	return false
}

// skip frees what a prompt needs no more after so many tokens.
func (s *grouped) skip(r *run, tokens int) {
	for _, kind := range s.kinds {
		skipped := 0
		switch {
		case kind.window > 0:
			skipped = max(0, tokens-kind.window+1) / s.pool.Tokens
		case kind.window == llm.State:
			skipped = max(0, tokens-1) / s.pool.Tokens
		}
		for g := kind.first; g < kind.first+kind.count; g++ {
			held := r.held[g]
			s.freeAll(held[:min(skipped, len(held))])
		}
	}
}

// allocate takes blocks for the tokens of a chunk, and reports whether there were enough.
func (s *grouped) allocate(r *run, from, end int, n *cache.Counts) bool {
	first, last := from/s.pool.Tokens, (end+s.pool.Tokens-1)/s.pool.Tokens
	needed := 0
	for _, kind := range s.kinds {
		for i := s.firstOf(kind, first, last); i < last; i++ {
			if r.held[kind.first][i] == noBlock {
				needed += kind.count
			}
		}
	}
	if needed > s.free {
		return false
	}
	for _, kind := range s.kinds {
		for g := kind.first; g < kind.first+kind.count; g++ {
			for i := s.firstOf(kind, first, last); i < last; i++ {
				if r.held[g][i] == noBlock {
					r.held[g][i] = s.newBlock(n)
				}
			}
		}
	}
	return true
}

// firstOf returns the first block that a kind needs for a chunk: of states, the last one alone.
func (s *grouped) firstOf(kind groupKind, first, last int) int {
	if kind.window == llm.State {
		return last - 1
	}
	return first
}

// newBlock takes the first free block of the pool, which loses what it keeps.
func (s *grouped) newBlock(n *cache.Counts) int32 {
	b := s.next[len(s.keys)]
	s.unlink(b)
	if s.keys[b] != noBlock {
		s.forget(b)
		n.Evictions++
	}
	s.users[b]++
	s.running++
	return b
}

// forget removes what a block of the pool keeps.
func (s *grouped) forget(b int32) {
	slot := s.keys[b]
	if s.at[slot] == b {
		s.at[slot] = s.copies[b]
		if s.copies[b] == noBlock && int(slot)%s.groups == s.groups-1 {
			s.kept -= s.per
		}
	} else {
		before := s.at[slot]
		for s.copies[before] != b {
			before = s.copies[before]
		}
		s.copies[before] = s.copies[b]
	}
	s.keys[b], s.copies[b] = noBlock, noBlock
}

// keep makes full blocks that were computed known to other prompts: all of those of layers that attend to all, and of
// others what a hit needs that ends at the last block that can hit, or at the junction.
func (s *grouped) keep(p Prompt, r *run, kind groupKind, from, to int, bounds reachable) {
	for g := kind.first; g < kind.first+kind.count; g++ {
		for i := from; i < to; i++ {
			b := r.held[g][i]
			if b == noBlock || s.keys[b] != noBlock || !kind.keeps(i, bounds) {
				continue
			}
			slot := s.slot(p, i, g)
			s.keys[b] = int32(slot)
			if s.at[slot] == noBlock {
				s.at[slot] = b
				if g == s.groups-1 {
					s.kept += s.per
				}
				continue
			}
			last := s.at[slot]
			for s.copies[last] != noBlock {
				last = s.copies[last]
			}
			s.copies[last] = b
		}
	}
}

// keeps reports whether a hit may need block i of a kind.
func (kind groupKind) keeps(i int, at reachable) bool {
	return kind.need == 0 || i < at.most && i >= at.most-kind.need || i < at.junction && i >= at.junction-kind.need
}

// freeAll frees blocks of the pool that a prompt holds, the last first, and clears them. Those that keep nothing are
// taken next, in this order; the others after all that are free.
func (s *grouped) freeAll(held []int32) {
	head := int32(len(s.keys))
	front := head // the last of those that are put in front
	for i := len(held) - 1; i >= 0; i-- {
		b := held[i]
		if b == noBlock {
			continue
		}
		held[i] = noBlock
		s.running--
		if s.users[b]--; s.users[b] > 0 {
			continue
		}
		if s.keys[b] == noBlock {
			s.link(b, front)
			front = b
		} else {
			s.link(b, s.prev[head])
		}
	}
}

// link puts a free block behind another in the list.
func (s *grouped) link(b, before int32) {
	s.prev[b], s.next[b] = before, s.next[before]
	s.prev[s.next[before]] = b
	s.next[before] = b
	s.free++
}

// unlink removes a block from the list of free ones.
func (s *grouped) unlink(b int32) {
	s.next[s.prev[b]], s.prev[s.next[b]] = s.next[b], s.prev[b]
	s.free--
}

func (s *grouped) Finish(_ []policies.Object, h Held) {
	for _, held := range s.runs[h.Run].held {
		s.freeAll(held)
	}
	s.idle = append(s.idle, h.Run)
}

func (s *grouped) contents() contents           { return s }
func (s *grouped) Locked() int                  { return s.running / s.groups * s.per }
func (s *grouped) Used() int64                  { return int64(s.kept) }
func (s *grouped) Counters() []policies.Counter { return nil }

// Resident reports whether a block of the trace is the last of a block that layers without a window keep.
func (s *grouped) Resident(o policies.Object) bool {
	return s.at[int(o)*s.groups+s.groups-1] != noBlock
}
