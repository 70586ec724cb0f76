package sim_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
)

// TestSeedsOfParts: cells differ by their seeds if any of their parts makes random choices.
func TestSeedsOfParts(t *testing.T) {
	for _, c := range []struct {
		lists []string
		want  bool
	}{
		{[]string{"cache=pools"}, false},
		{[]string{"cache=pools", "allocator=static(r=0.4)"}, false},
		{[]string{"cache=pools", "allocator=hlem"}, true},
		{[]string{"cache=pools(embeddings=random)"}, true},
		{[]string{"cache=pools(embeddings=sieve)"}, false},
	} {
		cell := simtest.Cell(t, "lru", capacity.Capacity{}, c.lists...)
		other := cell
		other.Seed = 1
		if got := cell.Key() != other.Key(); got != c.want {
			t.Errorf("%q: keys of two seeds differ: %t", c.lists, got)
		}
		rec := records.Record{Policy: "lru", Cache: cell.Cache.String()}
		if cell.Allocator != nil {
			rec.Allocator = cell.Allocator.String()
		}
		if got := sim.DependsOnSeed(&rec); got != c.want {
			t.Errorf("%q: the record depends on the seed: %t", c.lists, got)
		}
	}
}
