package libraries

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

var foyerShards = policies.Param{Name: "shards", Default: 8, Min: 1, Max: maxShards, Doc: "parts that divide the " +
	"capacity and, by their hashes, the objects"}

var foyerLFUEntries = []policies.Entry{{
	Name:   "foyer-lfu",
	Look:   policies.Look{Color: policies.Orange, Mark: policies.Arrow},
	Memory: policies.Memory{Fixed: 8 * 3 * 2 * foyerBuckets, PerObject: 17},
	Summary: "a window, probation and a protected segment; the rarer of the oldest two in the first two leaves, as the " +
		"library foyer has it",
	Source: "foyer 0.22.6 for Rust, LfuConfig; after Einziger, Friedman, Manes, TinyLFU, ACM ToS 2017",
	Params: []policies.Param{
		{Name: "window", Default: 0.1, Min: 0, Max: 1, Doc: "share of the capacity for the window"},
		{Name: "protected", Default: 0.8, Min: 0, Max: 1, Doc: "share of the capacity for objects requested again"},
		foyerShards,
	},
	Keys: func(policies.Values) bool { return true },
	New: func(c policies.Config) (policies.Policy, error) {
		return newFoyer(c, &foyerLFU{window: c.Params.Float("window"), protected: c.Params.Float("protected")}), nil
	},
}}

var foyerEntries = []policies.Entry{{
	Name:   "foyer-lru",
	Look:   policies.Look{Color: policies.Olive, Mark: policies.Arrow},
	Memory: policies.Memory{PerObject: 17},
	Summary: "LRU in two lists: what leaves the first is renewed in the second only, as the library foyer has it by " +
		"default",
	Source: "foyer 0.22.6 for Rust, LruConfig",
	Params: []policies.Param{
		{Name: "high", Default: 0.9, Min: 0, Max: 1, Doc: "share of the capacity for the first list"},
		foyerShards,
	},
	Keys: func(policies.Values) bool { return true },
	New: func(c policies.Config) (policies.Policy, error) {
		return newFoyer(c, &foyerLRU{high: c.Params.Float("high")}), nil
	},
}, {
	Name:   "foyer-s3fifo",
	Look:   policies.Look{Color: policies.Pink, Mark: policies.Arrow},
	Memory: policies.Memory{PerObject: 19, PerSlot: 32},
	Summary: "S3-FIFO as the library foyer has it: one request is enough for the main queue, and a ghost stays one when " +
		"its object returns",
	Source: "foyer 0.22.6 for Rust, S3FifoConfig; after Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023",
	Params: []policies.Param{
		{Name: "small", Default: 0.1, Min: 0, Max: 1, Doc: "share of the capacity for the small queue"},
		{Name: "ghost", Default: 1.0, Min: 0, Max: 16, Doc: "capacity of the ghost queue as a share of the cache's"},
		foyerShards,
	},
	Keys: func(policies.Values) bool { return true },
	New: func(c policies.Config) (policies.Policy, error) {
		return newFoyer(c, &foyerS3FIFO{small: c.Params.Float("small"), ghost: c.Params.Float("ghost")}), nil
	},
}}

// foyer is a cache of the library: shards by the hash of the key, each with its part of the capacity and a policy. An
// object may have to leave its shard while another has room.
type foyer struct {
	dense.Segments // of all shards
	dense.Late
	queues   foyerQueues
	segments int // of a shard
	hashes   []uint64
	key      func(policies.Object) uint64
	parts    []int64 // capacities
	capacity int64
	loaded   bool // the requested object is in its shard
}

// foyerQueues is the policy of the shards.
type foyerQueues interface {
	// begin sets up a number of shards, and returns how many segments of those of foyer each has.
	begin(f *foyer, objects, shards int) (segments int)
	grow(objects int)
	// divide sets the limits of a shard for a capacity.
	divide(shard int, capacity int64)
	hit(o policies.Object, shard int)
	// push puts an object into a shard; pop takes out the next to leave.
	push(o policies.Object, shard int)
	pop(shard int) policies.Object
	// resized follows a change of the size of an object of a shard.
	resized(shard int)
	// drop follows the removal of an object.
	drop(o policies.Object, shard int)
	// used returns what the residents of a shard are charged.
	used(shard int) int64
}

func newFoyer(c policies.Config, q foyerQueues) *foyer {
	shards := c.Params.Int("shards")
	f := &foyer{queues: q, key: c.Key, hashes: make([]uint64, c.Objects), parts: make([]int64, shards)}
	f.segments = q.begin(f, c.Objects, shards)
	f.Segments = dense.NewSegments(c.Objects, c.Unit, make([]int64, shards*f.segments)...)
	f.Resize(c.Capacity)
	return f
}

func (f *foyer) Resize(capacity int64) {
	if capacity == f.capacity {
		return
	}
	f.capacity = capacity
	for i := range f.parts {
		f.parts[i] = shardCapacity(capacity, len(f.parts), i)
		f.queues.divide(i, f.parts[i])
	}
}

func (f *foyer) Grow(objects int) {
	f.Segments.Grow(objects)
	f.hashes = dense.Grown(f.hashes, objects)
	f.queues.grow(objects)
}

func (f *foyer) shardOf(o policies.Object) int { return int(f.hashes[o] % uint64(len(f.parts))) }

// setHash computes the hash of an object, that of the library for a key of 64 bits.
func (f *foyer) setHash(o policies.Object) {
	key := uint64(o)
	if f.key != nil {
		key = f.key(o) ^ 1<<63 // its sign is flipped
	}
	f.hashes[o] = xxHash64(key)
}

func (f *foyer) Hit(r policies.Request) {
	if !f.late(r.Object) {
		f.queues.hit(r.Object, f.shardOf(r.Object))
	}
}

func (f *foyer) late(o policies.Object) bool {
	for _, l := range f.Late {
		if l == o {
			return true
		}
	}
	return false
}

func (f *foyer) Miss(r policies.Request) {
	f.setHash(r.Object)
	f.loaded = false
}

func (f *foyer) Victim(r policies.Request) policies.Object {
	if r.Reason != policies.Shrink {
		f.makeRoom(f.shardOf(r.Object), r.Size)
	}
	if len(f.Late) == 0 {
		f.shrink()
	}
	return f.Next()
}

// makeRoom evicts from a shard until a further charge has room, or nothing is left: the library then admits an object
// that is larger than the shard.
func (f *foyer) makeRoom(shard int, more int64) {
	for used := f.queues.used(shard); used > 0 && used+more > f.parts[shard]; used = f.queues.used(shard) {
		f.Late = append(f.Late, f.queues.pop(shard))
	}
}

// shrink evicts from the shard that has most beyond its capacity. One is not empty.
func (f *foyer) shrink() {
	most := -1
	for i := range f.parts {
		if used := f.queues.used(i); used > 0 && (most < 0 || used-f.parts[i] > f.queues.used(most)-f.parts[most]) {
			most = i
		}
	}
	f.Late = append(f.Late, f.queues.pop(most))
}

// Insert evicts from the shard of an object, but for one that the cache has kept all the time: it needs no room.
func (f *foyer) Insert(r policies.Request) {
	shard := f.shardOf(r.Object)
	if r.Reason != policies.Restore {
		f.makeRoom(shard, r.Size)
	}
	f.Charged.Set(r.Object, r.Size)
	f.queues.push(r.Object, shard)
}

func (f *foyer) Remove(o policies.Object) {
	if !f.Strike(o) {
		f.Take(o)
		f.queues.drop(o, f.shardOf(o))
	}
}

// Resized implements policies.SizeFollower. Writes are hits here, of any size, and the object stays where it is; the
// library replaces it by a new one.
func (f *foyer) Resized(o policies.Object, size int64) {
	if f.late(o) {
		return
	}
	shard := f.shardOf(o)
	f.Segments.Resized(o, size)
	f.queues.resized(shard)
	f.makeRoom(shard, 0)
}

// The segments of foyerLRU.
const (
	foyerLow = iota
	foyerHigh
	foyerLRUSegments
)

// foyerLRU evicts from the low list, to which the high one passes what it has no room for.
type foyerLRU struct {
	*foyer
	high float64
}

func (q *foyerLRU) begin(f *foyer, _, _ int) int {
	q.foyer = f
	return foyerLRUSegments
}

func (q *foyerLRU) grow(int) {}

func (q *foyerLRU) divide(shard int, capacity int64) {
	q.Limit[shard*foyerLRUSegments+foyerHigh] = int64(float64(capacity) * q.high)
	q.spill(shard)
}

func (q *foyerLRU) spill(shard int) {
	high := shard*foyerLRUSegments + foyerHigh
	for q.Used[high] > q.Limit[high] {
		o, _ := q.Pop(high)
		q.Put(shard*foyerLRUSegments+foyerLow, o)
	}
}

func (q *foyerLRU) hit(o policies.Object, _ int) { q.Renew(o) }

func (q *foyerLRU) push(o policies.Object, shard int) {
	q.Put(shard*foyerLRUSegments+foyerHigh, o)
	q.spill(shard)
}

func (q *foyerLRU) pop(shard int) policies.Object {
	o, ok := q.Pop(shard*foyerLRUSegments + foyerLow)
	if !ok {
		o, _ = q.Pop(shard*foyerLRUSegments + foyerHigh)
	}
	return o
}

func (q *foyerLRU) resized(shard int) { q.spill(shard) }

func (q *foyerLRU) drop(policies.Object, int) {}

func (q *foyerLRU) used(shard int) int64 {
	return q.Used[shard*foyerLRUSegments+foyerLow] + q.Used[shard*foyerLRUSegments+foyerHigh]
}

// The segments of foyerLFU.
const (
	foyerWindow = iota
	foyerProbation
	foyerProtected
	foyerLFUSegments
)

// foyerLFU evicts from the window or from probation, and from the protected segment when both are empty.
type foyerLFU struct {
	*foyer
	window, protected float64
	counts            []foyerCounts // per shard
}

func (q *foyerLFU) begin(f *foyer, _, shards int) int {
	q.foyer, q.counts = f, make([]foyerCounts, shards)
	return foyerLFUSegments
}

func (q *foyerLFU) grow(int) {}

func (q *foyerLFU) divide(shard int, capacity int64) {
	q.Limit[shard*foyerLFUSegments+foyerWindow] = int64(float64(capacity) * q.window)
	q.Limit[shard*foyerLFUSegments+foyerProtected] = int64(float64(capacity) * q.protected)
}

// spill moves the oldest objects of a segment to probation until it keeps its limit.
func (q *foyerLFU) spill(shard, segment int) {
	from := shard*foyerLFUSegments + segment
	for q.Used[from] > q.Limit[from] {
		o, _ := q.Pop(from)
		q.Put(shard*foyerLFUSegments+foyerProbation, o)
	}
}

func (q *foyerLFU) hit(o policies.Object, shard int) {
	q.counts[shard].add(q.hashes[o])
	if !q.In(shard*foyerLFUSegments+foyerProbation, o) {
		q.Renew(o)
		return
	}
	q.Take(o)
	q.Put(shard*foyerLFUSegments+foyerProtected, o)
	q.spill(shard, foyerProtected)
}

func (q *foyerLFU) push(o policies.Object, shard int) {
	q.counts[shard].add(q.hashes[o])
	q.Put(shard*foyerLFUSegments+foyerWindow, o)
	q.spill(shard, foyerWindow)
}

func (q *foyerLFU) pop(shard int) policies.Object {
	first := shard * foyerLFUSegments
	w, inWindow := q.List.Back(first + foyerWindow)
	o, onProbation := q.List.Back(first + foyerProbation)
	counts := &q.counts[shard]
	switch {
	case inWindow && (!onProbation || counts.of(q.hashes[w]) < counts.of(q.hashes[o])):
		o = w
	case !onProbation:
		o, _ = q.List.Back(first + foyerProtected)
	}
	q.Take(o)
	return o
}

func (q *foyerLFU) resized(shard int) {
	q.spill(shard, foyerWindow)
	q.spill(shard, foyerProtected)
}

func (q *foyerLFU) drop(policies.Object, int) {}

func (q *foyerLFU) used(shard int) int64 {
	first := shard * foyerLFUSegments
	return q.Used[first+foyerWindow] + q.Used[first+foyerProbation] + q.Used[first+foyerProtected]
}
