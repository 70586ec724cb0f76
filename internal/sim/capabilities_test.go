package sim_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/servers"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
)

// What a cache can do is read off the types that its entry names, so the entry must name those that New makes, and no
// others.
func TestEntriesOfCachesNameTheirTypes(t *testing.T) {
	files := simtest.Reads(t, 300, 10, time.Second)
	files.Tenants = &traces.Tenants{Names: []string{"a", "b"}, Of: make([]uint32, files.NumObjects)}
	asked, talk := simtest.Queries(1, 300, 5, 0.1), simtest.Conversations(10)
	all := map[string]map[reflect.Type]bool{}
	type served struct {
		trace *traces.Trace
		bytes bool
		parts []string
		size  int64
	}
	var ofServers []served
	for _, name := range servers.Names() {
		ofServers = append(ofServers, served{files, true, []string{"cache=" + name}, 1 << 20})
	}
	for _, of := range append(ofServers, []served{
		{files, false, []string{"cache=exact"}, 20},
		{files, true, []string{"cache=exact"}, 20},
		{files, false, []string{"cache=exact", "prefetcher=next"}, 20},
		{files, false, []string{"cache=exact", "allocator=equal"}, 20},
		{files, false, []string{"cache=exact", "allocator=equal", "prefetcher=next"}, 20},
		{files, false, []string{"cache=sets"}, 20},
		{files, false, []string{"cache=igtcache"}, 20},
		{files, false, []string{"cache=tiers(flash=2x)"}, 20},
		{files, false, []string{"cache=tiers(flash=2x)", "allocator=shared"}, 20},
		{files, false, []string{"cache=tiers(flash=2x)", "prefetcher=next"}, 20},
		{talk, false, []string{"cache=tiers(host=2x)"}, 20},
		{talk, false, []string{"cache=prefix"}, 20},
		{asked, false, []string{"cache=semantic"}, 20},
		{simtest.Recommended(t, 300, 100, 300), true, []string{"cache=pools(nodes=2,gpus=1,memory=300MiB)"}, 20},
	}...) {
		c := simtest.Cell(t, "lru", capacity.Of(of.size, of.bytes), of.parts...)
		made := must.Get(sim.NewReplayer(of.trace, sim.ReplayerOptions{}).EmptyCache(t.Context(), c))(t)
		if all[c.Cache.Name()] == nil {
			all[c.Cache.Name()] = map[reflect.Type]bool{}
		}
		all[c.Cache.Name()][reflect.TypeOf(made)] = true
	}
	for _, e := range cache.Registry.All() {
		if e.New == nil {
			continue
		}
		named := map[reflect.Type]bool{}
		for _, made := range e.Types {
			named[reflect.TypeOf(made)] = true
		}
		if !reflect.DeepEqual(named, all[e.Name]) {
			t.Errorf("%s makes %v, and its entry names %v", e.Name, all[e.Name], named)
		}
	}
}
