package tiers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// twoMemories are those of TensorRT-LLM, as its rules are: see docs/policies-engines.md. A block is a piece of memory
// that changes places, with what it has; free blocks are in a queue for each memory. It knows nothing of tiers.
type twoMemories struct {
	queues [2][]*memoryBlock
	root   memoryBlock
	least  int // priority of blocks that come to the second memory
	ranges []priorityRange
	now    int64
	gone   [2]int // blocks that were forgotten in their turn, and because they were behind one
}

type priorityRange struct {
	start, end, priority int
	duration             int64
}

type memoryBlock struct {
	full       bool // it has something
	object     policies.Object
	before     *memoryBlock
	behind     map[policies.Object]*memoryBlock
	memory     int // 0 the first, 1 the second
	references int
	priority   int
	duration   int64
	expiry     int64
}

func newTwoMemories(first, second, least int64, ranges []priorityRange) *twoMemories {
	m := &twoMemories{least: int(least), ranges: ranges, root: memoryBlock{behind: map[policies.Object]*memoryBlock{}}}
	for memory, size := range []int64{first, second} {
		for range size {
			m.queues[memory] = append(m.queues[memory], &memoryBlock{memory: memory, priority: policies.DefaultPriority})
		}
	}
	return m
}

func (m *twoMemories) first(memory int) *memoryBlock {
	return slices.MinFunc(m.queues[memory], func(a, b *memoryBlock) int { return a.priority - b.priority })
}

func (m *twoMemories) claim(b *memoryBlock) {
	m.queues[b.memory] = slices.DeleteFunc(m.queues[b.memory], func(other *memoryBlock) bool { return other == b })
	b.expiry = 0
}

func (m *twoMemories) release(b *memoryBlock) { m.queues[b.memory] = append(m.queues[b.memory], b) }

// take takes a block of the first memory. What it has moves to the second one, or is forgotten.
func (m *twoMemories) take() *memoryBlock {
	b := m.first(0)
	m.claim(b)
	if b.full && b.priority >= m.least && len(m.queues[1]) > 0 {
		other := m.first(1)
		m.claim(other)
		b.memory, other.memory = 1, 0
		b.duration = 0
		m.release(b)
		b = other
	}
	m.forget(b, 0)
	b.priority, b.duration = policies.DefaultPriority, 0
	return b
}

// forget forgets what a block has, and all that is behind it.
func (m *twoMemories) forget(b *memoryBlock, why int) {
	if !b.full {
		return
	}
	m.gone[why]++
	for _, child := range b.behind {
		m.forget(child, 1)
	}
	delete(b.before.behind, b.object)
	b.full = false
}

func (m *twoMemories) fill(b *memoryBlock, o policies.Object, before *memoryBlock) {
	b.full, b.object, b.before, b.behind = true, o, before, map[policies.Object]*memoryBlock{}
	before.behind[o] = b
}

// begin serves a prompt, and returns how many of its blocks hit, and those that it holds.
func (m *twoMemories) begin(blocks []policies.Object, blockTokens, reusable int) (hits int, run []*memoryBlock) {
	at := &m.root
	for i, o := range blocks {
		b, has := at.behind[o]
		switch {
		case has && hits == i && i < reusable && (b.memory == 0 || len(m.queues[0]) > 0):
			hits++
			if b.references == 0 {
				m.claim(b)
			}
			if b.memory == 1 {
				empty := m.take()
				b.memory, empty.memory = 0, 1
				m.release(empty)
			}
		case len(m.queues[0]) == 0:
			return hits, run
		default:
			b = m.computed(o, at)
		}
		b.references++
		for _, r := range m.ranges {
			if token := i * blockTokens; token >= r.start && token < r.end {
				b.priority, b.duration = r.priority, r.duration
			}
		}
		run, at = append(run, b), b
	}
	return hits, run
}

// computed returns the block with something that has been computed, though a block may have it already: then there is
// one of them afterwards, in the first memory.
func (m *twoMemories) computed(o policies.Object, before *memoryBlock) *memoryBlock {
	b := m.take()
	same, has := before.behind[o]
	switch {
	case has && same.memory == 0:
		m.queues[0] = slices.Insert(m.queues[0], 0, b)
		if same.references == 0 {
			m.claim(same)
		}
		return same
	case has:
		behind := same.behind
		m.fill(b, o, before)
		same.full = false
		for child, block := range behind {
			b.behind[child], block.before = block, b
		}
	default:
		m.fill(b, o, before)
	}
	return b
}

func (m *twoMemories) end(run []*memoryBlock) {
	for _, b := range slices.Backward(run) {
		if b.references--; b.references > 0 {
			continue
		}
		if b.duration > 0 && b.priority != policies.DefaultPriority {
			b.expiry = m.now + b.duration
		}
		m.release(b)
	}
}

// refresh moves blocks whose duration is over to the end of the default queue.
func (m *twoMemories) refresh(now int64) {
	for m.now = now; ; {
		var due *memoryBlock
		for _, b := range m.queues[0] {
			if b.expiry > 0 && b.expiry <= now && (due == nil || b.expiry < due.expiry) {
				due = b
			}
		}
		if due == nil {
			return
		}
		m.claim(due)
		due.priority = policies.DefaultPriority
		m.release(due)
	}
}

// resident returns what can be found, in each memory.
func (m *twoMemories) resident() (found [2]map[policies.Object]bool) {
	found[0], found[1] = map[policies.Object]bool{}, map[policies.Object]bool{}
	var walk func(b *memoryBlock)
	walk = func(b *memoryBlock) {
		for o, child := range b.behind {
			found[child.memory][o] = true
			walk(child)
		}
	}
	walk(&m.root)
	return found
}

// retentionsOf draws ranges with priorities, which the policy may refuse.
func retentionsOf(rng *rand.Rand) (ranges []priorityRange, text string) {
	at, priority, milliseconds := 0, policies.HighestPriority, int64(300)
	count := rng.IntN(4)
	for i := range count {
		r := priorityRange{start: at, end: at + 16*(1+rng.IntN(2))}
		if i == count-1 && rng.IntN(2) == 0 {
			r.end = 16 * 100 // all that follow
		}
		r.priority = priority - rng.IntN(priority-policies.DefaultPriority+1)
		if i > 0 {
			text += "/"
		}
		text += fmt.Sprintf("%d-%d:%d", r.start, r.end, r.priority)
		if rng.IntN(3) > 0 {
			milliseconds = 1 + rng.Int64N(milliseconds)
			r.duration = milliseconds * 1e6
			text += fmt.Sprintf("@%dms", milliseconds)
		}
		ranges = append(ranges, r)
		at, priority = r.end, r.priority
	}
	return ranges, text
}

// TestTwoMemoriesAreTensorRTLLMs compares two exclusive tiers under tensorrt-llm with the two memories of the engine,
// prompt by prompt and block by block, with priorities that end, with blocks whose priority is too low for the second
// memory, and with prompts that run at the same time.
func TestTwoMemoriesAreTensorRTLLMs(t *testing.T) {
	below, refused, gone := int64(0), 0, [2]int{}
	for seed := range brief.Of[uint64](1500, 300) {
		rng := rand.New(rand.NewPCG(seed, 59))
		tr, hbm, host := partialPrompts(rng), 1+rng.Int64N(25), 1+rng.Int64N(40)
		if seed%2 == 0 {
			tr = burstsOfPrompts(rng)
		}
		ranges, text := retentionsOf(rng)
		policy, ok := acceptedRanges(t, text)
		if !ok {
			refused++
			continue
		}
		least := []int64{30, 30, 36, 60, 90}[rng.IntN(5)]
		both := newRunning(t, tr, fmt.Sprintf("tiers(hbm=%d,host=%d,last=kept,min-priority=%d)", hbm, host, least), policy,
			hbm)
		levels, engine := both.(*chains).levels, newTwoMemories(hbm, host, least, ranges)
		columns, running := prompts.Of(tr.Kind), map[int][]*memoryBlock{}
		var n cache.Counts
		serveBoth(tr, rng, func(prompt int) {
			blocks, first := tr.Group(prompt)
			engine.refresh(tr.Times[first])
			found := levels[0].hits
			got := both.Begin(prompt, &n)
			hits, run := engine.begin(blocks, 16, int(columns.InputTokens[prompt]-1)/16)
			if want := int64(hits) * 16; got != want {
				t.Fatalf("seed %d, %s, least %d, memories of %d and %d, prompt %d: %d tokens hit, want %d", seed, text, least, hbm,
					host, prompt, got, want)
			}
			below += got/16 - (levels[0].hits - found)
			running[prompt] = run
			for memory, has := range engine.resident() {
				for o := range policies.Object(tr.NumObjects) {
					if got, want := levels[memory].pool.Has(o), has[o]; got != want {
						t.Fatalf("seed %d, %s, least %d, memories of %d and %d, prompt %d: memory %d has block %d: %v, want %v", seed,
							text, least, hbm, host, prompt, memory, o, got, want)
					}
				}
			}
		}, func(prompt int) {
			both.Finish(prompt)
			engine.end(running[prompt])
		})
		gone[0], gone[1] = gone[0]+engine.gone[0], gone[1]+engine.gone[1]
		for i, l := range levels { // a block that is computed again leaves the second memory without a hit
			if left := l.written - l.evicted - l.promoted; i == 0 && left != int64(l.pool.Len()) || left < int64(l.pool.Len()) {
				t.Fatalf("seed %d, memory %d: %d blocks were written, %d evicted, %d hit, %d are left", seed, i, l.written,
					l.evicted, l.promoted, l.pool.Len())
			}
		}
	}
	if below == 0 || refused == 0 || gone[0] == 0 || gone[1] == 0 {
		t.Errorf("%d blocks hit below, %d configurations were refused, %d blocks were forgotten in their turn and %d behind "+
			"others: too few to test", below, refused, gone[0], gone[1])
	}
}

// burstsOfPrompts are prompts that come in bursts, those of one with the same first block, with pauses in which
// durations end.
func burstsOfPrompts(rng *rand.Rand) *traces.Trace {
	var texts []string
	var times []int64
	now := int64(0)
	for len(texts) < 80 {
		first := string(rune('a' + rng.IntN(6)))
		for range 1 + rng.IntN(8) {
			text := first
			for range rng.IntN(4) {
				text += string(rune('a' + rng.IntN(5)))
			}
			texts, times = append(texts, text), append(times, now)
			now += rng.Int64N(10) * 1e6
		}
		now += rng.Int64N(300) * 1e6
	}
	t := policytest.Prompts(16, texts...)
	columns := prompts.Of(t.Kind)
	for prompt := range t.Groups {
		columns.InputTokens[prompt] -= int32(rng.IntN(16) * rng.IntN(2))
		blocks, at := t.Group(prompt)
		for i := range blocks {
			t.Times[at+i] = times[prompt]
		}
	}
	return t
}

// acceptedRanges returns the policy with ranges, unless it refuses them.
func acceptedRanges(tb must.TB, text string) (policy policies.Spec, ok bool) {
	policy = insideOf(tb, "tensorrt-llm", policies.Values{"ranges": text})
	err := policy.Entry.Check(policy.Params)
	if err != nil && !strings.Contains(err.Error(), "which is not modelled") {
		tb.Fatal(err)
	}
	return policy, err == nil
}
