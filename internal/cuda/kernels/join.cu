// The similarity join: all pairs of vectors whose product in float64 is at least a threshold. join_halve rounds vectors
// to half precision, join_propose finds pairs with products of those on tensor cores, and join_decide decides about each
// as the CPU does. nearest_propose finds those that may be among the most similar others of a vector.
// Target: sm_80
#include "device.h"

enum {
	side = 128,           // vectors per side of a tile, of 256 threads
	step = 32,            // numbers of a vector at a time
	pitch = step / 2 + 4, // words per row in shared memory: the padding puts the rows of a warp into different banks
	threads = 256,
};

// quad is four words that are copied at once.
typedef uint32_t quad __attribute__((ext_vector_type(4)));

// join_halve writes vectors as half precision numbers times scale, a power of two: words of two numbers each, with zeros
// behind dim. Rows behind count are zeros, too.
KERNEL join_halve(const float *vectors, uint32_t count, uint32_t dim, float scale, uint32_t *halves, uint32_t rows,
                  uint32_t words) {
	const uint64_t all = (uint64_t)rows * words;
	for (uint64_t i = (uint64_t)BLOCK * THREADS + THREAD; i < all; i += (uint64_t)BLOCKS * THREADS) {
		uint32_t row = i / words, k = (uint32_t)(i - (uint64_t)row * words) * 2, both;
		const float *vector = vectors + (uint64_t)row * dim;
		float low = row < count && k < dim ? vector[k] * scale : 0;
		float high = row < count && k + 1 < dim ? vector[k + 1] * scale : 0;
		asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
		halves[i] = both;
	}
}

// mma adds the products of 16 rows with 8 columns over 16 numbers to c.
FN void mma(float *c, const uint32_t *a, const uint32_t *b) {
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	             : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// products adds up the products of the vectors of a tile, side of left from a0 on and side of right from b0 on: this
// thread has 4 x 4 groups of 4, whose places are row_of and column_of. rows and columns are shared memory.
FN void products(const quad *left, const quad *right, uint32_t words, uint32_t a0, uint32_t b0,
                 quad (*rows)[side * pitch / 4], quad (*columns)[side * pitch / 4], float (*sums)[4][4]) {
	const uint32_t g = LANE >> 2, t = LANE & 3, row0 = (WARP >> 2) * 64, column0 = (WARP & 3) * 32;
	const uint32_t quads = words / 4, at = THREAD / 4, part = THREAD & 3; // 4 threads copy 32 numbers of a row
	const quad *from_a = left + (uint64_t)(a0 + at) * quads + part;
	const quad *from_b = right + (uint64_t)(b0 + at) * quads + part;
	const uint64_t half = (uint64_t)64 * quads; // the other half of the rows
	quad a_low = from_a[0], a_high = from_a[half], b_low = from_b[0], b_high = from_b[half];
	for (uint32_t k = 0, buffer = 0; k < words; k += step / 2, buffer ^= 1) {
		rows[buffer][at * (pitch / 4) + part] = a_low;
		rows[buffer][(at + 64) * (pitch / 4) + part] = a_high;
		columns[buffer][at * (pitch / 4) + part] = b_low;
		columns[buffer][(at + 64) * (pitch / 4) + part] = b_high;
		__syncthreads();
		if (k + step / 2 < words) { // loaded while the products are computed
			from_a += step / 8, from_b += step / 8;
			a_low = from_a[0], a_high = from_a[half], b_low = from_b[0], b_high = from_b[half];
		}
#pragma unroll
		for (uint32_t s = 0; s < step / 2; s += 8) {
			uint32_t a[4][4], b[4][2];
#pragma unroll
			for (int i = 0; i < 4; i++) {
				const uint32_t *p = (const uint32_t *)rows[buffer] + (row0 + i * 16 + g) * pitch + s + t;
				a[i][0] = p[0], a[i][1] = p[8 * pitch], a[i][2] = p[4], a[i][3] = p[8 * pitch + 4];
			}
#pragma unroll
			for (int j = 0; j < 4; j++) {
				const uint32_t *p = (const uint32_t *)columns[buffer] + (column0 + j * 8 + g) * pitch + s + t;
				b[j][0] = p[0], b[j][1] = p[4];
			}
#pragma unroll
			for (int i = 0; i < 4; i++)
#pragma unroll
				for (int j = 0; j < 4; j++) mma(sums[i][j], a[i], b[j]);
		}
	}
}

// row_of returns the row within the tile of element e of group i, j.
FN uint32_t row_of(int i, int e) { return (WARP >> 2) * 64 + i * 16 + (LANE >> 2) + (e >> 1) * 8; }

// column_of returns its column.
FN uint32_t column_of(int j, int e) { return (WARP & 3) * 32 + j * 8 + 2 * (LANE & 3) + (e & 1); }

// join_propose lists the pairs of left and right vectors whose product in half precision is at least from. Left vectors
// are numbered from first_a, right ones from first_b; only pairs with the left number below the right one are listed.
// Blocks serve squares of group x group tiles one after the other, so that the vectors of a square stay in the second
// level cache: square number row, row + 1, ... of column number column. If more pairs than room are found, found says
// how many, and only so many are listed. A word has two numbers; rows are padded to whole squares.
KERNEL __launch_bounds__(threads, 2)
join_propose(const quad *left, const quad *right, uint32_t words, uint32_t group, uint32_t row, uint32_t column,
             uint32_t count_a, uint32_t count_b, uint32_t first_a, uint32_t first_b, float from, uint2 *pairs,
             uint32_t *found, uint32_t room) {
	SHARED quad rows[2][side * pitch / 4], columns[2][side * pitch / 4];
	const uint32_t square = group * group, within = BLOCK % square;
	const uint32_t a0 = ((row + BLOCK / square) * group + within % group) * side;
	const uint32_t b0 = (column * group + within / group) * side;
	if (a0 >= count_a || b0 >= count_b || first_a + a0 >= first_b + min(b0 + side, count_b)) return;
	float sums[4][4][4] = {};
	products(left, right, words, a0, b0, rows, columns, sums);
#pragma unroll
	for (int i = 0; i < 4; i++)
#pragma unroll
		for (int j = 0; j < 4; j++)
#pragma unroll
			for (int e = 0; e < 4; e++) {
				uint32_t a = a0 + row_of(i, e), b = b0 + column_of(j, e);
				if (sums[i][j][e] >= from && a < count_a && b < count_b && first_a + a < first_b + b) {
					uint32_t n = atomicAdd(found, 1u);
					if (n < room) pairs[n] = make_uint2(first_a + a, first_b + b);
				}
			}
}

// nearest_propose is join_propose with a bound for each left vector, from, and for pairs in both directions: those of
// different vectors whose product is at least the bound of the left one. Of the column, only vectors from begin_b on
// are compared, a multiple of side.
KERNEL __launch_bounds__(threads, 2)
nearest_propose(const quad *left, const quad *right, uint32_t words, uint32_t group, uint32_t row, uint32_t column,
                uint32_t count_a, uint32_t begin_b, uint32_t count_b, uint32_t first_a, uint32_t first_b,
                const float *from, uint2 *pairs, uint32_t *found, uint32_t room) {
	SHARED quad rows[2][side * pitch / 4], columns[2][side * pitch / 4];
	const uint32_t square = group * group, within = BLOCK % square;
	const uint32_t a0 = ((row + BLOCK / square) * group + within % group) * side;
	const uint32_t b0 = (column * group + within / group) * side;
	if (a0 >= count_a || b0 < begin_b || b0 >= count_b) return;
	float sums[4][4][4] = {};
	products(left, right, words, a0, b0, rows, columns, sums);
#pragma unroll
	for (int i = 0; i < 4; i++)
#pragma unroll
		for (int j = 0; j < 4; j++)
#pragma unroll
			for (int e = 0; e < 4; e++) {
				uint32_t a = a0 + row_of(i, e), b = b0 + column_of(j, e);
				if (a < count_a && b < count_b && first_a + a != first_b + b && sums[i][j][e] >= from[a]) {
					uint32_t n = atomicAdd(found, 1u);
					if (n < room) pairs[n] = make_uint2(first_a + a, first_b + b);
				}
			}
}

// join_decide lists those of the proposed pairs whose similarity is at least from, with their similarities, as groups of
// three words. Four lanes serve a pair: each has one of the four sums of the CPU, whose order of additions is kept.
// proposed is the number of pairs, of which there are at most room.
KERNEL join_decide(const float *left, const float *right, uint32_t dim, uint32_t first_a, uint32_t first_b, float from,
                   const uint2 *pairs, const uint32_t *proposed, uint32_t room, uint32_t *similar, uint32_t *found) {
	const uint32_t count = min(*proposed, room), lane = LANE & 3, stride = BLOCKS * THREADS / 4;
	const uint32_t first = (BLOCK * THREADS + THREAD) / 4, whole = dim & ~3u;
	for (uint32_t warp = first - LANE / 4; warp < count; warp += stride) { // the same in all lanes
		const uint32_t i = warp + LANE / 4;
		const uint2 pair = pairs[min(i, count - 1)];
		const float *a = left + (uint64_t)(pair.x - first_a) * dim, *b = right + (uint64_t)(pair.y - first_b) * dim;
		double sum = 0;
#pragma unroll 4
		for (uint32_t k = lane; k < whole; k += 4) sum = __fma_rn(a[k], b[k], sum); // the product is exact
		for (uint32_t k = whole; k < dim; k++)
			if (lane == 0) sum = __fma_rn(a[k], b[k], sum);
		// (s0+s1)+(s2+s3): sums of two do not depend on their order.
		sum += __longlong_as_double(__shfl_xor_sync(ALL, __double_as_longlong(sum), 1));
		sum += __longlong_as_double(__shfl_xor_sync(ALL, __double_as_longlong(sum), 2));
		const float similarity = (float)sum; // at most 1 below, and so is from
		const bool yes = lane == 0 && i < count && similarity >= from;
		const uint32_t all = ballot(yes);
		if (all == 0) continue;
		uint32_t at = 0;
		if (LANE == 0) at = atomicAdd(found, (uint32_t)__popc(all));
		at = shfl(at, 0) + __popc(all & ((1u << LANE) - 1));
		if (yes) {
			similar[3 * at] = pair.x;
			similar[3 * at + 1] = pair.y;
			similar[3 * at + 2] = __float_as_uint(similarity < 1 ? similarity : 1);
		}
	}
}
