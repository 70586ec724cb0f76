package prefix

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/policies"
)

// lender is the policy of a cache in which each tenant has blocks of its own, and a share that it is guaranteed. What a
// tenant does not use, others may. Where there is no room, the tenant that is furthest above its share, with the block
// that is to be loaded, gives up the block that its own policy chooses. A tenant that is not above its share gives up
// nothing, unless running prompts hold all blocks of those above theirs. It implements policies.Holder.
type lender struct {
	tenants []lending
	owner   []uint32 // per block
	asking  uint32   // the tenant of the prompt that began last
}

// lending is what a lender knows of a tenant, in blocks.
type lending struct {
	policies.Holder
	share, used int64
	free        int64 // of the used ones, those that can be evicted
}

// lends reports whether the allocator of a config has shares that tenants lend each other. References have no shares.
func lends(c cache.Config) bool {
	return c.Allocator != nil && c.Allocator.Entry.Lends && c.Policy.Entry.Kind == policies.Online
}

func newLender(c cache.Config, config policies.Config) (*lender, error) {
	tenants := c.Trace.Tenants
	shares, err := allocate.Shares(*c.Allocator, tenants.Names, c.Capacity)
	if err != nil {
		return nil, err
	}
	l := &lender{tenants: make([]lending, len(shares)), owner: make([]uint32, c.Trace.NumObjects)}
	for i, share := range shares {
		of := config
		of.Seed ^= uint64(i)
		p, err := c.Policy.Entry.New(of)
		if err != nil {
			return nil, err
		}
		holder, ok := p.(policies.Holder)
		if !ok {
			return nil, fmt.Errorf("policy %s does not choose among some blocks", c.Policy.Name())
		}
		l.tenants[i] = lending{Holder: holder, share: share}
	}
	for prompt, tenant := range tenants.OfPrompt {
		group, _ := c.Trace.Group(prompt)
		for _, o := range group {
			l.owner[o] = tenant
		}
	}
	return l, nil
}

func (l *lender) of(o policies.Object) *lending { return &l.tenants[l.owner[o]] }

func (l *lender) Hit(r policies.Request)  { l.of(r.Object).Hit(r) }
func (l *lender) Miss(r policies.Request) { l.of(r.Object).Miss(r) }

func (l *lender) Insert(r policies.Request) {
	t := l.of(r.Object)
	t.used++
	t.Insert(r)
}

func (l *lender) Remove(o policies.Object) {
	t := l.of(o)
	t.used--
	t.free--
	t.Holder.Remove(o)
}

func (l *lender) Hold(o policies.Object) {
	t := l.of(o)
	t.free--
	t.Holder.Hold(o)
}

func (l *lender) Release(o policies.Object) {
	t := l.of(o)
	t.free++
	t.Holder.Release(o)
}

func (l *lender) Victim(r policies.Request) policies.Object {
	var from *lending
	most := int64(0)
	for i := range l.tenants {
		t := &l.tenants[i]
		above := t.used - t.share
		if uint32(i) == l.asking {
			above++
		}
		if t.free > 0 && (from == nil || above > most) {
			from, most = t, above
		}
	}
	from.used--
	from.free--
	return from.Victim(r)
}

// begin says which prompt asks for room from now on.
func (l *lender) begin(blocks []policies.Object) {
	if l != nil && len(blocks) > 0 {
		l.asking = l.owner[blocks[0]]
	}
}

func (l *lender) Counters() (all []policies.Counter) {
	for i := range l.tenants {
		all = cache.AddCounters(all, cache.CountersOf(l.tenants[i].Holder))
	}
	return all
}
