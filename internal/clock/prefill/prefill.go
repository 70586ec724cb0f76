// Package prefill models the time to first token (TTFT) of a language model that keeps the keys and values of prompts
// in a prefix tree: cached tokens need not be computed again.
//
// The prefill of a prompt with c cached and u uncached tokens takes
//
//	overhead + max(operations / (peak x utilisation), bytes / bandwidth)
//	operations = 2 x active parameters x u + attention x (u x c + u x (u+1) / 2)
//	bytes      = weights + KV x (c + u)
//
// (a roofline), where layers with a window, or with an index that selects tokens, multiply with those tokens alone. At
// least one token is computed, because the first output depends on it. Prompts are prefilled one at a time, first come
// first served. The prefill gives the first output token. The others then take a fixed time each, in
// parallel with the prefills of other prompts, and the prompt's blocks stay locked until the last one.
package prefill

import (
	"context"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/clock/event"
)

// Arrivals says when prompts arrive.
type Arrivals string

const (
	// Closed keeps Concurrency prompts in flight: the next arrives when one is done. The next turn of a conversation waits
	// for the previous one.
	Closed Arrivals = "closed"
	// FromTrace takes the times of the trace; at most Concurrency prompts are in flight, the others wait.
	FromTrace Arrivals = "trace"
	// Poisson draws the times with Rate; at most Concurrency prompts are in flight, the others wait.
	Poisson Arrivals = "poisson"
)

// Config are the constants of the model.
type Config struct {
	Shape
	Hardware
	Overhead    time.Duration // of a prefill
	PredictCall time.Duration // of a call of the predictor for which a prompt waits
	PredictRow  time.Duration // of the prediction for one block
	TrainUnit   float64       // nanoseconds of training per row, feature and tree for which a prompt waits
	Concurrency int           // prompts in flight on a node, at least 1
	Arrivals    Arrivals
	Rate        float64 // prompts per second of Poisson arrivals
	Seed        uint64  // of them
	Nodes       Nodes   // nil: one
}

// Prefill returns how long it takes to compute the prompt's tokens beyond the cached ones.
func (c Config) Prefill(tokens, cached int) time.Duration {
	return event.Sum(c.Overhead, event.Span(c.seconds(tokens, cached)*float64(time.Second)))
}

// seconds is Prefill without the overhead.
func (c Config) seconds(tokens, cached int) float64 {
	known := float64(min(cached, tokens-1))
	computed := float64(tokens) - known
	operations := float64(2*c.Active*computed) + float64(c.Attention*pairs(known, computed, 0))
	for _, a := range c.Within {
		operations += float64(a.Operations * pairs(known, computed, a.Window))
	}
	bytes := c.Weights + float64(c.KV*float64(tokens))
	return max(operations/(c.Peak*c.Utilisation), bytes/c.Bandwidth)
}

// Prompts are the requests.
type Prompts struct {
	Tokens   []int32 // per prompt, at least 1
	Outputs  []int32 // per prompt
	Sessions []int32 // per prompt: its conversation; nil if unknown
	Arrivals []int64 // nanoseconds, per prompt; needed for FromTrace
}

// Hit is the cached part of a prompt.
type Hit struct {
	Tokens      int   // of the prompt that need not be computed
	Calls       int64 // calls of the predictor that the policy waited for
	Predictions int64 // blocks in those calls
	Trained     int64 // rows times features times trees of training meanwhile
}

// Cache is the cache of keys and values.
type Cache interface {
	// Begin looks up prompt i, makes room for its blocks and locks them. It is called once for each prompt; on one node,
	// in their order.
	Begin(i int) Hit
	// Finish unlocks the blocks of prompt i.
	Finish(i int)
}

// Nodes are several machines with a cache each. They have the numbers from 0.
type Nodes interface {
	// Nodes returns how many exist: those with the lowest numbers.
	Nodes() int
	// Assign returns the node of prompt i at this time. It is called when the prompt arrives, and again if its node is
	// removed before the prompt begins.
	Assign(i int, now time.Duration) (node int)
	// Changes are the times at which nodes are added or removed, in order; Resize makes the next change.
	Changes() []time.Duration
	Resize()
}

// one is a single node.
type one struct{}

func (one) Nodes() int                    { return 1 }
func (one) Assign(int, time.Duration) int { return 0 }
func (one) Changes() []time.Duration      { return nil }
func (one) Resize()                       {}

// Served says when a prompt arrived, and when its first and its last token were ready.
type Served struct {
	Arrived, FirstToken, Done time.Duration
}

// Run serves the prompts in their order and returns when each was served. It stops early with ctx's error.
func Run(ctx context.Context, prompts Prompts, cache Cache, c Config) ([]Served, error) {
	return newModel(prompts, cache, c).run(ctx)
}

func newModel(prompts Prompts, cache Cache, c Config) *model {
	loop := &event.Loop{}
	m := &model{
		Config: c, loop: loop, prompts: prompts, cache: cache, served: make([]Served, len(prompts.Tokens)),
		on: make([]*machine, len(prompts.Tokens)),
	}
	if c.Nodes == nil {
		m.Nodes = one{}
	}
	m.setMachines()
	for _, at := range m.Nodes.Changes() {
		loop.At(at, m.resize)
	}
	return m
}

func (m *model) run(ctx context.Context) ([]Served, error) {
	switch m.Arrivals {
	case Closed:
		m.openTurns()
		m.sendReady()
	case FromTrace:
		m.arriveAt(0)
	case Poisson:
		event.Poisson(m.loop, len(m.served), m.Rate, m.Seed, m.request)
	}
	err := m.loop.Run(ctx)
	return m.served, err
}

// model is one run.
type model struct {
	Config
	loop     *event.Loop
	prompts  Prompts
	cache    Cache
	served   []Served
	machines []*machine // the nodes that exist
	on       []*machine // per prompt; nil before it begins
	most     int        // machines, at any time
	ended    int        // prompts
	loader   *loader    // nil without tiers

	// For the closed loop.
	next     int // prompt to send
	inFlight int // prompts
	// per prompt: the previous turn in its conversation, -1 for the first; nil if conversations are unknown
	before []int32
	done   []bool // per prompt
}

// openTurns finds the previous turn of each prompt.
func (m *model) openTurns() {
	m.done = make([]bool, len(m.served))
	if m.prompts.Sessions == nil {
		return
	}
	last := map[int32]int32{}
	m.before = make([]int32, len(m.served))
	for i, session := range m.prompts.Sessions {
		before, ok := last[session]
		if !ok {
			before = -1
		}
		m.before[i], last[session] = before, int32(i)
	}
}

// sendReady sends prompts while fewer than Concurrency are in flight for each node, and the previous turn of the next
// prompt is done.
// Prompts keep the order of the trace, which all policies see and the optimum knows, so a prompt that waits for its
// turn delays the others.
func (m *model) sendReady() {
	for m.next < len(m.served) && m.inFlight < m.Concurrency*len(m.machines) && m.turn(m.next) {
		m.next++
		m.inFlight++
		m.request(m.next - 1)
	}
}

// turn reports whether the previous turn of prompt i is done.
func (m *model) turn(i int) bool {
	return m.before == nil || m.before[i] < 0 || m.done[m.before[i]]
}

// arriveAt lets prompt i and the following ones arrive at the times of the trace, the first at 0. A prompt whose time
// is before an earlier prompt's arrives together with it.
func (m *model) arriveAt(i int) {
	if i == len(m.served) {
		return
	}
	at := time.Duration(m.prompts.Arrivals[i] - m.prompts.Arrivals[0])
	m.loop.At(max(at, m.loop.Now()), func() {
		m.request(i)
		m.arriveAt(i + 1)
	})
}

func (m *model) request(i int) {
	m.served[i].Arrived = m.loop.Now()
	m.assign(i)
}

// assign lets a prompt wait on a node.
func (m *model) assign(i int) {
	to := m.machines[m.Nodes.Assign(i, m.loop.Now())]
	if m.loader != nil {
		m.loader.assigned(i, to)
	}
	to.waiting = append(to.waiting, int32(i))
	m.beginNext(to)
}

// machine is a node. Prompts wait in one queue, first come first served.
type machine struct {
	waiting    []int32
	inFlight   int // prompts that have begun and are not done
	prefilling bool
	links      []event.Link // per tier; nil before it loads anything
}

// setMachines makes as many machines as there are nodes. It returns the prompts that waited on others.
func (m *model) setMachines() (waiting []int32) {
	nodes := m.Nodes.Nodes()
	for len(m.machines) < nodes {
		m.machines = append(m.machines, &machine{})
	}
	m.most = max(m.most, nodes)
	for _, gone := range m.machines[nodes:] {
		waiting = append(waiting, gone.waiting...)
		gone.waiting = nil // what it prefills and decodes ends
	}
	m.machines = m.machines[:nodes:nodes]
	return waiting
}

// resize adds or removes nodes. Prompts that waited on nodes that are gone are routed again, in the order of the trace.
func (m *model) resize() {
	if m.ended == len(m.served) {
		return
	}
	m.Nodes.Resize()
	waiting := m.setMachines()
	slices.Sort(waiting)
	for _, i := range waiting {
		m.assign(int(i))
	}
	if m.Arrivals == Closed {
		m.sendReady()
	}
}

// beginNext begins the next prompt of a node if its GPU is free and fewer than Concurrency are in flight there.
func (m *model) beginNext(n *machine) {
	if n.prefilling || n.inFlight == m.Concurrency || len(n.waiting) == 0 {
		return
	}
	i := n.waiting[0]
	n.waiting = n.waiting[1:]
	n.prefilling = true
	n.inFlight++
	m.on[i] = n
	m.prefill(int(i))
}

func (m *model) prefill(i int) {
	hit := m.cache.Begin(i)
	predicting := event.Sum(event.Span(float64(hit.Calls)*float64(m.PredictCall)),
		event.Span(float64(hit.Predictions)*float64(m.PredictRow)),
		event.Span(m.TrainUnit*float64(hit.Trained)))
	computing := event.Sum(predicting, m.Prefill(int(m.prompts.Tokens[i]), hit.Tokens))
	if m.loader != nil {
		m.loader.serve(i, computing, func() { m.decode(i) })
		return
	}
	m.loop.After(computing, func() { m.decode(i) })
}

// decode lets a prompt whose prefill has ended generate its output.
func (m *model) decode(i int) {
	m.served[i].FirstToken = m.loop.Now()
	decoded := max(0, m.prompts.Outputs[i]-1) // the prefill gives the first token
	decoding := event.Span(float64(decoded) * m.Decode * float64(time.Second))
	// The GPU is free for the next prefill, but the prompt counts as in flight and keeps its blocks until the last token.
	m.loop.After(decoding, func() { m.finish(i) })
	m.on[i].prefilling = false
	m.beginNext(m.on[i])
}

func (m *model) finish(i int) {
	m.served[i].Done = m.loop.Now()
	m.cache.Finish(i)
	m.ended++
	m.on[i].inFlight--
	m.beginNext(m.on[i])
	if m.Arrivals == Closed {
		m.done[i] = true
		m.inFlight--
		m.sendReady()
	}
}
