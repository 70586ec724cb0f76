package libraries

import (
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
)

// maxShards is the number of parts that a cache has at most: their segments have numbers of 8 bits.
const maxShards = 64

// shardOf returns which of a number of shards has an object, by a hash of that seed.
func shardOf(o policies.Object, seed uint64, shards int) int {
	if shards == 1 {
		return 0
	}
	return int(random.Scramble(uint64(o)+seed) >> 32 * uint64(shards) >> 32)
}

// shardCapacity returns the part of a capacity that a shard has. The first ones have what is left over.
func shardCapacity(capacity int64, shards, shard int) int64 {
	part := capacity / int64(shards)
	if int64(shard) < capacity%int64(shards) {
		part++
	}
	return part
}
