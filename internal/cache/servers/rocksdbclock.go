package servers

import (
	"fmt"
	"math/bits"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

// hyperclock is RocksDB's HyperClockCache with a table of fixed size: shards by hash, each a table of slots that a hand
// passes over. A block has a count of uses, at most 3, which the hand lowers; it evicts at 0.
type hyperclock struct {
	tally
	limit, own int64 // bytes of a shard, and of its table
	most       int   // blocks of a shard
	mask       uint64
	shards     []clockShard
	slotOf     []int32 // per object: its slot, -1 for none
	charges    []int64 // per object
	salt       uint64

	items, used, taken int64
}

type clockShard struct {
	slots []clockSlot
	hand  uint64
	used  int64
	items int
}

type clockSlot struct {
	object policies.Object
	uses   uint8
	there  bool
}

const (
	slotMetadata  = 64   // bytes of a slot, which count
	clockLoad     = 0.7  // share of the slots that blocks of the estimated size fill
	clockMost     = 0.84 // share that smaller blocks may fill
	clockStep     = 4    // slots that the hand passes at once
	mostClockUses = 3
	newClockUses  = 2 // of a block of data, whose priority is low
	leastClock    = 32 << 20
	mostSlots     = 1 << 27 // in all shards, 1 GiB here
)

func newHyperclock(c cache.Config) (program, error) {
	v := c.Params
	shards := shardsOf(c.Capacity, v.Int("num_shard_bits"), leastClock)
	s := &hyperclock{limit: c.Capacity / int64(shards), shards: make([]clockShard, shards), salt: c.Seed,
		slotOf: make([]int32, c.Trace.NumObjects), charges: make([]int64, c.Trace.NumObjects)}
	for o := range s.slotOf {
		s.slotOf[o] = -1
	}
	estimate := float64(v.Int("estimated_entry_charge"))
	if estimate == 0 {
		estimate = max(1, float64(c.Trace.Footprint())/float64(max(1, c.Trace.NumObjects)))
	}
	slots := 1 << slotBits(s.limit, estimate)
	if slots > mostSlots/shards {
		return nil, fmt.Errorf("cache=hyper makes a table of %s for %s at %s a block, more than the %s that are "+
			"replayed; choose a smaller capacity, or a larger estimated_entry_charge than %.0f",
			show.Counted(slots*shards, "slot"), show.Size(c.Capacity, 1),
			show.Size(int64(estimate), 1), show.Count(mostSlots), estimate)
	}
	s.mask, s.most, s.own = uint64(slots-1), int(float64(slots)*clockMost), int64(slots)*slotMetadata
	for i := range s.shards {
		s.shards[i] = clockShard{slots: make([]clockSlot, slots), used: s.own}
	}
	s.used = s.own * int64(shards)
	s.taken = s.used
	return s, nil
}

// slotBits returns the logarithm of the slots of a shard: CalcHashBits.
func slotBits(limit int64, estimate float64) int {
	const almostOne = 0.999999
	wanted := uint64(float64(limit)/(float64(estimate*clockLoad)+slotMetadata) + almostOne)
	n := bits.Len64(max(1, wanted<<1-1)) - 1
	for n > 0 && int64(slotMetadata)<<n > limit {
		n--
	}
	return min(n, 31)
}

func (s *hyperclock) shardOf(o policies.Object) *clockShard {
	return &s.shards[random.Scramble(uint64(o)^s.salt)>>32&uint64(len(s.shards)-1)]
}

func (s *hyperclock) serve(r *request) bool {
	at := s.slotOf[r.object]
	switch {
	case at >= 0 && !r.write:
		slot := &s.shardOf(r.object).slots[at]
		slot.uses = min(mostClockUses, slot.uses+1)
	case r.present:
	default:
		s.remove(r.object)
		s.insert(r)
	}
	return at >= 0
}

// insert puts a block into the first free slot of its sequence. It evicts as many bytes as come, and a little more if
// the shard is above its limit; and a block if too many slots are taken.
func (s *hyperclock) insert(r *request) {
	shard, charge := s.shardOf(r.object), r.value
	full := shard.items >= s.most
	need := int64(0)
	if shard.used+charge > s.limit && charge <= shard.used {
		if need = charge; shard.used > s.limit {
			need += min(s.limit/1024, charge) + 1
		}
	}
	if full {
		need = max(need, 1)
	}
	if before := shard.items; need > 0 {
		s.sweep(shard, need)
		if full && shard.items == before {
			s.refused++
			return
		}
	}
	hash := random.Scramble(uint64(r.object) + s.salt)
	at, step := hash&s.mask, random.Mix(hash)|1
	for shard.slots[at].there {
		at = (at + step) & s.mask
	}
	shard.slots[at] = clockSlot{object: r.object, uses: newClockUses, there: true}
	s.slotOf[r.object], s.charges[r.object] = int32(at), charge
	s.count(shard, 1, charge)
}

func (s *hyperclock) count(shard *clockShard, items int, bytes int64) {
	shard.items += items
	shard.used += bytes
	s.items += int64(items)
	s.used += bytes
	s.taken = max(s.taken, s.used)
}

// sweep moves the hand until so many bytes are free, at most as often around as a block may have uses.
func (s *hyperclock) sweep(shard *clockShard, need int64) {
	last := shard.hand + mostClockUses*(s.mask+1)
	for freed := int64(0); ; {
		hand := shard.hand
		shard.hand += clockStep
		for i := range uint64(clockStep) {
			slot := &shard.slots[(hand+i)&s.mask]
			switch {
			case !slot.there:
			case slot.uses > 0:
				slot.uses--
			default:
				freed += s.charges[slot.object]
				s.remove(slot.object)
				s.evicted++
			}
		}
		if freed >= need || hand >= last {
			return
		}
	}
}

func (s *hyperclock) remove(o policies.Object) bool {
	at := s.slotOf[o]
	if at < 0 {
		return false
	}
	shard := s.shardOf(o)
	shard.slots[at].there = false
	s.slotOf[o] = -1
	s.count(shard, -1, -s.charges[o])
	return true
}

func (s *hyperclock) has(o policies.Object, _ int64) bool { return s.slotOf[o] >= 0 }
func (s *hyperclock) tick(int64)                          {}
func (s *hyperclock) remark() string                      { return "" }

func (s *hyperclock) state() state {
	own := s.own * int64(len(s.shards))
	return state{items: s.items, values: s.used - own, used: s.used, own: own, taken: s.taken, tally: s.tally}
}
