package prefill

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/cachesim/cachesim/internal/clock/event"
)

// Tier is a place that keys and values are loaded from, one transfer after the other.
type Tier struct {
	Latency   time.Duration // of a transfer
	Bandwidth float64       // bytes per second; 0 is the memory of the GPUs, from which nothing is loaded
}

// Tiered is a Cache with its blocks in several tiers, the fastest first.
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
	Links  []int         // per tier: over how many links they came, at most at any time
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
	// Shared is the first tier to which all nodes have one link together; every node has links of its own to those before
	// it.
	Shared int
}

// RunTiered is Run for a cache with tiers: the hits of a prompt are loaded before its prefill computes. Transfers from
// a tier over one link follow each other; those from different tiers do not slow each other down. What is written to a
// tier delays no load.
func RunTiered(ctx context.Context, prompts Prompts, cache Tiered, c Config, loads LoadConfig) ([]Served, Loads,
	error) {
	m := newModel(prompts, cache, c)
	l := &loader{LoadConfig: loads, m: m, cache: cache, tokens: make([]int64, len(loads.Tiers)),
		loaded: Loads{Bytes: make([]int64, len(loads.Tiers))}}
	l.shared = l.newLinks(min(loads.Shared, len(loads.Tiers)), len(loads.Tiers))
	if loads.InQueue {
		l.staged = make([]*staged, len(prompts.Tokens))
	}
	m.loader = l
	served, err := m.run(ctx)
	l.loaded.Links = slices.Repeat([]int{1}, len(loads.Tiers))
	for i := range min(loads.Shared, len(loads.Tiers)) {
		l.loaded.Links[i] = m.most
	}
	return served, l.loaded, err
}

// newLinks returns links to the tiers from one to another, nil for the memory of the GPUs.
func (l *loader) newLinks(from, to int) (links []event.Link) {
	for _, t := range l.Tiers[from:to] {
		var link event.Link
		if t.Bandwidth > 0 {
			link = event.NewQueuedLink(l.m.loop, t.Latency, t.Bandwidth)
		}
		links = append(links, link)
	}
	return links
}

// linksOf returns the links of a machine to the tiers.
func (l *loader) linksOf(n *machine) []event.Link {
	if n.links == nil {
		n.links = append(l.newLinks(0, len(l.Tiers)-len(l.shared)), l.shared...)
	}
	return n.links
}

// loader loads keys and values.
type loader struct {
	LoadConfig
	m      *model
	cache  Tiered
	shared []event.Link // to the tiers from Shared on
	tokens []int64      // a buffer
	staged []*staged    // per prompt; nil unless InQueue
	loaded Loads
}

// staged is what was loaded for a prompt that waits.
type staged struct {
	from, to int    // the blocks of the prompt that were loaded
	pending  int    // transfers
	done     func() // waits for the last of them; nil while nothing does
}

// assigned starts loading what a prompt that waits on a machine will hit there as it seems now. What was loaded to
// another machine before was loaded in vain.
func (l *loader) assigned(i int, to *machine) {
	if l.staged == nil {
		return
	}
	clear(l.tokens)
	s := &staged{}
	l.staged[i] = s
	s.from, s.to = l.cache.Peek(i, l.tokens)
	if l.linksOf(to)[0] != nil { // the first tier is not the memory of the GPUs
		s.from = 0
	}
	l.transfer(i, to, func() { s.pending++ }, func() {
		if s.pending--; s.pending == 0 && s.done != nil {
			s.done()
		}
	})
}

// transfer loads the tokens in the buffer for a prompt: it calls begun for each transfer, and done when it has ended.
func (l *loader) transfer(i int, to *machine, begun, done func()) {
	links := l.linksOf(to)
	for k, tokens := range l.tokens {
		if tokens == 0 || links[k] == nil {
			continue
		}
		bytes := int64(l.m.KV * float64(tokens))
		if i >= l.From {
			l.loaded.Bytes[k] += bytes
		}
		begun()
		links[k].Transfer(bytes, done)
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
		s := l.staged[i]
		from, to = s.from, s.to
		if s.pending > 0 {
			pending++
			s.done = end
		}
	}
	l.cache.Loads(from, to, l.tokens)
	l.transfer(i, l.m.on[i], func() { pending++ }, end)
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

// BreakEven returns the least number of tokens for which an idle link loads keys and values from a tier faster than
// they are computed, in a prompt with one more token. ok is false if there is none below mostTokens.
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
