// Primitives on columns in the memory of a GPU: a stable radix sort of keys with values, exclusive prefix sums, and the
// starts of runs. A block serves a tile of 2048 numbers with 256 threads; columns have fewer than 2^31 numbers.
#include "device.h"

enum { threads = 256, warps = threads / 32, items = 8, tile = threads * items, digits = 256 };

// iota writes 0, 1, 2, ... to a column.
KERNEL sort_iota(uint32_t *column, uint32_t n) {
	uint32_t i = BLOCK * threads + THREAD;
	if (i < n) column[i] = i;
}

// count counts the digits at shift of the keys of each tile; counts are ordered by digit, then by tile, so that their
// prefix sums are where the keys of a tile go.
template <typename Key>
FN void count(const Key *keys, uint32_t n, uint32_t shift, uint32_t *counts) {
	SHARED uint32_t bins[digits];
	bins[THREAD] = 0;
	__syncthreads();
	for (uint32_t r = 0; r < items; r++) {
		uint32_t i = BLOCK * tile + r * threads + THREAD;
		if (i < n) atomicAdd(&bins[(uint32_t)(keys[i] >> shift) & (digits - 1)], 1);
	}
	__syncthreads();
	counts[THREAD * BLOCKS + BLOCK] = bins[THREAD];
}

// scatter moves keys and values to where offsets, the prefix sums of counts, put them. A warp serves consecutive keys,
// 32 at a time: a key comes behind those of the same digit in lanes below its own, in earlier rounds, and in warps
// before its own, so that the order of equal digits stays.
template <typename Key>
FN void scatter(const Key *keys, const uint32_t *values, uint32_t n, uint32_t shift, const uint32_t *offsets,
                Key *keys_out, uint32_t *values_out) {
	SHARED uint32_t bins[warps][digits];
	const uint32_t lane = LANE, warp = WARP, below = (1u << lane) - 1, first = BLOCK * tile + warp * 32 * items + lane;
	Key key[items];
	uint32_t digit[items], rank[items];
	for (uint32_t d = lane; d < digits; d += 32) bins[warp][d] = 0;
	syncwarp();
#pragma unroll
	for (uint32_t r = 0; r < items; r++) {
		uint32_t i = first + 32 * r;
		bool valid = i < n;
		key[r] = valid ? keys[i] : 0;
		uint32_t d = digit[r] = (uint32_t)(key[r] >> shift) & (digits - 1);
		uint32_t same = ballot(valid); // the lanes with the same digit
#pragma unroll
		for (uint32_t bit = 0; bit < 8; bit++) {
			uint32_t ones = ballot(d >> bit & 1);
			same &= d >> bit & 1 ? ones : ~ones;
		}
		uint32_t before = bins[warp][d];
		rank[r] = before + __popc(same & below);
		syncwarp();
		if (valid && (same & below) == 0) bins[warp][d] = before + __popc(same);
		syncwarp();
	}
	__syncthreads();
	uint32_t to = offsets[THREAD * BLOCKS + BLOCK];
	for (uint32_t w = 0; w < warps; w++) {
		uint32_t c = bins[w][THREAD];
		bins[w][THREAD] = to;
		to += c;
	}
	__syncthreads();
#pragma unroll
	for (uint32_t r = 0; r < items; r++) {
		uint32_t i = first + 32 * r;
		if (i >= n) continue;
		uint32_t at = bins[warp][digit[r]] + rank[r];
		keys_out[at] = key[r];
		values_out[at] = values[i];
	}
}

KERNEL sort_count32(const uint32_t *keys, uint32_t n, uint32_t shift, uint32_t *counts) {
	count(keys, n, shift, counts);
}

KERNEL sort_count64(const uint64_t *keys, uint32_t n, uint32_t shift, uint32_t *counts) {
	count(keys, n, shift, counts);
}

KERNEL sort_scatter32(const uint32_t *keys, const uint32_t *values, uint32_t n, uint32_t shift, const uint32_t *offsets,
                      uint32_t *keys_out, uint32_t *values_out) {
	scatter(keys, values, n, shift, offsets, keys_out, values_out);
}

KERNEL sort_scatter64(const uint64_t *keys, const uint32_t *values, uint32_t n, uint32_t shift, const uint32_t *offsets,
                      uint64_t *keys_out, uint32_t *values_out) {
	scatter(keys, values, n, shift, offsets, keys_out, values_out);
}

// through_warp returns the sum of v over the lanes up to this one.
FN uint32_t through_warp(uint32_t v) {
#pragma unroll
	for (uint32_t by = 1; by < 32; by <<= 1) {
		uint32_t other = __shfl_up_sync(ALL, v, by);
		if (LANE >= by) v += other;
	}
	return v;
}

// through_block returns the sum of v over the threads up to this one. sums has a number per warp.
FN uint32_t through_block(uint32_t v, uint32_t *sums) {
	v = through_warp(v);
	if (LANE == 31) sums[WARP] = v;
	__syncthreads();
	for (uint32_t w = 0; w < WARP; w++) v += sums[w];
	return v;
}

// sort_sums writes the sum of each tile of a column.
KERNEL sort_sums(const uint32_t *column, uint32_t n, uint32_t *sums) {
	SHARED uint32_t of_warps[warps];
	uint32_t sum = 0;
	for (uint32_t r = 0; r < items; r++) {
		uint32_t i = BLOCK * tile + r * threads + THREAD;
		if (i < n) sum += column[i];
	}
	sum = through_block(sum, of_warps);
	if (THREAD == threads - 1) sums[BLOCK] = sum;
}

// sort_prefix replaces n numbers by the sums of those before each, and writes the sum of all behind them. before has
// the sum of all numbers before each tile; it is null if there is one tile.
KERNEL sort_prefix(uint32_t *column, uint32_t n, const uint32_t *before) {
	SHARED uint32_t of_warps[warps];
	uint32_t first = BLOCK * tile + THREAD * items, sum = 0, v[items];
#pragma unroll
	for (uint32_t r = 0; r < items; r++) {
		v[r] = first + r < n ? column[first + r] : 0;
		sum += v[r];
	}
	uint32_t at = through_block(sum, of_warps) - sum + (before ? before[BLOCK] : 0);
#pragma unroll
	for (uint32_t r = 0; r < items; r++) {
		if (first + r <= n) column[first + r] = at;
		at += v[r];
	}
}

// sort_starts writes, for each number from 0 to count, how many of the sorted keys are smaller.
KERNEL sort_starts(const uint32_t *keys, uint32_t n, uint32_t count, uint32_t *starts) {
	uint32_t number = BLOCK * threads + THREAD;
	if (number > count) return;
	uint32_t low = 0, high = n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (keys[middle] < number) low = middle + 1;
		else high = middle;
	}
	starts[number] = low;
}
