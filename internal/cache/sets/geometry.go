package sets

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/policies/slabs"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// newGeometry divides the capacity into sets and determines the set and slab of each object of t.
//
// A key belongs to the set MurmurHash3_32(key) mod the number of sets, and is looked for in the slab key mod slabs
// first, as in HugeCTR. Keys of a trace are hashed as the 8 bytes of a little-endian number, texts as their bytes, with
// the hash in the place of the key to find the slab; objects of a trace without keys have their dense numbers for keys.
func newGeometry(t *traces.Trace, capacity int64, v params.Values) (*slabs.Geometry, error) {
	ways := int(min(int64(v.Int("ways")), capacity))
	g := &slabs.Geometry{Ways: ways, Slabs: v.Int("slabs"), Home: make([]uint32, t.NumObjects)}
	g.Lanes = (ways + g.Slabs - 1) / g.Slabs
	if sets := capacity / int64(ways); sets <= math.MaxUint32/slabs.MaxWays/int64(g.Slabs) {
		g.Sets = int(sets)
	} else {
		return nil, fmt.Errorf("a capacity of %d objects gives %d sets, which is more than supported", capacity, sets)
	}
	for o := range g.Home {
		key := stream.Key{Num: uint64(o)}
		if t.Keys != nil {
			key = t.Keys[o]
		}
		g.Home[o] = homeOf(key, g)
	}
	return g, nil
}

func homeOf(key stream.Key, g *slabs.Geometry) uint32 {
	hash := murmur3OfNumber(key.Num)
	slab := key.Num
	if key.Text != "" {
		hash = murmur3([]byte(key.Text), 0)
		slab = uint64(hash)
	}
	return hash%uint32(g.Sets)*uint32(g.Slabs) + uint32(slab%uint64(g.Slabs))
}
