package pools

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/serving/hlem/recommender"
	recommended "github.com/cachesim/cachesim/internal/traces/recommender"
)

// The pools of a node, as allocators see them.
const (
	embeddings = iota // charged by shard, a page each
	users             // charged by user, the pages of the keys and values of the user's history
)

var poolNames = []string{embeddings: "embeddings", users: "users"}

// Config describes the memory of the nodes and what they serve.
type Config struct {
	Nodes, GPUs int
	Memory      int64   // of a GPU, in bytes
	Start       float64 // the ratio of a node until its allocator decides: the share of the pages that belong to EMB
	Least, Most float64 // its bounds
	Strict      bool    // EMB grows into free pages only
	// Partitioned says that each host has the shards whose numbers have the same remainder as its own, instead of all.
	Partitioned bool
	Embeddings  policies.Spec
	Users       policies.Spec
	Seed        uint64
	Life        *policies.Life // of the policies
	Allocator   *allocate.Spec // nil: the ratio stays
	// Predictor builds the predictor of a pool from its number of objects and about its number of requests; nil if no
	// policy predicts.
	Predictor func(objects, requests int, seed uint64) (predict.Predictor, error)
	// Served is called now and then with the number of requests that have started since the last call; it may be nil.
	Served   func(n int)
	Requests *recommended.Columns
	Warmup   int // requests at the start that do not count
	Count    int // of users
	// Predicted says that a model computes what is served, so that nothing will be resident.
	Predicted bool
}

// Cache is the memory of all nodes. It implements recommender.Cache.
//
// Memory in addition to the policies': per node 4 bytes for each page that EMB may have, if the border can move, and
// per shard 1 byte and one bit (rounded up to a power of two of nodes); per user 1 bit per node, and 13 to 30 bytes
// for each user that a node has met. It implements cache.Driven and cache.Occupied.
type Cache struct {
	config Config
	page   int64 // bytes
	pages  int64 // of a node
	user   func(tokens int) int64
	nodes  []node

	shards    reported // which are resident, as the nodes have reported
	residents reported // which users are

	covered coverage

	started  int64 // requests
	buffer   []recommended.Lookup
	missed   []recommended.Lookup // a buffer
	read     []uint32             // the shards in buffer
	decision time.Duration
}

type node struct {
	pools   [2]*cache.Pool
	watch   [2]*watcher
	running running
	pinned  *pinning

	target  int64   // pages that EMB is to have
	queued  int64   // pages that EMB gained and that have not been refilled
	evicted evicted // from EMB; without shards once it cannot grow any more
	cursor  int     // the refill continues with what was evicted before so many evictions

	decider  decider
	requests int64 // that have started
	lookups  int64
	now      int64 // time of the last request, in nanoseconds

	counts    cache.Counts
	warm      cache.Counts // the part of counts that does not count
	bypassed  int64        // misses of users who found no room beside the running ones
	moved     int64        // pages that changed the pool
	untrained int64        // decisions in the warm-up on nodes that the allocator was not trained on
	// uncounted are the evictions of shards in the warm-up; bypassed and moved are of the time since.
	uncounted int64
}

// New returns the empty memory. The model calls UseCosts before it is used.
func New(c Config) (*Cache, error) {
	if c.Nodes < 1 || c.Nodes > mostNodes {
		return nil, fmt.Errorf("%d nodes: want 1 to %d", c.Nodes, mostNodes)
	}
	page := pageOf(c.Requests)
	memory := int64(c.GPUs) * c.Memory
	if err := checkMemory(memory, page, c.Least, c.Most); err != nil {
		return nil, err
	}
	shards, users := c.residents()
	p := &Cache{config: c, page: page, pages: memory / page, user: hlem.DefaultCosts().UserBytes,
		nodes:  make([]node, c.Nodes),
		shards: newReported(shards, c.Nodes), residents: newReported(users, c.Nodes),
		covered: coverage{share: make([]float64, c.Nodes)}}
	for i := range p.nodes {
		if err := p.build(i); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// residents returns how many shards and users may become resident; 1 if none will, so that pools that nobody uses need
// no memory.
func (c *Config) residents() (shards, users int) {
	if c.Predicted {
		return 1, 1
	}
	return c.Requests.Shards, c.Count
}

func (p *Cache) UseCosts(c hlem.Costs) { p.user = c.UserBytes }

// pageOf returns the bytes of a page, which is the size of a shard.
func pageOf(c *recommended.Columns) int64 {
	return int64(c.ShardRows) * int64(hlem.DefaultCosts().RowBytes)
}

// checkMemory rejects a node whose pools would have no page at some ratio.
func checkMemory(memory, page int64, least, most float64) error {
	if pages := int64(math.Ceil(1/min(least, 1-most) - 1e-9)); memory < pages*page {
		return fmt.Errorf("cache pools: a node has %d bytes of memory, less than %d shards of %d bytes for ratios from %v "+
			"to %v; give it more memory", memory, pages, page, least, most)
	}
	return nil
}

// build creates the empty pools of a node.
func (p *Cache) build(i int) error {
	c, n := &p.config, &p.nodes[i]
	allShards, allUsers := c.residents()
	emb := p.clamp(int64(math.Round(c.Start * float64(p.pages))))
	*n = node{target: emb}
	// Every pool of every node chooses independently of the others.
	seed := func(pool int) uint64 { return c.Seed ^ uint64(2*i+pool)*0x9e3779b97f4a7c15 }
	config := policies.Config{Capacity: emb, Unit: true, Objects: allShards, Seed: seed(embeddings),
		Requests: min(len(c.Requests.Users)*shardsOfRequest, math.MaxUint32), Params: c.Embeddings.Params, Life: c.Life}
	err := c.predict(&config, c.Embeddings)
	if err != nil {
		return err
	}
	policy, err := c.Embeddings.Entry.New(config)
	if err != nil {
		return fmt.Errorf("policy %s: %w", c.Embeddings, err)
	}
	n.pools[embeddings] = cache.NewPool(policy, emb, allShards)

	config = policies.Config{Capacity: p.pages - emb, Objects: allUsers, Requests: len(c.Requests.Users),
		Seed: seed(users), Params: c.Users.Params, Life: c.Life}
	if err := c.predict(&config, c.Users); err != nil {
		return err
	}
	if n.pools[users], n.pinned, err = newUsers(c.Users, config, &n.running); err != nil {
		return err
	}
	for pool := range n.pools {
		n.watch[pool] = &watcher{most: 1 << 16}
		n.pools[pool].Observe(n.watch[pool])
	}
	if err := n.decider.begin(p, i); err != nil {
		return err
	}
	if n.mayGrow() && !c.Predicted {
		n.evicted.shards = make([]uint32, 0, p.clamp(p.pages))
		n.watch[embeddings].evicted, n.watch[embeddings].pool = &n.evicted, n.pools[embeddings]
	}
	return nil
}

// predict gives the config of a pool a predictor if its policy needs one.
func (c *Config) predict(config *policies.Config, policy policies.Spec) (err error) {
	if policies.Can[policies.PredictorUser](policy.Entry) {
		config.Predictor, err = c.Predictor(config.Objects, config.Requests, config.Seed)
	}
	return err
}

// shardsOfRequest is about how many shards a request reads.
const shardsOfRequest = 128

// clamp returns a number of pages of EMB within the bounds.
func (p *Cache) clamp(pages int64) int64 {
	share := func(ratio float64) int64 { return int64(math.Round(ratio * float64(p.pages))) }
	least := max(1, share(p.config.Least))
	return min(max(pages, least), max(least, min(share(p.config.Most), p.pages-1)))
}

func (p *Cache) Nodes() int    { return p.config.Nodes }
func (p *Cache) GPUs() int     { return p.config.GPUs }
func (p *Cache) Memory() int64 { return int64(p.config.GPUs) * p.config.Memory }

// pagesOf returns the pages of a user's keys and values.
func (p *Cache) pagesOf(tokens int32) int64 {
	return max(1, (p.user(int(tokens))+p.page-1)/p.page)
}

// Start implements recommender.Cache. A shard that was resident at the start of the request is a hit, even if loading
// the others evicts it.
func (p *Cache) Start(at, request int, now time.Duration) (a recommender.Access) {
	n := &p.nodes[at]
	if p.started++; p.started&(servedEvery-1) == 0 && p.config.Served != nil {
		p.config.Served(servedEvery)
	}
	n.now = int64(now)
	p.buffer = p.config.Requests.Lookups(request, p.buffer[:0])
	p.judge(n, at, &a)
	p.load(n)
	a.KVHit = p.startUser(n, request)
	return a
}

// servedEvery is the number of requests between two calls of Config.Served.
const servedEvery = 1 << 10

// judge counts the rows of the lookups in the buffer that are missing.
func (p *Cache) judge(n *node, at int, a *recommender.Access) {
	pool, seen := n.pools[embeddings], &n.decider.state.Pools[embeddings]
	pool.Expire(n.now)
	p.read = slices.Grow(p.read[:0], len(p.buffer))[:len(p.buffer)]
	missed := slices.Grow(p.missed[:0], len(p.buffer))[:len(p.buffer)]
	misses := 0
	for i, l := range p.buffer {
		p.read[i] = l.Shard
		a.Rows += int64(l.Rows)
		missed[misses] = l // overwritten unless it is missing, so that only the count depends on that
		if !pool.Has(l.Shard) {
			misses++
		}
	}
	for _, l := range missed[:misses] {
		a.MissedRows += int64(l.Rows)
		if p.remote(l.Shard, at) {
			a.RemoteRows += int64(l.Rows)
		}
	}
	p.missed = missed
	seen.Hits += int64(len(p.buffer) - misses)
	seen.Requests += int64(len(p.buffer))
}

// remote reports whether a shard comes from the host of another node.
func (p *Cache) remote(shard uint32, node int) bool {
	return p.config.Partitioned && int(shard)%p.config.Nodes != node
}

// load serves the lookups in the buffer from the pool of embeddings.
func (p *Cache) load(n *node) {
	n.pools[embeddings].RequestAll(p.read, policies.Request{Pos: int(n.lookups), Time: n.now})
	n.lookups += int64(len(p.read))
	if n.decider.watches(embeddings) {
		for _, shard := range p.read {
			n.decider.see(embeddings, shard, p.page)
		}
	}
}

// startUser serves the user of a request, whose keys and values stay until Finish. A user whose history has grown hits,
// and then needs more pages.
func (p *Cache) startUser(n *node, request int) (hit bool) {
	pool, user := n.pools[users], p.config.Requests.Users[request]
	r := policies.Request{Object: user, Query: user, Pos: int(n.requests), Time: n.now,
		Size: p.pagesOf(p.config.Requests.Tokens[request])}
	n.requests++
	pool.Expire(n.now)
	n.pinned.restore(pool, r)
	evictions := pool.Evictions()
	switch hit = pool.Resident(user); {
	case hit:
		pool.Request(r)
		n.grow(r)
	case r.Size > pool.Capacity()-n.running.pages:
		n.bypassed++
	default:
		pool.Request(r)
	}
	n.pinned.restore(pool, r)
	n.counts.Evictions += pool.Evictions() - evictions
	n.running.start(request, user, pool.Charge(user))
	n.count(r, hit, p.page)
	if request < p.config.Warmup {
		n.warm.Requests++
		if hit {
			n.warm.Hits++
		}
	}
	return hit
}

// grow charges a resident user the pages of a longer history. If these do not fit beside the running users, or a
// running request uses the current ones, the user keeps these. The policy sees that the user is dropped and restored.
func (n *node) grow(r policies.Request) {
	pool := n.pools[users]
	if charge := pool.Charge(r.Object); r.Size <= charge || n.running.has(r.Object) ||
		r.Size > pool.Capacity()-n.running.pages {
		return
	}
	pool.Drop(r.Object)
	r.Reason = policies.Restore
	pool.Load(r)
}

func (n *node) count(r policies.Request, hit bool, page int64) {
	seen := &n.decider.state.Pools[users]
	seen.Requests++
	n.counts.Requests++
	if hit {
		seen.Hits++
		n.counts.Hits++
	}
	n.decider.see(users, r.Object, r.Size*page)
}

func (p *Cache) Finish(at, request int) { p.nodes[at].running.finish(request) }

// Serve implements cache.Cache. It is not called: a model of time drives the cache.
func (p *Cache) Serve(cache.Window, *cache.Counts) {
	panic("the cache pools is served by a model of time")
}

// Counts implements cache.Driven: requests, hits and evictions of users.
func (p *Cache) Counts() (sum cache.Counts) {
	for i := range p.nodes {
		n := &p.nodes[i]
		add(&sum, n.counts)
		sum.Oversized += n.pools[users].Oversized()
	}
	return sum
}

func (p *Cache) Warm() (sum cache.Counts) {
	for i := range p.nodes {
		add(&sum, p.nodes[i].warm)
	}
	return sum
}

// add adds what happened on a node.
func add(sum *cache.Counts, n cache.Counts) {
	sum.Requests += n.Requests
	sum.Hits += n.Hits
	sum.Evictions += n.Evictions
	sum.Oversized += n.Oversized
}

func (p *Cache) Used() (bytes int64) {
	for i := range p.nodes {
		for _, pool := range p.nodes[i].pools {
			bytes += pool.Used() * p.page
		}
	}
	return bytes
}

// Counters implements cache.Reporting: the sums over the policies of all pools, and the cache's own.
func (p *Cache) Counters() []policies.Counter {
	var all []policies.Counter
	add := func(c policies.Counter) {
		at := slices.IndexFunc(all, func(have policies.Counter) bool { return have.Name() == c.Name() })
		if at < 0 {
			all = append(all, c)
		} else {
			all[at].Value += c.Value
		}
	}
	pages := float64(p.pages) * float64(len(p.nodes))
	for i := range p.nodes {
		n := &p.nodes[i]
		for _, pool := range n.pools {
			for _, c := range pool.Counters() {
				add(c)
			}
		}
		if !p.config.Predicted {
			add(policies.Count(ShardEvictions, float64(n.pools[embeddings].Evictions()-n.uncounted)))
			add(policies.Count(Unpinned, float64(n.bypassed)))
		}
		add(policies.Count(BorderMoved, float64(n.moved)/pages))
		if decisions, _, guards := n.decider.outside(); guards {
			add(policies.Count(Untrained, float64(decisions-n.untrained)))
		}
	}
	return all
}

// Remark implements cache.Remarking: it says why an allocator did not decide itself.
func (p *Cache) Remark() string {
	for i := range p.nodes {
		if decisions, why, _ := p.nodes[i].decider.outside(); decisions > 0 {
			return fmt.Sprintf("allocator %s was not trained on such nodes (%s), so that hlem2 decides on them; outside=policy "+
				"lets it decide all the same", p.config.Allocator, why)
		}
	}
	return ""
}

// BeginCounting implements cache.Warming: what the border, shards and users did before does not count. Counters of
// policies go on, as in other caches.
func (p *Cache) BeginCounting() {
	for i := range p.nodes {
		n := &p.nodes[i]
		n.uncounted, n.bypassed, n.moved = n.pools[embeddings].Evictions(), 0, 0
		n.untrained, _, _ = n.decider.outside()
		n.warm.Evictions, n.warm.Oversized = n.counts.Evictions, n.pools[users].Oversized()
		if p.config.Predicted { // in order, and not one by one
			n.warm = n.counts
		}
	}
}

func (p *Cache) Report(at int) {
	p.covered.valid = false
	n := &p.nodes[at]
	n.watch[embeddings].report(at, n.pools[embeddings], &p.shards, p.config.Requests.Shards)
	n.watch[users].report(at, n.pools[users], &p.residents, p.config.Count)
}

func (p *Cache) Holds(at int, user uint32) bool { return p.residents.has(at, user) }

// Coverage implements recommender.Cache. The router asks for one node after another, so it is computed for all at once,
// since what they reported about a shard is in one word.
func (p *Cache) Coverage(at int, user uint32) float64 {
	if !p.covered.valid || p.covered.user != user {
		p.cover(user)
	}
	return p.covered.share[at]
}

// coverage is the coverage of a user on all nodes, until the next report.
type coverage struct {
	user  uint32
	valid bool
	share []float64
}

func (p *Cache) cover(user uint32) {
	c := &p.covered
	c.user, c.valid = user, true
	clear(c.share)
	profile := p.config.Requests.Profile(user)
	if len(profile) == 0 {
		return
	}
	var count [(mostNodes + 7) / 8]uint64 // per node one byte: a profile has at most recommended.ProfileShards
	words := count[:(len(p.nodes)+7)/8]
	for _, shard := range profile {
		resident := p.shards.nodes(shard)
		for i := range words {
			words[i] += eightBytes[resident>>(8*i)&0xff]
		}
	}
	for at := range c.share {
		c.share[at] = float64(words[at/8]>>(8*(at%8))&0xff) / float64(len(profile))
	}
}

// eightBytes has, for each byte, its eight bits as bytes of 0 or 1, the lowest first.
var eightBytes = func() (spread [256]uint64) {
	for b := range spread {
		for bit := range 8 {
			spread[b] |= uint64(b>>bit&1) << (8 * bit)
		}
	}
	return spread
}()

// mostNodes limits the nodes, so that what they report about a shard is in one word.
const mostNodes = 64

// reported are the objects that each node reported as resident. What all nodes reported of an object is in one word.
type reported struct {
	words []uint64
	shift int // an object has 1<<shift bits
}

func newReported(objects, nodes int) reported {
	shift := bits.Len(uint(nodes - 1))
	return reported{make([]uint64, (objects<<shift+63)/64), shift}
}

// nodes returns the bits of all nodes, the first node's lowest. Bits above the last node's belong to other objects.
func (r *reported) nodes(o policies.Object) uint64 {
	at := uint64(o) << r.shift
	return r.words[at/64] >> (at % 64)
}

func (r *reported) has(node int, o policies.Object) bool { return r.nodes(o)>>node&1 != 0 }

func (r *reported) set(node int, o policies.Object, resident bool) {
	at := uint64(o)<<r.shift + uint64(node)
	r.words[at/64] &^= 1 << (at % 64)
	if resident {
		r.words[at/64] |= 1 << (at % 64)
	}
}

// watcher notes which objects have been loaded, evicted or dropped since the last report. It implements
// cache.LoadObserver, cache.Observer and cache.ChangeObserver.
type watcher struct {
	changed []policies.Object
	most    int  // of them; with more, the next report looks at all objects
	all     bool // there were more

	evicted *evicted    // notes what has left the pool; nil: nobody asks
	pool    *cache.Pool // likewise
}

func (w *watcher) Loaded(o policies.Object, _ int64, _ policies.Reason) { w.note(o) }

func (w *watcher) Left(o policies.Object, _ int64, _ cache.Departure) {
	w.note(o)
	if w.evicted != nil {
		w.evicted.push(o)
	}
}

func (w *watcher) Changed(objects []policies.Object) {
	if w.evicted != nil {
		for _, o := range objects {
			if !w.pool.Has(o) {
				w.evicted.push(o)
			}
		}
	}
	n := min(len(objects), w.most-len(w.changed))
	w.changed = append(w.changed, objects[:n]...)
	w.all = w.all || n < len(objects)
}

func (w *watcher) note(o policies.Object) {
	if len(w.changed) < w.most {
		w.changed = append(w.changed, o)
		return
	}
	w.all = true
}

// report brings what a node has reported up to date.
func (w *watcher) report(node int, pool *cache.Pool, r *reported, objects int) {
	if w.all {
		for o := range objects {
			r.set(node, policies.Object(o), pool.Resident(policies.Object(o)))
		}
	} else {
		for _, o := range w.changed {
			r.set(node, o, pool.Resident(o))
		}
	}
	w.changed, w.all = w.changed[:0], false
}
