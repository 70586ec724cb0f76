package prefill

import (
	"context"
	"sort"
	"time"

	"github.com/cachesim/cachesim/internal/clock/event"
)

// Tier is a place that keys and values are loaded from, one transfer after the other.
type Tier struct {
	Latency   time.Duration // of a transfer
	Bandwidth float64       // bytes per second; 0 is the memory of the GPUs, from which nothing is loaded
}

// Tiered is a Cache whose blocks are in several tiers, the first of them the fastest.
type Tiered interface {
	Cache
	// Peek adds to tokens, per tier, those of the leading blocks of prompt i that the tiers have now. It returns how many
	// blocks these are, and how many of them, from the first on, are in the first tier. It changes nothing.
	Peek(i int, tokens []int64) (inFirst, blocks int)
	// Loads adds to tokens those that hit in each tier when the last prompt began, without its blocks between two.
	Loads(from, to int, tokens []int64)
}

// Loads are the loads of the prompts that count.
type Loads struct {
	Bytes  []int64       // per tier
	Waited time.Duration // of all prompts, from the start of the prefill to the last load, while nothing was computed
}

// LoadConfig says how keys and values are loaded.
type LoadConfig struct {
	Tiers []Tier
	// InQueue starts loading when a prompt arrives, while it waits; otherwise its prefill begins with that.
	InQueue bool
	// Overlap computes while loading, layer by layer: the prefill ends with the slower of the two.
	Overlap bool
	From    int // the first prompt that counts
}

// RunTiered is Run for a cache with tiers: the hits of a prompt are loaded before its prefill computes. Transfers from
// a tier follow each other; those from different tiers do not slow each other down. What is written to a tier delays no
// load.
func RunTiered(ctx context.Context, prompts Prompts, cache Tiered, c Config, loads LoadConfig) ([]Served, Loads,
	error) {
	m := newModel(prompts, cache, c)
	l := &loader{LoadConfig: loads, m: m, cache: cache, tokens: make([]int64, len(loads.Tiers)),
		links: make([]event.Link, len(loads.Tiers)), loaded: Loads{Bytes: make([]int64, len(loads.Tiers))}}
	for i, t := range loads.Tiers {
		if t.Bandwidth > 0 {
			l.links[i] = event.NewQueuedLink(m.loop, t.Latency, t.Bandwidth)
		}
	}
	if loads.InQueue {
		l.staged = make([]staged, len(prompts.Tokens))
	}
	m.loader = l
	served, err := m.run(ctx)
	return served, l.loaded, err
}

// loader loads keys and values.
type loader struct {
	LoadConfig
	m      *model
	cache  Tiered
	links  []event.Link // per tier; nil for the memory of the GPUs
	tokens []int64      // a buffer
	staged []staged     // per prompt; nil unless InQueue
	loaded Loads
}

// staged is what was loaded for a prompt that waits.
type staged struct {
	from, to int    // the blocks of the prompt that were loaded
	pending  int    // transfers
	done     func() // waits for the last of them; nil while nothing does
}

// arrived starts loading what a prompt that has arrived will hit as it seems now.
func (l *loader) arrived(i int) {
	if l.staged == nil {
		return
	}
	clear(l.tokens)
	s := &l.staged[i]
	if s.from, s.to = l.cache.Peek(i, l.tokens); l.links[0] != nil { // the first tier is not the memory of the GPUs
		s.from = 0
	}
	l.transfer(i, func() { s.pending++ }, func() {
		if s.pending--; s.pending == 0 && s.done != nil {
			s.done()
		}
	})
}

// transfer loads the tokens in the buffer for a prompt: it calls begun for each transfer, and done when it has ended.
func (l *loader) transfer(i int, begun, done func()) {
	for k, tokens := range l.tokens {
		if tokens == 0 || l.links[k] == nil {
			continue
		}
		bytes := int64(l.m.KV * float64(tokens))
		if i >= l.From {
			l.loaded.Bytes[k] += bytes
		}
		begun()
		l.links[k].Transfer(bytes, done)
	}
}

// load loads what the prompt that has just begun hits, and calls done at the end.
func (l *loader) load(i int, done func()) {
	clear(l.tokens)
	pending := 1 // until all transfers have begun
	from, to := 0, 0
	end := func() {
		if pending--; pending == 0 {
			done()
		}
	}
	if l.staged != nil {
		s := &l.staged[i]
		from, to = s.from, s.to
		if s.pending > 0 {
			pending++
			s.done = end
		}
	}
	l.cache.Loads(from, to, l.tokens)
	l.transfer(i, func() { pending++ }, end)
	end()
}

// serve lets a prefill take the time that loading and computing need, and calls done then.
func (l *loader) serve(i int, computing time.Duration, done func()) {
	loop, start := l.m.loop, l.m.loop.Now()
	if l.Overlap {
		pending := 2
		end := func() {
			if pending--; pending == 0 {
				l.waited(i, loop.Now()-start-computing)
				done()
			}
		}
		loop.After(computing, end)
		l.load(i, end)
		return
	}
	l.load(i, func() {
		l.waited(i, loop.Now()-start)
		loop.After(computing, done)
	})
}

func (l *loader) waited(i int, span time.Duration) {
	if i >= l.From {
		l.loaded.Waited = event.Sum(l.loaded.Waited, max(0, span))
	}
}

// mostTokens is the longest prefix for which BreakEven compares loading and computing.
const mostTokens = 1 << 24

// BreakEven returns the least number of tokens whose keys and values are loaded from a tier, by an idle link, in less
// time than computing them takes, as part of a prompt that has one more token. ok is false if there is none below
// mostTokens.
func (c Config) BreakEven(t Tier) (tokens int, ok bool) {
	faster := func(h int) bool {
		saved := c.seconds(h+1, 0) - c.seconds(h+1, h)
		return t.Latency.Seconds()+float64(c.KV*float64(h))/t.Bandwidth <= saved
	}
	if t.Bandwidth == 0 {
		return 0, false
	}
	if !faster(mostTokens) {
		return 0, false
	}
	// What is saved grows ever faster, and what loading takes does not, so there is one crossing.
	return 1 + sort.Search(mostTokens, func(h int) bool { return faster(h + 1) }), true
}
