package sim_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
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
	for _, of := range []struct {
		trace *traces.Trace
		bytes bool
		parts []string
	}{
		{files, false, []string{"cache=exact"}},
		{files, true, []string{"cache=exact"}},
		{files, false, []string{"cache=exact", "prefetcher=next"}},
		{files, false, []string{"cache=exact", "allocator=equal"}},
		{files, false, []string{"cache=exact", "allocator=equal", "prefetcher=next"}},
		{files, false, []string{"cache=sets"}},
		{files, false, []string{"cache=igtcache"}},
		{files, false, []string{"cache=tiers(flash=2x)"}},
		{files, false, []string{"cache=tiers(flash=2x)", "allocator=shared"}},
		{files, false, []string{"cache=tiers(flash=2x)", "prefetcher=next"}},
		{talk, false, []string{"cache=tiers(host=2x)"}},
		{talk, false, []string{"cache=prefix"}},
		{asked, false, []string{"cache=semantic"}},
		{simtest.Recommended(t, 300, 100, 300), true, []string{"cache=pools(nodes=2,gpus=1,memory=300MiB)"}},
	} {
		c := simtest.Cell(t, "lru", capacity.Of(20, of.bytes), of.parts...)
		served := must.Get(sim.NewReplayer(of.trace, sim.ReplayerOptions{}).EmptyCache(t.Context(), c))(t)
		if all[c.Cache.Name()] == nil {
			all[c.Cache.Name()] = map[reflect.Type]bool{}
		}
		all[c.Cache.Name()][reflect.TypeOf(served)] = true
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
