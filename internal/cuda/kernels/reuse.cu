// Reuse distances of the requests of a trace: how many other distinct objects were requested since the last request to
// the same object. A block serves a tile of 2048 requests with 256 threads.
//
// Request i, whose object was last requested at p, has the distance i - p - 1, less one for each request between them
// whose object is requested again between them. Those are the earlier requests whose own last one was after p. So let
// keys be the ranks of p among all last requests, for the requests that have one, in order: a permutation. Each
// request's value, at first i - p - 1, is reduced by the number of larger keys before it.
//
// They are counted from the highest bit of the keys to the lowest. Keys that agree in the bits above are a node, whose
// keys fill a range of places that begins at a multiple of its size. A level moves the keys of a node whose bit is 0
// before those whose bit is 1, in order, and reduces the value of each by the number of ones before it.
#include "device.h"

enum {
	threads = 256,
	warps = threads / 32,
	items = 8,
	tile = threads * items,
	tile_bits = 11,
	words = tile / 32, // of 32 requests
	word_bits = 5,
	bins = 1024, // distances below are counted in shared memory first
};

static const uint32_t none = 0xffffffffu;
// The values of requests that are not counted have the highest bit.
static const uint32_t uncounted = 0x80000000u;

// copy copies n numbers.
KERNEL reuse_copy(const uint32_t *from, uint32_t n, uint32_t *to) {
	uint32_t i = BLOCK * threads + THREAD;
	if (i < n) to[i] = from[i];
}

// link is given objects in order, and the positions of their requests, ascending for each object. It writes, by
// position, the last request to the same object, whether there is one, and whether there is a further one.
KERNEL reuse_link(const uint32_t *objects, const uint32_t *positions, uint32_t n, uint32_t *last, uint32_t *known,
                  uint32_t *again) {
	uint32_t k = BLOCK * threads + THREAD;
	if (k >= n) return;
	uint32_t at = positions[k], object = objects[k];
	bool has_last = k > 0 && objects[k - 1] == object;
	last[at] = has_last ? positions[k - 1] : none;
	known[at] = has_last;
	again[at] = k + 1 < n && objects[k + 1] == object;
}

// stack writes each object once, in order of last request. again_before has the prefix sums of what link wrote: the
// request is behind all that are the last to their object.
KERNEL reuse_stack(const uint32_t *objects, const uint32_t *positions, uint32_t n, const uint32_t *again_before,
                   uint32_t *stack) {
	uint32_t k = BLOCK * threads + THREAD;
	if (k >= n) return;
	uint32_t at = positions[k], object = objects[k];
	if (k + 1 == n || objects[k + 1] != object) stack[at - again_before[at]] = object;
}

// rank writes the keys and values of requests that have a last one. Requests before first are not counted.
KERNEL reuse_rank(const uint32_t *last, const uint32_t *known_before, const uint32_t *again_before, uint32_t n,
                  uint32_t first, uint32_t *keys, uint32_t *values) {
	uint32_t i = BLOCK * threads + THREAD;
	if (i >= n) return;
	uint32_t p = last[i];
	if (p == none) return;
	uint32_t to = known_before[i];
	keys[to] = again_before[p];
	values[to] = (i - p - 1) | (i < first ? uncounted : 0);
}

// count counts the keys of each tile that have the bit.
KERNEL reuse_count(const uint32_t *keys, uint32_t n, uint32_t bit, uint32_t *ones) {
	SHARED uint32_t total;
	if (THREAD == 0) total = 0;
	__syncthreads();
	uint32_t sum = 0;
	for (uint32_t r = 0; r < items; r++) {
		uint32_t i = BLOCK * tile + r * threads + THREAD;
		uint32_t key = i < n ? keys[i] : 0;
		sum += __popc(ballot(key >> bit & 1));
	}
	if (LANE == 0) atomicAdd(&total, sum);
	__syncthreads();
	if (THREAD == 0) ones[BLOCK] = total;
}

// split is a level of nodes of two tiles or more. ones_before has the prefix sums of what count wrote.
KERNEL reuse_split(const uint32_t *keys, const uint32_t *values, uint32_t n, uint32_t bit, const uint32_t *ones_before,
                   uint32_t *keys_out, uint32_t *values_out) {
	SHARED uint32_t of_warps[warps];
	const uint32_t first = BLOCK * tile + WARP * 32 * items + LANE, below = (1u << LANE) - 1;
	uint32_t key[items], before[items], sum = 0;
#pragma unroll
	for (uint32_t r = 0; r < items; r++) {
		uint32_t i = first + 32 * r;
		key[r] = i < n ? keys[i] : 0;
		uint32_t ones = ballot(key[r] >> bit & 1);
		before[r] = sum + __popc(ones & below);
		sum += __popc(ones);
	}
	if (LANE == 0) of_warps[WARP] = sum;
	__syncthreads();
	uint32_t node = BLOCK * tile >> (bit + 1) << (bit + 1), middle = node + (1u << bit);
	uint32_t ones = ones_before[BLOCK] - ones_before[node >> tile_bits];
	for (uint32_t w = 0; w < WARP; w++) ones += of_warps[w];
#pragma unroll
	for (uint32_t r = 0; r < items; r++) {
		uint32_t i = first + 32 * r, larger = ones + before[r];
		if (i >= n) continue;
		bool one = key[r] >> bit & 1;
		uint32_t to = one ? middle + larger : i - larger;
		keys_out[to] = key[r];
		values_out[to] = values[i] - (one ? 0 : larger);
	}
}

// finish does the levels of nodes of up to a tile and counts the distances, which are then the values. Places behind
// the last request have their own number as key, which changes nothing before them.
KERNEL reuse_finish(const uint32_t *keys, const uint32_t *values, uint32_t n, uint64_t *distances) {
	SHARED uint32_t key_at[tile], value_at[tile], ones[words], before[words], near[bins];
	const uint32_t first = WARP * 32 * items + LANE, below = (1u << LANE) - 1;
	for (uint32_t b = THREAD; b < bins; b += threads) near[b] = 0; // each block has a tile, and so barriers before it counts
	for (uint64_t start = BLOCK * tile; start < n; start += BLOCKS * tile) {
		uint32_t key[items], value[items];
#pragma unroll
		for (uint32_t r = 0; r < items; r++) {
			uint32_t x = first + 32 * r;
			bool valid = start + x < n;
			key[r] = valid ? keys[start + x] & (tile - 1) : x;
			value[r] = valid ? values[start + x] : uncounted;
		}
		for (uint32_t bit = tile_bits - 1; bit >= word_bits; bit--) {
#pragma unroll
			for (uint32_t r = 0; r < items; r++) {
				uint32_t word = ballot(key[r] >> bit & 1);
				if (LANE == 0) ones[WARP * items + r] = word;
			}
			__syncthreads();
			if (WARP == 0) {
				uint32_t low = __popc(ones[2 * LANE]), both = low + __popc(ones[2 * LANE + 1]), sum = both;
#pragma unroll
				for (uint32_t by = 1; by < 32; by <<= 1) {
					uint32_t other = __shfl_up_sync(ALL, sum, by);
					if (LANE >= by) sum += other;
				}
				before[2 * LANE] = sum - both;
				before[2 * LANE + 1] = sum - both + low;
			}
			__syncthreads();
#pragma unroll
			for (uint32_t r = 0; r < items; r++) {
				uint32_t x = first + 32 * r, node = x >> (bit + 1) << (bit + 1);
				uint32_t larger = before[x / 32] + __popc(ones[x / 32] & below) - before[node / 32];
				bool one = key[r] >> bit & 1;
				uint32_t to = one ? node + (1u << bit) + larger : x - larger;
				key_at[to] = key[r];
				value_at[to] = value[r] - (one ? 0 : larger);
			}
			__syncthreads();
#pragma unroll
			for (uint32_t r = 0; r < items; r++) {
				key[r] = key_at[first + 32 * r];
				value[r] = value_at[first + 32 * r];
			}
		}
#pragma unroll
		for (uint32_t r = 0; r < items; r++) { // the rest within a warp, where nothing has to move
			uint32_t node = ALL, larger = 0;
#pragma unroll
			for (int32_t bit = word_bits - 1; bit >= 0; bit--) {
				bool one = key[r] >> bit & 1;
				uint32_t word = ballot(one);
				if (!one) larger += __popc(node & word & below);
				node &= one ? word : ~word;
			}
			uint32_t distance = value[r] - larger;
			if (distance < bins) atomicAdd(&near[distance], 1);
			else if (distance < uncounted) atomicAdd(&distances[distance], 1);
		}
	}
	__syncthreads();
	for (uint32_t b = THREAD; b < bins; b += threads)
		if (near[b]) atomicAdd(&distances[b], near[b]);
}
