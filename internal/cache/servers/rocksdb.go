package servers

import (
	"math/bits"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var rocksdbKind = Kind{
	Name:    "rocksdb",
	Summary: "RocksDB's block cache: shards by hash, each an LRU with a midpoint, or a clock (cache=hyper)",
	Source: "cache/lru_cache.cc, cache/clock_cache.cc, cache/sharded_cache.cc of RocksDB 11.9; held against the caches " +
		"of 7.8.3; of HyperClockCache the table of fixed size",
	Memory: "capacity", Unit: bytesOf, Look: policies.Look{Color: policies.Olive, Mark: policies.Diamond},
	Params: []params.Param{
		{Name: "cache", Default: "lru", Choices: []string{"lru", "hyper"}, Doc: "LRUCache, or HyperClockCache"},
		{Name: "num_shard_bits", Default: -1, Min: -1, Max: 19, Doc: "logarithm of the number of shards; -1: as many as " +
			"have 512 kB each, or 32 MB with hyper, at most 64"},
		{Name: "high_pri_pool_ratio", Default: 0.5, Min: 0, Max: 1, Doc: "share of a shard for blocks that were hit"},
		{Name: "metadata", Default: 88, Min: 0, Max: 1 << 16, Doc: "bytes that lru charges beside a block: the handle " +
			"with a key of 16 bytes"},
		{Name: "estimated_entry_charge", Default: 0, Min: 0, Max: 1 << 30, Doc: "bytes of a block by which hyper makes its " +
			"table; 0: the mean of the trace"},
	},
	New: func(c cache.Config) (program, error) {
		v := c.Params
		if v.Text("cache") == "hyper" {
			return newHyperclock(c)
		}
		shards := shardsOf(c.Capacity, v.Int("num_shard_bits"), leastShard)
		s := &rocksdb{metadata: int64(v.Int("metadata")), shards: make([]rocksdbShard, shards),
			limit: c.Capacity / int64(shards), blocks: make([]rocksdbBlock, c.Trace.NumObjects), salt: c.Seed,
			lists: dense.NewLists(c.Trace.NumObjects, 2*shards)}
		s.pool = int64(float64(s.limit) * v.Float("high_pri_pool_ratio"))
		return s, nil
	},
}

const (
	leastShard     = 512 << 10
	mostShardsBits = 6
)

// shardsOf returns the number of shards of a capacity: GetDefaultCacheShardBits.
func shardsOf(capacity int64, shardBits int, least int64) int {
	if shardBits < 0 {
		shardBits = min(mostShardsBits, max(0, bits.Len64(uint64(capacity/least))-1))
	}
	return 1 << shardBits
}

// rocksdb is RocksDB's LRUCache.
type rocksdb struct {
	tally
	metadata, limit, pool int64 // bytes of a shard, and of its blocks that were hit
	shards                []rocksdbShard
	blocks                []rocksdbBlock // per object
	lists                 dense.Lists    // 2*shard + high or low
	salt                  uint64

	items, values, used, taken int64
}

type rocksdbShard struct{ used, high int64 }

type rocksdbBlock struct {
	charge, value int64 // charge 0: absent
	high          bool
}

const (
	low  = 0
	high = 1
)

func (s *rocksdb) shardOf(o policies.Object) int {
	return int(random.Scramble(uint64(o)^s.salt) & uint64(len(s.shards)-1))
}

func (s *rocksdb) serve(r *request) bool {
	o := r.object
	there := s.blocks[o].charge > 0
	switch {
	case there && !r.write:
		s.toTop(o)
	case r.present:
	default:
		s.remove(o)
		s.insert(r)
	}
	return there
}

// insert puts a block behind those that were hit.
func (s *rocksdb) insert(r *request) {
	n := s.shardOf(r.object)
	shard := &s.shards[n]
	charge := r.value + s.metadata
	for shard.used+charge > s.limit && s.evict(n) {
	}
	if shard.used+charge > s.limit {
		s.oversized++
		return
	}
	s.blocks[r.object] = rocksdbBlock{charge: charge, value: r.value}
	shard.used += charge
	s.items++
	s.values += r.value
	s.used += charge
	s.taken = max(s.taken, s.used)
	s.lists.PushFront(2*n+low, r.object)
}

// toTop moves a block that was hit to the top. What the blocks there have above their share slides down.
func (s *rocksdb) toTop(o policies.Object) {
	n := s.shardOf(o)
	shard, b := &s.shards[n], &s.blocks[o]
	if s.pool == 0 {
		s.lists.MoveToFront(2*n+low, o)
		return
	}
	if s.lists.Unlink(o); !b.high {
		b.high = true
		shard.high += b.charge
	}
	s.lists.PushFront(2*n+high, o)
	for shard.high > s.pool {
		last := s.lists.PopBack(2*n + high)
		s.blocks[last].high = false
		shard.high -= s.blocks[last].charge
		s.lists.PushFront(2*n+low, last)
	}
}

func (s *rocksdb) evict(n int) bool {
	o, ok := s.lists.Back(2*n + low)
	if !ok {
		o, ok = s.lists.Back(2*n + high)
	}
	if ok {
		s.remove(o)
		s.evicted++
	}
	return ok
}

func (s *rocksdb) remove(o policies.Object) bool {
	b := &s.blocks[o]
	if b.charge == 0 {
		return false
	}
	shard := &s.shards[s.shardOf(o)]
	s.lists.Unlink(o)
	if shard.used -= b.charge; b.high {
		shard.high -= b.charge
	}
	s.items--
	s.values -= b.value
	s.used -= b.charge
	*b = rocksdbBlock{}
	return true
}

func (s *rocksdb) has(o policies.Object, _ int64) bool { return s.blocks[o].charge > 0 }
func (s *rocksdb) tick(int64)                          {}
func (s *rocksdb) remark() string                      { return "" }

func (s *rocksdb) state() state {
	return state{items: s.items, values: s.values, used: s.used, taken: s.taken, tally: s.tally}
}
