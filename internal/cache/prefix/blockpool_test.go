package prefix_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/cache"
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

	// Of TensorRT-LLM: last blocks that are not full are kept as others are, and the first tokenEnd tokens have a
	// priority, for a duration after the release.
	keepsPartial       bool
	tokenEnd, priority int
	duration, now      int64
	fallen             int // blocks whose duration was over
}

type poolBlock struct {
	key        string // "" if it has nothing that can be used again
	references int
	priority   int   // the queue that it belongs to
	expiry     int64 // when it joins the default queue; 0: never
}

const poolDefault = 35

func newBlockPool(blockSize, capacity int) *blockPool {
	p := &blockPool{blockSize: blockSize, cached: map[string][]*poolBlock{}, priority: poolDefault}
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
	for block := range (len(tokens) - 1) / p.blockSize {
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
	first := len(run)
	needed := (len(tokens)+p.blockSize-1)/p.blockSize - first
	for range min(needed, len(p.free)) {
		run = append(run, p.take())
	}
	for block := first; block < len(run); block++ {
		if p.keepsPartial || (block+1)*p.blockSize <= len(tokens) {
			run[block] = p.fill(run[block], p.key(tokens, block))
		}
		run[block].priority = poolDefault
	}
	for block, b := range run {
		if block*p.blockSize < p.tokenEnd {
			b.priority = p.priority
		}
	}
	return cached, run
}

func (p *blockPool) touch(b *poolBlock) {
	if b.references == 0 {
		p.free = slices.DeleteFunc(p.free, func(other *poolBlock) bool { return other == b })
	}
	b.references++
}

// take takes the first block of the lowest queue, which loses what it has.
func (p *blockPool) take() *poolBlock {
	b := slices.MinFunc(p.free, func(a, b *poolBlock) int { return p.queue(a) - p.queue(b) })
	p.free = slices.DeleteFunc(p.free, func(other *poolBlock) bool { return other == b })
	if left := slices.DeleteFunc(p.cached[b.key], func(other *poolBlock) bool { return other == b }); len(left) > 0 {
		p.cached[b.key] = left
	} else {
		delete(p.cached, b.key)
	}
	*b = poolBlock{references: 1}
	return b
}

// queue returns the queue of a free block. Blocks that have nothing are taken first.
func (p *blockPool) queue(b *poolBlock) int {
	if b.key == "" {
		return -1
	}
	return b.priority
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
		if b.expiry = 0; p.duration > 0 && b.priority != poolDefault {
			b.expiry = p.now + p.duration
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

// TestTensorRTLLMAgainstItsQueues compares priorities with durations with the queues of TensorRT-LLM.
func TestTensorRTLLMAgainstItsQueues(t *testing.T) {
	reused, ended := 0, 0
	forEngineWorkloads(t, 6, func(seed uint64, prompts *tokenPrompts, page, capacity int, ends func() bool) {
		rng := rand.New(rand.NewPCG(seed, 10))
		pool := newBlockPool(page, capacity)
		pool.keepsPartial = true
		policy, now := "tensorrt-llm", int64(0)
		if seed%4 > 0 {
			pool.tokenEnd, pool.priority = 1+rng.IntN(8*page), 35+rng.IntN(66)
			policy = fmt.Sprintf("tensorrt-llm(token-end=%d,priority=%d)", pool.tokenEnd, pool.priority)
		}
		if seed%4 > 1 {
			pool.duration = int64(1+rng.IntN(60)) * 1e6
			policy = fmt.Sprintf("tensorrt-llm(token-end=%d,priority=%d,duration-ms=%d)", pool.tokenEnd, pool.priority,
				pool.duration/1e6)
			for i := range prompts.tokens {
				now += int64(rng.IntN(6)) * 1e6
				prompts.appendTimes(i, now)
			}
		}
		reused += pool.follow(t, fmt.Sprintf("seed %d", seed), prompts, policy, capacity, ends)
		ended += pool.fallen
	})
	if reused == 0 || ended == 0 {
		t.Errorf("%d tokens used again, %d durations ended: nothing is tested of one of them", reused, ended)
	}
}

// appendTimes gives all blocks of a prompt a time.
func (p *tokenPrompts) appendTimes(prompt int, at int64) {
	for range promptOf(p.trace, prompt) {
		p.trace.Times = append(p.trace.Times, at)
	}
}
