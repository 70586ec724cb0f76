package cache

import (
	"cmp"
	"slices"

	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/streams"
	"github.com/cachesim/cachesim/internal/policies"
)

// patterns recognises how the objects of each tenant are requested, for allocators that need it. The listing of a
// tenant has its objects in the order of their addresses or, if these are unknown, of their first requests.
//
// Memory: 16 bytes per object of the trace, and about 20 KB per tenant.
type patterns struct {
	ghosts  *Ghosts
	ranks   []uint32        // per object: its position in the listing of its tenant
	trees   []*streams.Tree // per tenant
	streams []*streams.Stream
	data    []int64 // per tenant: charges of its objects
	hits    []int64 // per tenant: hits on ghosts at the previous division
}

// patternNodes limits the tree of a tenant, which has one level: a stream keeps as many children as its window has.
const patternNodes = 256

func newPatterns(c Config, ghosts int) *patterns {
	tenants := len(c.Trace.Tenants.Names)
	p := &patterns{
		ghosts: NewGhosts(c.Room(), ghosts), ranks: make([]uint32, c.Trace.NumObjects),
		trees: make([]*streams.Tree, tenants), streams: make([]*streams.Stream, tenants), data: make([]int64, tenants),
		hits: make([]int64, tenants),
	}
	order := make([]policies.Object, c.Trace.NumObjects)
	for o := range order {
		order[o] = policies.Object(o)
	}
	if a := c.Addresses; a != nil {
		slices.SortFunc(order, func(x, y policies.Object) int { return cmp.Compare(a.Key(x), a.Key(y)) })
	}
	listed := make([]int64, tenants)
	for _, o := range order {
		tenant := c.Trace.Tenants.Of[o]
		p.ranks[o] = uint32(listed[tenant])
		listed[tenant]++
		if c.Unit {
			p.data[tenant]++
		} else {
			p.data[tenant] += c.Trace.ObjectSizes[o]
		}
	}
	options := streams.Defaults()
	options.Nodes = patternNodes
	for i := range p.trees {
		layout := streams.NewLayout([]streams.File{{Path: "objects", Bytes: listed[i]}}, 1, 63)
		p.trees[i] = streams.New(layout, options)
		p.trees[i].Opened = func(s *streams.Stream) { p.streams[i] = s }
	}
	return p
}

// request records a request to an object of a tenant. Strangers have no rank, but are never requested either.
func (p *patterns) request(tenant int, r policies.Request) {
	p.trees[tenant].Access(uint64(p.ranks[r.Object]), r.Time)
}

// describe fills in what an allocator sees of a tenant's pool.
func (p *patterns) describe(to *allocate.Pool, tenant int, pool *Pool) {
	if s := p.streams[tenant]; s != nil {
		to.Pattern = s.Pattern
	}
	to.ID, to.Objects, to.Data = tenant, int64(pool.Len()), p.data[tenant]
	to.GhostHits = pool.GhostHits() - p.hits[tenant]
	p.hits[tenant] = pool.GhostHits()
}
