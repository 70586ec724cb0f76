package sim_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

// TestWrittenDefaultsOfShortForms: a parameter of the cache that a user writes counts, even with its default, where a
// policy sets another one. In the texts of cells, which have every parameter, a default is not one that a user wrote.
func TestWrittenDefaultsOfShortForms(t *testing.T) {
	size := capacity.Of(4, false)
	must.Do(t, sim.CheckParts(simtest.Cell(t, "lmcache-lru", size, "cache=prefix")))
	must.Do(t, sim.CheckParts(simtest.Cell(t, "lmcache-lru", size, "cache=prefix(evict=chunk)")))
	must.Fail(t, sim.CheckParts(simtest.Cell(t, "lmcache-lru", size, "cache=prefix(evict=leaf)")),
		"works with evict=chunk in the cache prefix, not with evict=leaf")
	c := simtest.Cell(t, "lmcache-lru", size, "cache=prefix")
	c.Parts = must.Get(sim.ParseParts("lmcache-lru", "", func(kind int) string {
		if sim.Kinds[kind].Name == "cache" {
			return c.Cache.Full()
		}
		return ""
	}))(t)
	must.Do(t, sim.CheckParts(c))
}
