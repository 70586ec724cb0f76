// Package replicas has several nodes that serve prompts to a language model, each with a cache of its own, and a router
// that chooses the node of a prompt. Nodes may be added and removed while prompts are served.
package replicas

import (
	"fmt"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/route"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// Config describes the nodes of a replay.
type Config struct {
	Trace    *traces.Trace
	Router   route.Spec
	Capacity int64 // of each node
	Seed     uint64
	Warmup   int // requests at the start that do not count
	// Modelled says that a model of time calls Assign, Begin, Finish and Resize. Otherwise Serve does.
	Modelled bool
	// NewCache returns the empty cache of a node.
	NewCache func(node int) (cache.Replica, error)
	// Together is what caches have in common, and builds them in NewCache; nil if each is by itself.
	Together cache.Together
	// Sharing counts what the prompts of each tenant find on all nodes; nil without tenants.
	Sharing *cache.TenantCounts
}

// Cluster is the nodes. Without a model of time, prompts run in the order of the trace, as many at a time as the
// cache's concurrency allows on all nodes together: when the next one arrives, the oldest ends. A node that is removed
// loses its cache; prompts that have begun on it end there, those that have not are routed again.
//
// It implements cache.Cache, cache.Running, cache.Reporting, cache.Occupied and route.State.
type Cluster struct {
	Config
	columns *prompts.Columns
	router  route.Router
	changes []route.Change // that are to come
	most    int            // nodes, at any time
	atOnce  int            // prompts that run on a node at the same time, without a model

	lives   []life  // of nodes: one that is removed and added again has two
	current []int32 // the lives of the nodes that exist
	on      []int32 // per prompt: the life of its node; -1: none yet
	begun   []bool  // per prompt
	order   []int32 // prompts in the order in which they began
	oldest  int     // place in order of the oldest prompt that has not ended, without a model

	counting bool          // a prompt that counts has been routed
	tallies  []tally       // per node
	gone     metric.Values // counters of the caches of removed nodes
	lost     int64         // blocks on nodes that were removed
	rerouted int64         // prompts
	latest   int64         // of the arrivals so far, without a model
}

// life is a node from when it is added until it is removed.
type life struct {
	node    int
	cache   cache.Replica // nil when it was removed and all of its prompts have ended
	prompts int           // in flight
	tokens  int64         // of them
	waiting int           // those that have not begun
	removed bool
}

// New returns the nodes that exist at the start.
func New(c Config) (*Cluster, error) {
	changes := route.ChangesOf(c.Router)
	columns := prompts.Of(c.Trace.Kind)
	n := len(c.Trace.Groups)
	k := &Cluster{Config: c, columns: columns, changes: changes[1:], most: route.Most(changes), on: make([]int32, n),
		begun: make([]bool, n), order: make([]int32, 0, n)}
	for i := range k.on {
		k.on[i] = -1
	}
	k.tallies = make([]tally, k.most)
	k.router = c.Router.Entry.New(route.Config{
		Params: c.Router.Params, Nodes: k.most, Objects: c.Trace.NumObjects, BlockTokens: columns.BlockTokens,
		Sessions: sessions(columns), Capacity: c.Capacity, SampleRate: c.Trace.SampleRate,
		Seed: c.Seed, State: k,
	})
	for range changes[0].Nodes {
		if err := k.add(); err != nil {
			return nil, err
		}
	}
	k.atOnce = k.lives[0].cache.AtOnce()
	return k, nil
}

// sessions returns the number of conversations, 0 if they are unknown.
func sessions(p *prompts.Columns) int {
	if len(p.Sessions) == 0 {
		return 0
	}
	return int(slices.Max(p.Sessions)) + 1
}

// add adds the next node.
func (k *Cluster) add() error {
	node := len(k.current)
	empty, err := k.NewCache(node)
	if err != nil {
		return err
	}
	k.current = append(k.current, int32(len(k.lives)))
	k.lives = append(k.lives, life{node: node, cache: empty})
	return nil
}

// Nodes returns how many nodes exist.
func (k *Cluster) Nodes() int { return len(k.current) }

// Changes returns the times since the first prompt at which Resize is to be called.
func (k *Cluster) Changes() []time.Duration {
	times := make([]time.Duration, len(k.changes))
	for i, c := range k.changes {
		times[i] = c.At
	}
	return times
}

// Resize makes the next of Changes.
func (k *Cluster) Resize() {
	nodes := k.changes[0].Nodes
	k.changes = k.changes[1:]
	if nodes < len(k.current) {
		k.router.Keep(nodes)
	}
	for len(k.current) > nodes {
		last := len(k.current) - 1
		removed := k.current[last]
		k.current = k.current[:last]
		l := &k.lives[removed]
		if k.counting {
			k.lost += l.cache.Resident()
		}
		if k.Together != nil {
			k.Together.Remove(l.node)
		}
		l.removed = true
		k.bury(l)
	}
	for len(k.current) < nodes {
		if err := k.add(); err != nil {
			panic(fmt.Sprintf("replicas: node 0 has a cache, but node %d has none: %v", len(k.current), err))
		}
	}
}

// bury frees the cache of a node that was removed when nothing runs on it.
func (k *Cluster) bury(l *life) {
	if l.removed && l.prompts == l.waiting && l.cache != nil {
		k.gone = policies.MergeCounters(k.gone, l.cache.Counters())
		l.cache = nil
	}
}

// Assign routes a prompt to a node at a time since the start, again if its node was removed before it began.
func (k *Cluster) Assign(i int, now time.Duration) (node int) {
	if k.on[i] >= 0 {
		k.leave(&k.lives[k.on[i]], i)
		if k.counts(i) {
			k.rerouted++
		}
	}
	k.counting = k.counting || k.counts(i)
	blocks, _ := k.Trace.Group(i)
	if k.columns.AnswerBlocks(i) > 0 {
		blocks = blocks[:k.columns.Full(i, blocks)]
	}
	session := -1
	if k.columns.Sessions != nil {
		session = int(k.columns.Sessions[i])
	}
	tokens := k.columns.InputTokens[i]
	node = k.router.Route(route.Prompt{Blocks: blocks, Tokens: int(tokens), Session: session, Now: now},
		len(k.current))
	k.on[i] = k.current[node]
	l := &k.lives[k.on[i]]
	l.prompts++
	l.waiting++
	l.tokens += int64(tokens)
	return node
}

// leave takes a prompt off its node.
func (k *Cluster) leave(l *life, i int) {
	l.prompts--
	l.tokens -= int64(k.columns.InputTokens[i])
	if !k.begun[i] {
		l.waiting--
	}
}

// Begin implements cache.Running, for a prompt that was assigned.
func (k *Cluster) Begin(i int, n *cache.Counts) (hitTokens int64) {
	l := &k.lives[k.on[i]]
	l.waiting--
	k.begun[i] = true
	k.order = append(k.order, int32(i))
	before := *n
	hitTokens = l.cache.Begin(i, n)
	if k.counts(i) {
		added := n.Minus(before)
		k.tallies[l.node].add(added)
		k.Sharing.CountPrompt(i, added)
	}
	return hitTokens
}

// counts reports whether a prompt comes after the warm-up.
func (k *Cluster) counts(i int) bool { return k.Trace.Groups[i] >= k.Warmup }

// Finish implements cache.Running.
func (k *Cluster) Finish(i int) {
	l := &k.lives[k.on[i]]
	l.cache.Finish(i)
	k.leave(l, i)
	k.bury(l)
}

// Serve implements cache.Cache.
func (k *Cluster) Serve(w cache.Window, n *cache.Counts) {
	for range w.Groups {
		i := len(k.order)
		k.moveClock(i)
		for len(k.order)-k.oldest >= k.atOnce*len(k.current) {
			k.Finish(int(k.order[k.oldest]))
			k.oldest++
		}
		k.Assign(i, time.Duration(k.latest))
		k.Begin(i, n)
	}
}

// moveClock moves the clock, if the trace has one, to the arrival of prompt i, and makes the changes that come before.
// Where the trace goes back, the clock stands.
func (k *Cluster) moveClock(i int) {
	if k.columns.Arrivals == nil {
		return
	}
	k.latest = max(k.latest, k.columns.Arrivals[i]-k.columns.Arrivals[0])
	for len(k.changes) > 0 && int64(k.changes[0].At) <= k.latest {
		k.Resize()
	}
}

// Tenants returns the state of every tenant: their requests and hits on all nodes.
func (k *Cluster) Tenants() []cache.Tenant { return k.Sharing.Tenants() }

// Used implements cache.Occupied: the blocks on all nodes.
func (k *Cluster) Used() (used int64) {
	for _, l := range k.current {
		used += k.lives[l].cache.Used()
	}
	return used
}

// Prompts, Tokens, Waiting, Usage, Resident and Has implement route.State.
func (k *Cluster) Prompts(node int) int  { return k.life(node).prompts }
func (k *Cluster) Tokens(node int) int64 { return k.life(node).tokens }

// Waiting is the number of prompts beyond the cache's concurrency if there is no model: nothing waits then.
func (k *Cluster) Waiting(node int) int {
	if k.Modelled {
		return k.life(node).waiting
	}
	return max(0, k.life(node).prompts-k.atOnce)
}

func (k *Cluster) Usage(node int) float64 {
	return float64(k.life(node).cache.Held()) / float64(max(1, k.Capacity))
}

func (k *Cluster) Resident(node int) int64                  { return k.life(node).cache.Resident() }
func (k *Cluster) Has(node int, block policies.Object) bool { return k.life(node).cache.Has(block) }

func (k *Cluster) life(node int) *life { return &k.lives[k.current[node]] }
