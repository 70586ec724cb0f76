// Replay of set-associative caches in batches, a warp per set (package cuda/setreplay). Every object of a batch is
// looked up before its misses are loaded, in order.
//
// A chunk of the trace is prepared before it is replayed: requests are reduced to one per object and batch, sorted by
// set, and repeats that must hit are left out. What is left are entries. All caches with the same number of sets and
// the same batches share them.
#include "device.h"

// batch_of returns the batch of the request at a position in the chunk; batches count from 1. of has them per position;
// it is null if all batches have the same size. first is the position of the chunk in the trace.
FN uint32_t batch_of(const uint32_t *of, uint32_t size, uint32_t first, uint32_t at) {
	return of ? of[at] : (first + at) / size + 1;
}

// sets_lookups marks the first request of each object in each batch, where objects are sorted, and the requests of an
// object, which at has, by position.
KERNEL sets_lookups(const uint32_t *objects, const uint32_t *at, uint32_t n, const uint32_t *of,
                         uint32_t size, uint32_t begin, uint32_t *marks) {
	uint32_t i = BLOCK * THREADS + THREAD;
	if (i >= n) return;
	marks[i] = i == 0 || objects[i] != objects[i - 1] ||
		batch_of(of, size, begin, at[i]) != batch_of(of, size, begin, at[i - 1]);
}

// sets_places writes the places of marks. sums has the prefix sums of n marks, and their number behind them.
KERNEL sets_places(const uint32_t *sums, uint32_t n, uint32_t *places) {
	uint32_t i = BLOCK * THREADS + THREAD;
	if (i < n && sums[i + 1] != sums[i]) places[sums[i]] = i;
}

// sets_lasts writes, at the position of the first request of each object in each batch, the position of the last one.
// places has the places of the first ones in at.
KERNEL sets_lasts(const uint32_t *places, uint32_t count, const uint32_t *at, uint32_t n, uint32_t *marks,
                  uint32_t *lasts) {
	uint32_t i = BLOCK * THREADS + THREAD;
	if (i >= count) return;
	uint32_t first = at[places[i]], end = i + 1 < count ? places[i + 1] : n;
	marks[first] = 1;
	lasts[first] = at[end - 1];
}

// sets_of writes keys and the positions that they are of: the sets of the objects at some positions or, without hashes,
// the objects. Null positions are all.
KERNEL sets_of(const uint32_t *objects, const uint32_t *positions, uint32_t n, const uint32_t *hashes, uint32_t sets,
               uint32_t *keys, uint32_t *values) {
	uint32_t i = BLOCK * THREADS + THREAD;
	if (i >= n) return;
	uint32_t at = positions ? positions[i] : i, object = objects[at];
	keys[i] = hashes ? hashes[object] % sets : object;
	values[i] = at;
}

// sets_chains marks the lookups that are entries, where lookups are sorted by set. A lookup is left out if the one
// before it in the set is of the same object, and that one is the first of its set in its batch: nothing else of the
// set is loaded in that batch, so that the object stays, and hits.
KERNEL sets_chains(const uint32_t *keys, const uint32_t *at, uint32_t n, const uint32_t *objects,
                        const uint32_t *of, uint32_t size, uint32_t begin, uint32_t *marks) {
	uint32_t i = BLOCK * THREADS + THREAD;
	if (i >= n) return;
	bool stays = i > 0 && keys[i - 1] == keys[i] && objects[at[i - 1]] == objects[at[i]] &&
		(i == 1 || keys[i - 2] != keys[i] ||
		 batch_of(of, size, begin, at[i - 2]) != batch_of(of, size, begin, at[i - 1]));
	marks[i] = !stays;
}

// Entries are lookups, each with those that follow it and were left out.
struct Entries {
	uint32_t *objects;
	uint32_t *firsts, *lasts; // positions of the first and of the last request
	uint32_t *batches, *last_batches; // of both
	uint32_t *starts; // per set
};

// sets_entries writes the entries (e_). sums has the prefix sums of marks; lasts is null if they are the positions.
KERNEL sets_entries(const uint32_t *at, const uint32_t *sums, uint32_t n, const uint32_t *objects,
                    const uint32_t *lasts, const uint32_t *of, uint32_t size, uint32_t begin, uint32_t *e_objects,
                    uint32_t *e_firsts, uint32_t *e_lasts, uint32_t *e_batches, uint32_t *e_last_batches) {
	uint32_t i = BLOCK * THREADS + THREAD;
	if (i >= n) return;
	uint32_t entry = sums[i], position = at[i], batch = batch_of(of, size, begin, position);
	if (sums[i + 1] != entry) {
		e_objects[entry] = objects[position];
		e_firsts[entry] = position;
		e_batches[entry] = batch;
		entry++;
	}
	if (i + 1 == n || sums[i + 2] != entry) { // the last lookup of its entry
		e_lasts[entry - 1] = lasts ? lasts[position] : position;
		e_last_batches[entry - 1] = batch;
	}
}

// sets_starts replaces the starts of sets among lookups by those among entries.
KERNEL sets_starts(uint32_t *starts, uint32_t count, const uint32_t *sums) {
	uint32_t i = BLOCK * THREADS + THREAD;
	if (i < count) starts[i] = sums[starts[i]];
}

// Phase is how far LARU follows predictions in a set.
struct Phase {
	uint32_t number, level, fallbacks, unused; // level: how often the candidates have become fewer
};

// Cell is a cache. Arrays per slot have ways slots per set.
struct Cell {
	uint64_t warps; // of the cells before
	Entries entries;
	const uint64_t *keys; // per object: the slab that is probed first is key mod slabs
	uint32_t *owners, *counts; // per slot; counts: the last batch that looked the slot up or loaded it, 0 if it is free
	uint64_t *nexts; // per slot: the prediction
	uint64_t *unknown, *old; // per set, a bit per slot: the predictor was not asked; resident since the phase began
	uint32_t *missed; // a bit per entry
	const uint64_t *predictions; // per position
	Phase *phases; // per set; null if the number of candidates is fixed
	uint32_t *marks; // per object: the phase of its set in which a prediction evicted it; or 8192 bits per set
	uint32_t *levels; // per position, 1 plus the level at the eviction that its miss caused
	const uint32_t *candidates; // per level
	uint64_t *totals;
	uint32_t sets, ways, slabs, lanes; // lanes: slots of a slab
	uint32_t warmup; // misses before this position do not count
	uint32_t counted; // evictions before this batch do not count
	uint32_t last_level; // from here on there is one candidate
	uint32_t decay; // fallbacks until there are fewer candidates
	uint32_t bits, unused; // whether marks are bits
};

enum { misses, evictions, phases, by_prediction, fallbacks, by_recency, calls, predicted, counters };

// Tile is 32 entries, one per lane.
struct Tile {
	uint32_t object, first, batch, last_batch, slab;
	uint64_t next;
};

template <bool predicts>
FN Tile load(const Cell &c, uint32_t at, uint32_t end) {
	Tile t = {};
	if (at >= end) return t;
	t.object = c.entries.objects[at];
	t.first = c.entries.firsts[at];
	t.batch = c.entries.batches[at];
	t.last_batch = c.entries.last_batches[at];
	t.slab = (uint32_t)(c.keys[t.object] % c.slabs);
	if (predicts) t.next = c.predictions[c.entries.lasts[at]];
	return t;
}

FN uint32_t smallest(uint32_t v) {
#pragma unroll
	for (uint32_t m = 16; m; m >>= 1) v = min(v, shfl_xor(v, m));
	return v;
}

FN uint32_t largest(uint32_t v) { return ~smallest(~v); }

// The state of a set: each lane has two slots, its own number and 32 more. Slots that do not exist have no owner, and
// the largest count.
struct Set {
	uint32_t owner0, owner1, count0, count1;
	uint64_t next0, next1;
	uint64_t unknown, old; // the same in all lanes, as is what follows
	Phase phase;
	uint32_t number;
	uint64_t sum[counters];
};

const uint32_t none = ~0u;

FN uint64_t both(bool low, bool high) { return ballot(low) | (uint64_t)ballot(high) << 32; }

// distance is the place of a slot in the order of slots from at on.
FN uint32_t distance(uint32_t slot, uint32_t at, uint32_t slots) { return slot >= at ? slot - at : slot + slots - at; }

// nearest returns the slot with the smallest count among some, and of those the nearest to at.
FN uint32_t nearest(const Set &s, bool among0, bool among1, uint32_t at, uint32_t slots) {
	uint32_t count = smallest(min(among0 ? s.count0 : none, among1 ? s.count1 : none));
	uint32_t d0 = among0 && s.count0 == count ? distance(LANE, at, slots) : none;
	uint32_t d1 = among1 && s.count1 == count ? distance(LANE + 32, at, slots) : none;
	uint32_t slot = at + smallest(min(d0, d1));
	return slot < slots ? slot : slot - slots;
}

// latest returns the slot with the largest prediction among the least recently used, so many of them.
FN uint32_t latest(const Cell &c, Set &s, uint32_t candidates, uint32_t at, uint32_t slots) {
	bool among0 = LANE < c.ways, among1 = LANE + 32 < c.ways;
	if (candidates < c.ways) {
		uint32_t d0 = distance(LANE, at, slots), d1 = distance(LANE + 32, at, slots), rank0 = 0, rank1 = 0;
		for (uint32_t slot = 0; slot < c.ways; slot++) {
			uint32_t count = shfl(slot < 32 ? s.count0 : s.count1, slot & 31), d = distance(slot, at, slots);
			rank0 += count < s.count0 || (count == s.count0 && d < d0);
			rank1 += count < s.count1 || (count == s.count1 && d < d1);
		}
		among0 &= rank0 < candidates;
		among1 &= rank1 < candidates;
	}
	uint64_t asked = both(among0, among1) & s.unknown;
	s.unknown &= ~asked;
	s.sum[calls] += asked != 0;
	s.sum[predicted] += __popcll(asked);
	uint32_t high0 = among0 ? (uint32_t)(s.next0 >> 32) : 0, high1 = among1 ? (uint32_t)(s.next1 >> 32) : 0;
	uint32_t high = largest(max(high0, high1));
	among0 &= high0 == high;
	among1 &= high1 == high;
	uint32_t low = largest(max(among0 ? (uint32_t)s.next0 : 0, among1 ? (uint32_t)s.next1 : 0));
	return nearest(s, among0 && (uint32_t)s.next0 == low, among1 && (uint32_t)s.next1 == low, at, slots);
}

enum { mark_words = 256 }; // of a set, if marks are bits

// hash_bit hashes an object to one of the bits of a set.
FN uint32_t hash_bit(uint32_t object) {
	uint64_t x = (object + 1ull) * 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (uint32_t)((x ^ x >> 31) >> 51);
}

// marked reports whether a prediction evicted the object in this phase. Only the first lane reads and writes marks of
// objects, so that no other can be late.
FN bool marked(const Cell &c, const Set &s, uint32_t object) {
	uint32_t is = 0;
	if (LANE == 0) {
		if (c.bits) is = c.marks[(uint64_t)s.number * mark_words + (hash_bit(object) >> 5)] >> (hash_bit(object) & 31) & 1;
		else is = c.marks[object] == s.phase.number;
	}
	return shfl(is, 0);
}

FN void mark(const Cell &c, const Set &s, uint32_t object) {
	if (LANE != 0) return;
	if (c.bits) c.marks[(uint64_t)s.number * mark_words + (hash_bit(object) >> 5)] |= 1u << (hash_bit(object) & 31);
	else c.marks[object] = s.phase.number;
}

// confident returns how many candidates LARU considers to make room for an object; 0: the least recently used leaves.
FN uint32_t confident(const Cell &c, Set &s, uint32_t object, uint32_t first) {
	if (s.old == 0) {
		s.old = ~0ull >> (64 - c.ways);
		s.phase.level = s.phase.fallbacks = 0;
		s.phase.number++;
		s.sum[phases]++;
		if (c.bits) {
			syncwarp();
			for (uint32_t w = LANE; w < mark_words; w += 32) c.marks[(uint64_t)s.number * mark_words + w] = 0;
			syncwarp();
		}
	}
	if (LANE == 0) c.levels[first] = s.phase.level + 1;
	uint32_t candidates = c.candidates[min(s.phase.level, c.last_level)];
	if (marked(c, s, object)) {
		s.sum[fallbacks]++;
		if (++s.phase.fallbacks == c.decay) {
			s.phase.fallbacks = 0;
			s.phase.level++;
		}
		return 0;
	}
	if (candidates == 1) {
		s.sum[by_recency]++;
		return 0;
	}
	s.sum[by_prediction]++;
	return candidates;
}

// insert loads the object of a lane of a tile.
template <bool predicts>
FN void insert(const Cell &c, Set &s, const Tile &t, uint32_t lane) {
	uint32_t object = shfl(t.object, lane), first = shfl(t.first, lane), at = shfl(t.slab, lane) * c.lanes;
	const uint32_t slots = c.lanes * c.slabs;
	const bool is0 = LANE < c.ways, is1 = LANE + 32 < c.ways;
	s.sum[misses] += first >= c.warmup;
	uint64_t vacant = both(is0 && s.count0 == 0, is1 && s.count1 == 0);
	uint32_t slot, candidates = 0;
	if (!vacant) {
		s.sum[evictions] += shfl(t.batch, lane) >= c.counted;
		if (predicts) candidates = c.phases ? confident(c, s, object, first) : c.candidates[0];
	}
	if (predicts && candidates) slot = latest(c, s, candidates, at, slots);
	else slot = nearest(s, is0, is1, at, slots);
	if (predicts && candidates && c.phases) mark(c, s, shfl(slot < 32 ? s.owner0 : s.owner1, slot & 31));
	const uint32_t count = shfl(t.last_batch, lane);
	const uint64_t next = predicts ? shfl(t.next, lane) : 0;
	if (LANE == slot) s.owner0 = object, s.count0 = count, s.next0 = next;
	if (LANE + 32 == slot) s.owner1 = object, s.count1 = count, s.next1 = next;
	if (!predicts) return;
	const uint64_t bit = 1ull << slot;
	s.unknown |= bit;
	if (s.old & bit) s.old -= bit;
}

// restore returns the state of a set, as store left it at the end of the previous chunk.
template <bool predicts>
FN Set restore(const Cell &c, uint32_t number) {
	Set s = {none, none, none, none, 0, 0, 0, 0, {0, 0, 0, 0}, number, {}};
	uint64_t at = (uint64_t)number * c.ways + LANE;
	if (LANE < c.ways) s.owner0 = c.owners[at], s.count0 = c.counts[at];
	if (LANE + 32 < c.ways) s.owner1 = c.owners[at + 32], s.count1 = c.counts[at + 32];
	if (!predicts) return s;
	if (LANE < c.ways) s.next0 = c.nexts[at];
	if (LANE + 32 < c.ways) s.next1 = c.nexts[at + 32];
	s.unknown = c.unknown[number];
	if (c.phases) {
		s.old = c.old[number];
		s.phase = c.phases[number];
	}
	return s;
}

template <bool predicts>
FN void store(const Cell &c, const Set &s) {
	syncwarp(); // all lanes have read what the first one writes
	uint64_t at = (uint64_t)s.number * c.ways + LANE;
	if (LANE < c.ways) c.owners[at] = s.owner0, c.counts[at] = s.count0;
	if (LANE + 32 < c.ways) c.owners[at + 32] = s.owner1, c.counts[at + 32] = s.count1;
	if (predicts) {
		if (LANE < c.ways) c.nexts[at] = s.next0;
		if (LANE + 32 < c.ways) c.nexts[at + 32] = s.next1;
		if (LANE == 0) c.unknown[s.number] = s.unknown;
	}
	if (LANE != 0) return;
	if (predicts && c.phases) {
		c.old[s.number] = s.old;
		c.phases[s.number] = s.phase;
	}
#pragma unroll
	for (uint32_t i = 0; i < counters; i++)
		if (s.sum[i]) atomicAdd(&c.totals[i], s.sum[i]);
}

// replay replays the entries of a chunk in every set of some cells, a warp for each set.
template <bool predicts>
FN void replay(const Cell *cells, uint32_t count) {
	uint64_t warp = (uint64_t)BLOCK * WARPS + WARP;
	uint32_t low = 0;
	for (uint32_t high = count; high - low > 1;) {
		uint32_t middle = low + (high - low) / 2;
		if (cells[middle].warps <= warp) low = middle;
		else high = middle;
	}
	const Cell c = cells[low];
	if (warp - c.warps >= c.sets) return;
	const uint32_t number = (uint32_t)(warp - c.warps);
	const uint32_t start = c.entries.starts[number], end = c.entries.starts[number + 1];
	if (start == end) return;
	Set s = restore<predicts>(c, number);
	uint32_t *missed = c.missed + (start >> 5) + number; // no word is shared with another set
	uint32_t batch = 0, from = start; // the current batch, and where it begins
	for (uint32_t base = start;; base += 32) {
		const Tile t = load<predicts>(c, base + LANE, end);
		uint32_t misses_of_tile = 0;
		for (uint32_t i = 0; i < 32; i++) {
			uint32_t b = base + i < end ? shfl(t.batch, i) : 0;
			if (b != batch) { // the batch has ended
				for (uint32_t tile = start + ((from - start) & ~31u); tile <= base; tile += 32) {
					Tile of = t;
					uint32_t rest = misses_of_tile;
					if (tile < base) {
						of = load<predicts>(c, tile + LANE, end);
						rest = missed[(tile - start) >> 5];
					}
					if (tile < from) rest = rest >> (from - tile) << (from - tile);
					for (; rest; rest &= rest - 1) insert<predicts>(c, s, of, __ffs(rest) - 1);
				}
				batch = b;
				from = base + i;
			}
			if (b == 0) {
				store<predicts>(c, s);
				return;
			}
			uint32_t object = shfl(t.object, i);
			bool is0 = s.owner0 == object, is1 = s.owner1 == object;
			uint64_t slot = both(is0, is1);
			if (!slot) {
				misses_of_tile |= 1u << i;
				continue;
			}
			uint32_t last = shfl(t.last_batch, i);
			if (is0) s.count0 = last;
			if (is1) s.count1 = last;
			if (predicts) {
				uint64_t next = shfl(t.next, i);
				if (is0) s.next0 = next;
				if (is1) s.next1 = next;
				s.unknown |= slot;
				s.old &= ~slot;
			}
		}
		if (LANE == 0) missed[(base - start) >> 5] = misses_of_tile;
		syncwarp();
	}
}

// sets_lru replays cells without predictions, which needs half of the registers, sets_predicted all others.
KERNEL sets_lru(const Cell *cells, uint32_t count) { replay<false>(cells, count); }
KERNEL sets_predicted(const Cell *cells, uint32_t count) { replay<true>(cells, count); }

enum { most_ways = 64 };

// sets_stacks replays LRU with all numbers of ways at once, where every request is a batch: in each set the objects are
// ordered by their last requests, and hit where the number of ways is above their depth (Mattson et al., 1970).
// depths counts hits by depth, and loads by the number of objects in the set before.
KERNEL sets_stacks(uint32_t sets, const uint32_t *starts, const uint32_t *objects, const uint32_t *firsts,
                   uint32_t warmup, uint32_t *stacks, uint32_t *filled, uint64_t *depths, uint64_t *loads) {
	const uint32_t set = BLOCK * WARPS + WARP;
	if (set >= sets) return;
	const uint32_t start = starts[set], end = starts[set + 1];
	if (start == end) return;
	uint32_t *stack = stacks + (uint64_t)set * most_ways + LANE;
	uint32_t top = stack[0], bottom = stack[32], size = filled[set], full_loads = 0;
	uint32_t hits0 = 0, hits1 = 0, loads0 = 0, loads1 = 0; // at the depth of the lane, and 32 more
	for (uint32_t base = start; base < end; base += 32) {
		const uint32_t at = base + LANE;
		const uint32_t tile = at < end ? objects[at] : none, counts = ballot(at < end && firsts[at] >= warmup);
		for (uint32_t i = 0; i < 32 && base + i < end; i++) {
			const uint32_t object = shfl(tile, i), counted = counts >> i & 1;
			const uint64_t place = both(top == object, bottom == object);
			uint32_t depth = place ? (uint32_t)__ffsll((int64_t)place) - 1 : size;
			if (place) {
				hits0 += counted & (depth == LANE);
				hits1 += counted & (depth == LANE + 32);
			} else {
				loads0 += counted & (depth == LANE);
				loads1 += counted & (depth == LANE + 32);
				full_loads += counted & (depth == most_ways);
				size += size < most_ways;
			}
			uint32_t above0 = __shfl_up_sync(ALL, top, 1), above1 = __shfl_up_sync(ALL, bottom, 1);
			const uint32_t middle = shfl(top, 31);
			if (LANE == 0) above0 = object, above1 = middle;
			if (LANE <= depth) top = above0;
			if (LANE + 32 <= depth) bottom = above1;
		}
	}
	syncwarp(); // all lanes have read what the first one writes
	stack[0] = top;
	stack[32] = bottom;
	if (LANE == 0) filled[set] = size;
	if (hits0) atomicAdd(&depths[LANE], (uint64_t)hits0);
	if (hits1) atomicAdd(&depths[LANE + 32], (uint64_t)hits1);
	if (loads0) atomicAdd(&loads[LANE], (uint64_t)loads0);
	if (loads1) atomicAdd(&loads[LANE + 32], (uint64_t)loads1);
	if (LANE == 0 && full_loads) atomicAdd(&loads[most_ways], (uint64_t)full_loads);
}
