package prefix_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

// blockPool is the pool of blocks of vLLM and of TensorRT-LLM, as their rules are: see docs/policies-engines.md. It
// knows nothing of trees: free blocks stay in queues in the order in which they will be evicted, and keep what they
// have until they are taken.
type blockPool struct {
	blockSize int
	free      []*poolBlock            // in the order in which they are taken; among them all without references
	cached    map[string][]*poolBlock // by their tokens and all before; the first was filled first
	copies    bool                    // a block that is computed again is kept beside the one that the pool has
	dropped   int                     // copies that were not kept

	// Of TensorRT-LLM: last blocks that are not full are kept as others are, and ranges of tokens have priorities, for a
	// duration after the release.
	keepsPartial bool
	retentions   []retention
	now          int64
	fallen       int // blocks whose duration was over
	inner        int // blocks that were taken while the pool had others that continue them
}

type retention struct {
	start, end, priority int
	milliseconds         int64 // 0: for ever
}

type poolBlock struct {
	key        string // "" if it has nothing that can be used again
	references int
	priority   int   // the queue that it belongs to
	duration   int64 // how long it keeps its priority after its release; 0: for ever
	expiry     int64 // when it joins the default queue; 0: never
}

const poolDefault = 35

func newBlockPool(blockSize, capacity int) *blockPool {
	p := &blockPool{blockSize: blockSize, cached: map[string][]*poolBlock{}}
	for range capacity {
		p.free = append(p.free, &poolBlock{priority: poolDefault})
	}
	return p
}

func (p *blockPool) key(tokens []int, block int) string {
	return fmt.Sprint(tokens[:min((block+1)*p.blockSize, len(tokens))])
}

// begin serves a prompt, and returns how many of its tokens need not be computed. vLLM lets a prompt wait that does not
// fit; here as many of its first blocks are allocated as fit, as in ours.
func (p *blockPool) begin(tokens []int) (cached int, run []*poolBlock) {
	return p.decode(tokens, len(tokens))
}

// decode serves a prompt, the first of the tokens, and its answer, as far as its keys and values are computed.
func (p *blockPool) decode(tokens []int, prompt int) (cached int, run []*poolBlock) {
	for block := range (prompt - 1) / p.blockSize {
		found := p.cached[p.key(tokens, block)]
		if found == nil {
			break
		}
		run = append(run, found[0])
	}
	for _, b := range run {
		p.touch(b)
	}
	cached = len(run) * p.blockSize
	run = p.compute(run, tokens, prompt)
	run = p.compute(run, tokens, len(tokens))
	for block, b := range run {
		for _, r := range p.retentions {
			if token := block * p.blockSize; token >= r.start && token < r.end {
				b.priority, b.duration = r.priority, r.milliseconds*1e6
			}
		}
	}
	return cached, run
}

// compute takes blocks for the first tokens, behind those of a run, and fills them.
func (p *blockPool) compute(run []*poolBlock, tokens []int, end int) []*poolBlock {
	first := len(run)
	needed := (end+p.blockSize-1)/p.blockSize - first
	for range min(needed, len(p.free)) {
		run = append(run, p.take())
	}
	for block := range run {
		switch full := (block+1)*p.blockSize <= end; {
		case run[block].key != "":
			continue
		case full || p.keepsPartial && end == len(tokens):
			run[block] = p.fill(run[block], p.key(tokens[:end], block))
		}
		run[block].priority = poolDefault
	}
	return run
}

func (p *blockPool) touch(b *poolBlock) {
	if b.references == 0 {
		p.free = slices.DeleteFunc(p.free, func(other *poolBlock) bool { return other == b })
	}
	b.references++
}

// take takes the first block of the lowest queue, which loses what it has.
func (p *blockPool) take() *poolBlock {
	b := slices.MinFunc(p.free, func(a, b *poolBlock) int { return a.priority - b.priority })
	p.free = slices.DeleteFunc(p.free, func(other *poolBlock) bool { return other == b })
	full := b.key != "" && len(strings.Fields(b.key))%p.blockSize == 0 // otherwise nothing continues it
	for key := range p.cached {
		if full && strings.HasPrefix(key, strings.TrimSuffix(b.key, "]")+" ") {
			p.inner++
			break
		}
	}
	if left := slices.DeleteFunc(p.cached[b.key], func(other *poolBlock) bool { return other == b }); len(left) > 0 {
		p.cached[b.key] = left
	} else {
		delete(p.cached, b.key)
	}
	*b = poolBlock{references: 1}
	return b
}

// fill notes that a block has been filled.
func (p *blockPool) fill(b *poolBlock, key string) *poolBlock {
	if same := p.cached[key]; len(same) > 0 && !p.copies {
		p.dropped++
		b.references = 0
		p.free = slices.Insert(p.free, 0, b)
		p.touch(same[0])
		return same[0]
	}
	b.key = key
	p.cached[key] = append(p.cached[key], b)
	return b
}

// end releases the blocks of a prompt, the last first.
func (p *blockPool) end(run []*poolBlock) {
	for _, b := range slices.Backward(run) {
		if b.references--; b.references > 0 {
			continue
		}
		if b.expiry = 0; b.duration > 0 && b.priority != poolDefault {
			b.expiry = p.now + b.duration
		}
		if b.key == "" {
			p.free = slices.Insert(p.free, 0, b)
		} else {
			p.free = append(p.free, b)
		}
	}
}

// refresh moves blocks whose duration is over to the end of the default queue, in the order in which it ended.
func (p *blockPool) refresh(now int64) {
	p.now = now
	for {
		var due *poolBlock
		for _, b := range p.free {
			if b.expiry > 0 && b.expiry <= now && (due == nil || b.expiry < due.expiry) {
				due = b
			}
		}
		if due == nil {
			return
		}
		due.priority, due.expiry = poolDefault, 0
		p.fallen++
		p.free = append(slices.DeleteFunc(p.free, func(other *poolBlock) bool { return other == due }), due)
	}
}

// follow compares our cache with the pool prompt by prompt, and returns how many tokens were used again.
func (p *blockPool) follow(t *testing.T, what string, prompts *tokenPrompts, policy string, capacity int,
	ends func() bool) (reused int) {
	ours := newEngine(t, prompts.trace, policy, capacity)
	running := map[int][]*poolBlock{}
	var n cache.Counts
	for i, tokens := range prompts.tokens {
		if prompts.trace.Times != nil {
			p.refresh(prompts.trace.Times[prompts.trace.Groups[i]])
		}
		want, run := p.begin(tokens)
		if got := ours.Begin(i, &n); got != int64(want) {
			t.Fatalf("%s, %s, blocks of %d, capacity %d: prompt %d has %d cached tokens, want %d", what, policy, p.blockSize,
				capacity, i, got, want)
		}
		running[i] = run
		reused += want
		for k := range i + 1 {
			if running[k] != nil && ends() {
				p.end(running[k])
				ours.Finish(k)
				delete(running, k)
			}
		}
		if int(ours.Used()) != len(p.cached) {
			t.Fatalf("%s, %s, blocks of %d, capacity %d: %d blocks after prompt %d, want %d", what, policy, p.blockSize,
				capacity, ours.Used(), i, len(p.cached))
		}
	}
	return reused
}

// TestVLLMAgainstItsBlockPool: for each prompt of 1000 workloads, ours computes the same tokens again as vLLM's pool of
// blocks, whichever prompts run at the same time. vLLM keeps a second copy of a last block that is full, which it has
// and computes again; in every other workload no prompt ends with a full block, and the pool keeps copies as vLLM does.
func TestVLLMAgainstItsBlockPool(t *testing.T) {
	reused, dropped := 0, 0
	forEngineWorkloads(t, 6, func(seed uint64, prompts *tokenPrompts, page, capacity int, ends func() bool) {
		copies := seed%2 == 0 && page > 1
		if copies {
			prompts = prompts.withoutFullEnds(page)
		}
		pool := newBlockPool(page, capacity)
		pool.copies = copies
		reused += pool.follow(t, fmt.Sprintf("seed %d", seed), prompts, "vllm", capacity, ends)
		dropped += pool.dropped
	})
	if reused == 0 || dropped == 0 {
		t.Errorf("%d tokens used again, %d copies dropped: nothing is tested of one of them", reused, dropped)
	}
}

// withoutFullEnds adds a token to each prompt whose last block is full.
func (p *tokenPrompts) withoutFullEnds(page int) *tokenPrompts {
	changed := newTokenPrompts(page)
	for _, tokens := range p.tokens {
		if len(tokens)%page == 0 {
			tokens = append(slices.Clone(tokens), 3)
		}
		changed.tokens = append(changed.tokens, tokens)
	}
	changed.makeTrace(page)
	return changed
}

// randomRetentions draws one to three ranges of tokens with priorities, and how the policy's parameter names them.
func randomRetentions(rng *rand.Rand, page int) (retentions []retention, text string) {
	at, priority, duration := 0, 101, int64(80)
	for i := range 1 + rng.IntN(3) {
		r := retention{start: at, priority: poolDefault + rng.IntN(66), milliseconds: int64(1 + rng.IntN(60))}
		if rng.IntN(2) == 0 { // more often one that is not refused
			r.priority, r.milliseconds = poolDefault+rng.IntN(priority-poolDefault), 1+rng.Int64N(duration)
		}
		if rng.IntN(3) == 0 {
			r.milliseconds = 0
		}
		if rng.IntN(6) == 0 {
			r.start += rng.IntN(2 * page)
		}
		r.end = r.start + 1 + rng.IntN(6*page)
		end := fmt.Sprint(r.end)
		if rng.IntN(4) == 0 {
			r.end, end = 1<<40, ""
		}
		if i > 0 {
			text += "/"
		}
		text += fmt.Sprintf("%d-%s:%d", r.start, end, r.priority)
		if r.milliseconds > 0 {
			text += fmt.Sprintf("@%dms", r.milliseconds)
			duration = r.milliseconds
		}
		retentions = append(retentions, r)
		if at, priority = r.end, max(poolDefault, r.priority)+1; end == "" {
			break
		}
	}
	return retentions, text
}

// TestTensorRTLLMAgainstItsQueues compares priorities with durations with the queues of TensorRT-LLM. Configurations
// are refused under which these take a block before others that continue it, and only those.
func TestTensorRTLLMAgainstItsQueues(t *testing.T) {
	reused, fallen, ranges, inner := 0, 0, 0, map[string]int{}
	forEngineWorkloads(t, 6, func(seed uint64, prompts *tokenPrompts, page, capacity int, ends func() bool) {
		rng := rand.New(rand.NewPCG(seed, 10))
		pool := newBlockPool(page, capacity)
		pool.keepsPartial = true
		policy, now := "tensorrt-llm", int64(0)
		for i := range prompts.tokens {
			now += int64(rng.IntN(6)) * 1e6
			prompts.appendTimes(i, now)
		}
		if seed%8 > 0 {
			var text string
			pool.retentions, text = randomRetentions(rng, page)
			policy = fmt.Sprintf("tensorrt-llm(ranges=%s)", text)
		}
		if _, err := policies.Registry.Parse(policy); err != nil {
			if !strings.Contains(err.Error(), "behind them, which is not modelled") {
				t.Fatal(err)
			}
			pool.run(prompts, ends)
			inner[policy] = pool.inner
			return
		}
		reused += pool.follow(t, fmt.Sprintf("seed %d", seed), prompts, policy, capacity, ends)
		fallen += pool.fallen
		ranges = max(ranges, len(pool.retentions))
		if pool.inner > 0 {
			t.Fatalf("seed %d: %s: %d blocks were taken before others that continue them; refuse it", seed, policy, pool.inner)
		}
	})
	if reused == 0 || fallen == 0 || ranges < 3 {
		t.Errorf("%d tokens used again, %d durations ended, at most %d ranges: nothing is tested of one of them", reused,
			fallen, ranges)
	}
	harmless := 0
	for _, taken := range inner {
		if taken == 0 {
			harmless++
		}
	}
	if harmless > len(inner)/2 {
		t.Errorf("%d of %d configurations were refused without need on a random workload", harmless, len(inner))
	}
	t.Logf("%d configurations refused, %d of them without need on their workload", len(inner), harmless)
}

// run serves prompts without comparing.
func (p *blockPool) run(prompts *tokenPrompts, ends func() bool) {
	running := map[int][]*poolBlock{}
	for i, tokens := range prompts.tokens {
		p.refresh(prompts.trace.Times[prompts.trace.Groups[i]])
		_, running[i] = p.begin(tokens)
		for k := range i + 1 {
			if running[k] != nil && ends() {
				p.end(running[k])
				delete(running, k)
			}
		}
	}
}

// appendTimes gives all blocks of a prompt a time.
func (p *tokenPrompts) appendTimes(prompt int, at int64) {
	for range promptOf(p.trace, prompt) {
		p.trace.Times = append(p.trace.Times, at)
	}
}
