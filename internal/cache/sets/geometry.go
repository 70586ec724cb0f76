package sets

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies/slabs"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// newGeometry divides the capacity into sets and determines the set and slab of each object of t.
//
// A key belongs to the set MurmurHash3_32(key) mod the number of sets, and is looked for in the slab key mod slabs
// first, as in HugeCTR. Numeric keys are hashed as 8 bytes in little-endian order, texts as their bytes. The hash of a
// text also finds its slab. In a trace without keys the dense numbers of objects are the keys.
func newGeometry(t *traces.Trace, capacity int64, v params.Values) (*slabs.Geometry, error) {
	g, err := divide(capacity, v)
	if err != nil {
		return nil, err
	}
	g.Home = make([]uint32, t.NumObjects)
	for o := range g.Home {
		hash, slab := place(t.Key(o))
		g.Home[o] = hash%uint32(g.Sets)*uint32(g.Slabs) + uint32(slab%uint64(g.Slabs))
	}
	return &g, nil
}

// divide divides a capacity into sets, without the homes of objects.
func divide(capacity int64, v params.Values) (slabs.Geometry, error) {
	ways := int(min(int64(v.Int("ways")), capacity))
	g := slabs.Geometry{Ways: ways, Slabs: v.Int("slabs")}
	g.Lanes = (ways + g.Slabs - 1) / g.Slabs
	sets := capacity / int64(ways)
	if sets > math.MaxUint32/slabs.MaxWays/int64(g.Slabs) { // homes and slots have numbers of 32 bits
		return g, fmt.Errorf("a capacity of %d objects gives %d sets, which is more than supported", capacity, sets)
	}
	g.Sets = int(sets)
	return g, nil
}

// place returns the numbers that, modulo the number of sets and of slabs, are where a key belongs.
func place(key stream.Key) (hash uint32, slab uint64) {
	if key.Text != "" {
		hash = murmur3([]byte(key.Text), 0)
		return hash, uint64(hash)
	}
	return murmur3OfNumber(key.Num), key.Num
}

func places(t *traces.Trace) (hashes []uint32, slabs []uint64) {
	hashes, slabs = make([]uint32, t.NumObjects), make([]uint64, t.NumObjects)
	for o := range hashes {
		hashes[o], slabs[o] = place(t.Key(o))
	}
	return hashes, slabs
}

// murmur3 is MurmurHash3_x86_32 (Appleby, smhasher), the hash by which HugeCTR finds the set of a key.
func murmur3(data []byte, seed uint32) uint32 {
	h := seed
	rest := data
	for ; len(rest) >= 4; rest = rest[4:] {
		h ^= murmur3Scramble(binary.LittleEndian.Uint32(rest))
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	var tail [4]byte
	if copy(tail[:], rest) > 0 {
		h ^= murmur3Scramble(binary.LittleEndian.Uint32(tail[:]))
	}
	h ^= uint32(len(data))
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

func murmur3Scramble(k uint32) uint32 { return bits.RotateLeft32(k*0xcc9e2d51, 15) * 0x1b873593 }

// murmur3OfNumber hashes the 8 bytes of a little-endian number with seed 0.
func murmur3OfNumber(n uint64) uint32 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	return murmur3(b[:], 0)
}
