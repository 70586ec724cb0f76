// Package prefix is the cache of prompts, which are chains of blocks: the resident leading run of a prompt hits. A
// block is evicted before the blocks that precede it.
package prefix

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// Choices of the parameters of the prefix cache.
const (
	evictLeaf  = "leaf"
	evictNode  = "node"
	evictAny   = "any"
	evictChunk = "chunk"

	lastAny      = "any"
	lastFull     = "full"
	lastComputed = "computed"
	lastKept     = "kept"

	answersDefault = "default"
	answersKept    = "kept"
	answersDropped = "dropped"
)

// Metrics of a cache that serves prompts.
var (
	Prompts = metric.Metric{Name: "prompts", Unit: metric.Count,
		Doc: "prompts, without the warm-up"}
	Tokens    = metric.Metric{Name: "tokens", Unit: metric.Count, Doc: "tokens of the prompts"}
	HitTokens = metric.Metric{Name: "hit_tokens", Unit: metric.Count, Better: metric.Higher,
		Doc: "tokens of the blocks that hit, which need not be computed"}
	TokenHitRatio = metric.Metric{Name: "token_hit_ratio", Unit: metric.Share, Digits: 2, Better: metric.Higher,
		Merge: metric.Quotient(HitTokens, Tokens), Column: metric.Column{At: 30, Weight: 92},
		Figure: metric.Figure{Title: "Token hit ratio"}, Doc: "hit_tokens / tokens"}
	BlockHitRatio = metric.Metric{Name: "block_hit_ratio", Unit: metric.Share, Digits: 2, Better: metric.Higher,
		Merge: metric.Quotient(metric.Hits, metric.Requests), Doc: "hits / requests, both of blocks"}
	RoundedTokens = metric.Metric{Name: "rounded_tokens", Unit: metric.Count, Better: metric.Lower,
		Doc: "tokens at the beginning of prompts that earlier prompts have in whole blocks of the trace, and not in whole " +
			"blocks of the cache: what no cache can hit with such blocks"}
	EmptyTokens = metric.Metric{Name: "empty_tokens", Unit: metric.Count, Better: metric.Lower,
		Doc: "tokens that would have fitted into the last, partial blocks of prompts that missed: memory that rounding up " +
			"to blocks costs"}
	// Metrics are all of them.
	Metrics      = []metric.Metric{Prompts, Tokens, HitTokens, TokenHitRatio, BlockHitRatio, RoundedTokens, EmptyTokens}
	innerVictims = metric.Metric{Name: "inner_victims", Unit: metric.Count,
		Doc: "times that the policy chose a block with resident blocks after it, one of which was evicted instead"}
)

func Measure(c cache.Counts, v *metric.Values) {
	v.SetInt(Prompts, c.Prompts)
	v.SetInt(Tokens, c.Tokens)
	v.SetInt(HitTokens, c.HitTokens)
	v.SetInt(RoundedTokens, c.RoundedTokens)
	v.SetInt(EmptyTokens, c.EmptyTokens)
	v.Set(TokenHitRatio, metric.Divide(float64(c.HitTokens), float64(c.Tokens)))
	v.Set(BlockHitRatio, metric.Divide(float64(c.Hits), float64(c.Requests)))
}

// LastParam says which of the last blocks of prompts are kept and hit.
var LastParam = params.Param{
	Name: "last", Default: lastAny, Choices: []string{lastAny, lastFull, lastComputed, lastKept},
	Doc: "the last block of a prompt: any, it is kept and hits as the others do; full, only if it is full; computed, it " +
		"is kept if it is full, and never hits, since engines compute at least one token of a prompt; another one takes " +
		"room while the prompt runs; kept, it is kept in any case, and never hits",
}

// Entries are the caches of this package.
var Entries = []cache.Entry{entry}

var entry = cache.Entry{
	Name: "prefix",
	Summary: "serves prompts, which are chains of blocks: the leading run of resident blocks hits, and a block is " +
		"evicted before the blocks that precede it in its prompts",
	Source: "Zheng et al., SGLang: efficient execution of structured language model programs, NeurIPS 2024, and its " +
		"radix_cache.py; Kwon et al., Efficient memory management for large language model serving with PagedAttention, " +
		"SOSP 2023",
	Metrics:     append(slices.Clone(Metrics), innerVictims, cache.NotAdmitted),
	Measure:     Measure,
	Memory:      policies.Memory{PerObject: treeBytes},
	ObjectsOnly: true,
	Params: []params.Param{
		{Name: "evict", Default: evictLeaf, Choices: []string{evictLeaf, evictNode, evictAny, evictChunk}, Doc: "what is " +
			"evicted: leaf, the last block of a resident prefix; node, such a block with all blocks before it back to the " +
			"last fork or the end of an earlier prompt, as in SGLang; any, any block, so that blocks after it stay, though " +
			"they cannot hit; chunk, any block, as in LMCache, where blocks after a missing one are not requested"},
		{Name: "concurrency", Default: 1, Min: 1, Max: 1e6, Doc: "prompts that run at the same time, in order of arrival: " +
			"their blocks cannot be evicted; not with evict=any and evict=chunk"},
		{Name: "block", Default: 0, Min: 0, Max: 1 << 20, Doc: "tokens in a block, a multiple of those in the trace, whose " +
			"blocks are joined; the capacity has as many tokens, or bytes, as otherwise; 0: the trace's"},
		LastParam,
		{Name: "answers", Default: answersDefault, Choices: []string{answersDefault, answersKept, answersDropped}, Doc: "" +
			"blocks that answers fill: kept, as those of prompts; dropped; default: kept, except with evict=chunk, as " +
			"LMCache does without save_decode_cache"},
	},
	Answers:     keepsAnswers,
	BlockTokens: func(v params.Values) int { return v.Int("block") },
	Holds: func(v params.Values, overlap bool) bool {
		return holds(v) && (overlap || v.Int("concurrency") > 1)
	},
	Follow:     follow,
	GroupOrder: groupOrder,
	CheckModel: checkModel,
	Admits:     cache.AdmitsWithoutContest,
	Check:      check,
	New:        func(c cache.Config) (cache.Cache, error) { return New(c) },
	Types:      []any{(*Cache)(nil)},
}

// treeBytes is the memory per block without the policy's: 5 bytes for the tree and its pool, the others for running
// prompts, segments and prompts, divided among their blocks.
const treeBytes = 10

// holds reports whether running prompts hold their blocks.
func holds(v params.Values) bool { return v.Text("evict") == evictLeaf || v.Text("evict") == evictNode }

// keepsAnswers reports whether blocks that answers fill are kept.
func keepsAnswers(v params.Values) bool {
	if v.Text("answers") == answersDefault {
		return v.Text("evict") != evictChunk
	}
	return v.Text("answers") == answersKept
}

func check(v params.Values, e policies.Entry) error {
	switch evict := v.Text("evict"); {
	case !holds(v) && v.Int("concurrency") != 1:
		return fmt.Errorf("cache prefix: with evict=%s running prompts lock nothing; remove concurrency=%d", evict,
			v.Int("concurrency"))
	case evict == evictChunk && e.Kind == policies.Online && !choosesAmongChunks(&e):
		return fmt.Errorf("cache prefix: evict=%s needs a policy that chooses among some blocks without predictions, which "+
			"%s cannot; use one of: %s", evictChunk, e.Name,
			suggest.List(policies.Registry.NamesOf(choosesAmongChunks)))
	}
	return nil
}

// follow says whether the blocks can be observed.
func follow(v params.Values) error {
	if evict := v.Text("evict"); evict == evictChunk {
		return fmt.Errorf("blocks are not followed with evict=%s of --cache prefix; use evict=%s, evict=%s or evict=%s",
			evict, evictLeaf, evictNode, evictAny)
	}
	return nil
}

// groupOrder says where LRU is a stack algorithm; docs/optimum.md has the proof, and why it is none with evict=node.
func groupOrder(v params.Values) (order cache.GroupOrder, running int) {
	switch evict := v.Text("evict"); {
	case v.Text("last") != lastAny: // not proven
	case evict == evictLeaf:
		return cache.FirstStays, v.Int("concurrency")
	case evict == evictAny:
		return cache.LastStays, 1
	}
	return cache.NoOrder, 1
}

// choosesAmongChunks reports whether a policy works with evict=chunk, which does not keep the positions of the trace.
func choosesAmongChunks(e *policies.Entry) bool {
	return policies.Can[policies.Holder](*e) && e.Kind == policies.Online && !policies.Can[policies.PredictorUser](*e) &&
		!e.ReuseDistances
}

func checkModel(model string, v params.Values, _ bool) error {
	if v.Int("concurrency") == 1 {
		return nil
	}
	return fmt.Errorf("cache prefix: the model %s determines how many prompts run at the same time; remove the cache's "+
		"concurrency", model)
}

// Cache is the cache of prompts, which are chains of blocks; an object identifies a block together with all blocks
// before it. Requests, hits and evictions count blocks. A prompt's tokens hit if they are in its resident leading
// blocks.
//
// Serve replays prompts in order; the parameter concurrency is the number that run at the same time. A model with a
// clock calls Begin and Finish instead. It implements cache.Reporting and cache.Replica.
type Cache struct {
	Front
	store blockStore
	guard *cache.Guard
	held  []Held // per prompt
}

type blockStore interface {
	contents() contents
	// begin serves a prompt. It returns how many of its first blocks hit, and what it holds until Finish.
	begin(p Prompt, n *cache.Counts) (hits int, h Held)
	// Finish releases what begin held of a prompt's blocks. Locked returns how many blocks are held.
	Finish(blocks []policies.Object, h Held)
	Locked() int
}

// contents are the blocks that a store has.
type contents interface {
	Counters() []policies.Counter
	Used() int64
	Resident(o policies.Object) bool
}

// Prompt is a prompt that comes to a store of blocks.
type Prompt struct {
	Blocks   []policies.Object // that may be kept: its own, then those that its answer fills
	Answer   int               // how many of them these are
	First    int               // the position of the first one, among those of all prompts that have begun
	Now      int64             // nanoseconds
	Tokens   int
	Written  int // tokens that are computed of it and of its answer; 0 if answers are not kept
	Priority int32
	Reusable int  // how many of the blocks can hit
	Computes bool // resident blocks that cannot hit are computed again, for which there must be room
	Apart    bool // the block behind these takes room while the prompt runs, and is not kept
}

// own returns how many of the blocks are the prompt's own.
func (p Prompt) own() int { return len(p.Blocks) - p.Answer }

// begins tells a policy about the prompt, of which so many blocks fit.
func (p Prompt) begins(hits []policies.Object, fit int) policies.Prompt {
	return policies.Prompt{Hits: hits, First: p.First, Time: p.Now, Priority: p.Priority, Own: p.own(),
		Answered: fit > p.own()}
}

// found returns how many of a run of resident leading blocks are used as they are.
func (p Prompt) found(run int) int {
	if p.Computes {
		return min(run, p.Reusable)
	}
	return run
}

// Held is what a prompt holds while it runs.
type Held struct {
	Blocks int32 // from the first on
	Apart  bool  // room for a block that is not kept
	Run    int32 // the number of the prompt in a store of its own
}

func New(c cache.Config) (*Cache, error) {
	p := &Cache{Front: NewFront(c), held: make([]Held, len(c.Trace.Groups))}
	var err error
	if p.guard, err = cache.NewGuard(c); err != nil {
		return nil, err
	}
	switch evict := c.Params.Text("evict"); {
	case evict == evictAny:
		p.store, err = newLooseBlocks(c)
	case evict == evictChunk:
		p.store, err = newChunks(c)
	case p.bound && p.Columns.Rewritten:
		p.store, err = newBound(c)
	default:
		if pool, ok := poolOf(p.Columns); ok && c.Policy.Entry.InGroups {
			p.store = newGrouped(c, pool)
			break
		}
		if p.Columns.Memory.State() > 0 && c.Policy.Entry.InStates && c.Params.Text("evict") == evictNode {
			p.store, err = newStatedOf(c)
			break
		}
		p.store, err = newTree(c)
	}
	if err == nil && p.guard != nil {
		switch p.store.(type) {
		case *grouped, *stated:
			err = errors.New("an admission keeps single blocks out, but layers with windows or states are kept and found " +
				"by whole prompts; remove --admit, or choose a model without such layers")
		}
	}
	return p, err
}

func (p *Cache) Counters() []policies.Counter {
	return slices.Concat(p.store.contents().Counters(), p.Sharing.Counters(), p.guard.Counters())
}

// Remark says where less of answers is kept than of prompts.
func (p *Cache) Remark() string {
	if g, ok := p.store.(*grouped); ok && len(g.kinds) > 1 && p.Columns.Answered() {
		return "vllm keeps nothing of answers in layers with a window or a state, so that after an answer a turn hits only " +
			"up to the end of the prompt before it, at any capacity; --answers off compares all policies without answers"
	}
	if s, ok := p.store.(*stated); ok {
		return fmt.Sprintf("SGLang has 47%% of the memory for states (--mamba-full-memory-ratio 0.9), keeps one at the "+
			"last multiple of %d tokens of each %d that a prompt computes, where a prompt was found to part from another, and "+
			"at the last multiple of %d of an answer, and nothing behind it; a running prompt takes %d", s.Grid, s.Chunk,
			s.Interval, slotsOfPrompt)
	}
	return ""
}

func (p *Cache) Used() int64                           { return p.store.contents().Used() }
func (p *Cache) Resident() int64                       { return p.Used() }
func (p *Cache) Has(o policies.Object) bool            { return p.store.contents().Resident(o) }
func (p *Cache) Held() int64                           { return int64(p.store.Locked()) }
func (p *Cache) Serve(w cache.Window, n *cache.Counts) { p.InFlight.Serve(p, w, n) }

// Begin serves a prompt, counted from 0, and adds what happened to n: its blocks are requested, and missing ones are
// loaded. If a prompt does not fit next to the locked blocks, its first blocks are loaded and the others bypass the
// cache. Its blocks are locked until Finish. It returns how many tokens hit.
func (p *Cache) Begin(prompt int, n *cache.Counts) (hitTokens int64) {
	before := *n
	hits, h := p.store.begin(p.admitted(p.Arrive(prompt)), n)
	p.held[prompt] = h
	return p.Count(prompt, hits, before, n)
}

// admitted returns a prompt without its blocks from the first on that is neither resident nor admitted: they are not
// kept, and take no room.
func (p *Cache) admitted(prompt Prompt) Prompt {
	if p.guard == nil {
		return prompt
	}
	r := policies.Request{Size: 1, Time: prompt.Now}
	for i, o := range prompt.Blocks {
		r.Object, r.Query, r.Pos = o, o, prompt.First+i
		p.guard.See(r)
	}
	for i, o := range prompt.Blocks {
		r.Object, r.Query, r.Pos = o, o, prompt.First+i
		if !p.store.contents().Resident(o) && !p.guard.Admits(r) {
			prompt.Answer = max(0, prompt.Answer-(len(prompt.Blocks)-i))
			prompt.Blocks, prompt.Reusable, prompt.Apart = prompt.Blocks[:i], min(prompt.Reusable, i), false
			break
		}
	}
	return prompt
}

func (p *Cache) Finish(prompt int) {
	blocks, _ := p.Trace.Group(prompt)
	p.store.Finish(blocks, p.held[prompt])
}

// Front is what all caches of prompts have in common: which prompts come, and what is counted of them.
type Front struct {
	Trace    *traces.Trace
	Columns  *prompts.Columns
	InFlight cache.InFlight // of Serve
	last     string
	bound    bool // the policy is a reference that no schedule should beat
	// begun is the number of blocks of the prompts that have begun. It is the position of the next block: policies rely on
	// positions that grow, but on several nodes a prompt may begin after later ones of the trace.
	begun   int
	groups  *cache.NodeGroups   // of a node with predictors
	Sharing *cache.TenantCounts // who share the cache; nil if nobody does, and if the nodes count
}

// NewFront returns the front of a cache with the parameters concurrency and LastParam.
func NewFront(c cache.Config) Front {
	return Front{Trace: c.Trace, Columns: prompts.Of(c.Trace.Kind),
		InFlight: cache.InFlight{AtOnce: c.Params.Int("concurrency")}, last: c.Params.Text("last"),
		bound: c.Policy.Entry.Kind == policies.Offline, groups: c.Groups, Sharing: cache.NewSharing(c)}
}

func (f *Front) Tenants() []cache.Tenant { return f.Sharing.Tenants() }
func (f *Front) AtOnce() int             { return f.InFlight.AtOnce }

func (f *Front) Arrive(prompt int) Prompt {
	blocks, at := f.Trace.Group(prompt)
	p := Prompt{First: f.begun, Tokens: int(f.Columns.InputTokens[prompt])}
	f.groups.Begin(f.begun, len(blocks))
	f.begun += len(blocks)
	if f.Trace.Times != nil {
		p.Now = f.Trace.Times[at]
	}
	if f.Columns.Priorities != nil {
		p.Priority = f.Columns.Priorities[prompt]
	}
	var kept int
	kept, p.Reusable, p.Apart = f.Limits(prompt)
	p.Computes = f.computes()
	p.Blocks, p.Answer = blocks[:kept], f.Columns.AnswerBlocks(prompt)
	if f.Columns.Answered() {
		p.Written = int(f.Columns.Written(prompt))
	}
	return p
}

// Count counts a prompt, after its loads and evictions, and returns its tokens that hit.
func (f *Front) Count(prompt, hits int, before cache.Counts, n *cache.Counts) (hitTokens int64) {
	blocks, _ := f.Trace.Group(prompt)
	tokens := int64(f.Columns.InputTokens[prompt])
	hitTokens = min(int64(hits)*int64(f.Columns.BlockTokens), tokens)
	requested := f.Columns.Requested(prompt, blocks)
	n.Requests += int64(requested)
	n.Hits += int64(hits)
	n.Prompts++
	n.Tokens += tokens
	n.HitTokens += hitTokens
	if f.keepsPartial() && hits < requested { // otherwise a block that is not full is not kept
		n.EmptyTokens += f.Columns.EmptyTokens(prompt, requested)
	}
	if f.Columns.Rounded != nil {
		n.RoundedTokens += int64(f.Columns.Rounded[prompt])
	}
	f.Sharing.CountPrompt(prompt, n.Minus(before))
	return hitTokens
}

// keepsPartial reports whether last blocks that are not full are kept.
func (f *Front) keepsPartial() bool { return f.last == lastAny || f.last == lastKept && !f.bound }

// computes reports whether a last block is computed again, whether it is resident or not.
func (f *Front) computes() bool { return (f.last == lastComputed || f.last == lastKept) && !f.bound }

// Limits says what the parameter last means for a prompt, whose last block may not be full: how many blocks of its
// group are kept, how many of these can hit, and whether the block behind them takes room while the prompt runs. For a
// reference every full block can hit, and no other takes room. That is a bound on the rule. Blocks of an answer are
// kept and cannot hit; they include what was the last block of the prompt.
func (f *Front) Limits(prompt int) (kept, reusable int, apart bool) {
	blocks, _ := f.Trace.Group(prompt)
	tokens, block := int64(f.Columns.InputTokens[prompt]), int64(f.Columns.BlockTokens)
	full, answer := f.Columns.Full(prompt, blocks), f.Columns.AnswerBlocks(prompt)
	kept, reusable = full+answer, full
	if answer == 0 && f.keepsPartial() {
		kept, reusable = len(blocks), len(blocks)
	}
	if !f.computes() {
		return kept, reusable, false
	}
	reusable = int(min(int64(reusable), (tokens-1)/block))
	if !f.Columns.Answered() {
		return kept, reusable, kept < len(blocks)
	}
	return kept, reusable, int64(kept)*block < f.Columns.Written(prompt)
}
