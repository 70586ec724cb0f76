// Full attention over the keys and values of one head, with the bits of package softmax: every sum has the order that
// it has there, and no product is fused with a sum. A run is consecutive steps, each of which has a query per query head
// of a group; row r of its queries belongs to step r / group. The first step sees visible tokens, each further one a
// token more. Rows of probabilities have as many numbers as their step sees tokens, and follow each other without gaps.
//
// attend_scores multiplies queries and keys, attend_soften makes probabilities of the products in place, and
// attend_outputs adds up values. Keys and values have rows of dim finite numbers.
#include "device.h"

enum {
	threads = 256,
	lanes = 8, // of a sum: number i is added to lane i mod 8
	part = 32, // numbers of queries and keys in shared memory at a time
	pitch = part + lanes, // puts what a warp reads at once into different banks
	query_rows = 16,
	key_rows = 64,
	chunk = 1024, // exponentials in shared memory at a time
	out_rows = 16,
	out_columns = 32,
	out_tokens = 64,
};

// tokens_of returns how many tokens a row's step sees.
FN uint32_t tokens_of(uint32_t row, uint32_t group, uint32_t visible) { return visible + row / group; }

// place_of returns where a row of probabilities begins.
FN uint64_t place_of(uint32_t row, uint32_t group, uint32_t visible) {
	const uint64_t step = row / group;
	return group * (step * visible + step * (step - 1) / 2) + row % group * (visible + step);
}

FN float shfl_float(float v, int mask) { return __shfl_xor_sync(ALL, v, mask); }

// finite replaces infinities, and NaN, by finite numbers.
FN float finite(float x) {
	const float most = 0x1.fffffep+127f;
	if (!(x >= -most)) return -most;
	return x > most ? most : x;
}

// halve adds up two lanes of 2*n sums of each row: this lane keeps the even ones or, with its bit set, the odd ones,
// and the lane whose number differs in that bit keeps the others.
template <int n> FN void halve(float (*sums)[8], uint32_t bit) {
	const bool odd = LANE & bit;
#pragma unroll
	for (int a = 0; a < 4; a++)
#pragma unroll
		for (int b = 0; b < n; b++) {
			const float even_sum = sums[a][2 * b], odd_sum = sums[a][2 * b + 1];
			sums[a][b] = (odd ? odd_sum : even_sum) + shfl_float(odd ? even_sum : odd_sum, bit);
		}
}

// attend_scores writes the products of all queries of a run and the tokens that they see, times scale. A block has 16
// queries and 64 keys. Eight threads, each with a lane of the sums, multiply 4 queries and 8 keys.
KERNEL __launch_bounds__(threads)
attend_scores(const float *queries, const float *keys, uint32_t rows, uint32_t group, uint32_t visible, uint32_t dim,
              float scale, float *scores) {
	SHARED float query[query_rows][pitch], key[key_rows][pitch];
	const uint32_t tiles = (rows + query_rows - 1) / query_rows;
	const uint32_t row0 = BLOCK % tiles * query_rows, key0 = BLOCK / tiles * key_rows;
	const uint32_t tokens = tokens_of(min(row0 + query_rows, rows) - 1, group, visible); // of the last row
	if (key0 >= tokens) return;
	const uint32_t lane = THREAD % lanes, first_row = THREAD / lanes % 4, first_key = WARP * 8;
	float sums[4][8] = {};
	for (uint32_t from = 0; from < dim; from += part) {
		// What is missing is 0: no lane is -0, so that adding a product of it changes nothing.
		const uint32_t number = from + LANE; // a warp copies a row
#pragma unroll
		for (uint32_t r = WARP; r < query_rows + WARP; r += threads / 32) {
			const bool exists = row0 + r < rows && number < dim;
			query[r][LANE] = exists ? queries[(uint64_t)(row0 + r) * dim + number] : 0;
		}
#pragma unroll
		for (uint32_t r = WARP; r < key_rows + WARP; r += threads / 32) {
			const bool exists = key0 + r < tokens && number < dim;
			key[r][LANE] = exists ? keys[(uint64_t)(key0 + r) * dim + number] : 0;
		}
		__syncthreads();
#pragma unroll
		for (uint32_t k = lane; k < part + lane; k += lanes) {
			float x[4], y[8];
#pragma unroll
			for (int a = 0; a < 4; a++) x[a] = query[first_row + 4 * a][k];
#pragma unroll
			for (int b = 0; b < 8; b++) y[b] = key[first_key + b][k];
#pragma unroll
			for (int a = 0; a < 4; a++)
#pragma unroll
				for (int b = 0; b < 8; b++) sums[a][b] += x[a] * y[b];
		}
		__syncthreads();
	}
	// ((l0+l1)+(l2+l3)) + ((l4+l5)+(l6+l7)): sums of two do not depend on their order.
	halve<4>(sums, 1);
	halve<2>(sums, 2);
	halve<1>(sums, 4);
	const uint32_t token = key0 + first_key + lane; // bit by bit the key that this lane has kept
#pragma unroll
	for (int a = 0; a < 4; a++) {
		const uint32_t row = row0 + first_row + 4 * a;
		if (row < rows && token < tokens_of(row, group, visible))
			scores[place_of(row, group, visible) + token] = finite(scale * sums[a][0]);
	}
}

// exp_of returns e^x for x <= 0.
FN float exp_of(float x) {
	if (x < -0x1.5d589ep+6f) return 0;
	const float magic = 0x1.8p+23f; // has an integer in its last bits when it is added to one
	const float t = x * 1.44269504088896340735992468100189214f + magic;
	const float n = t - magic;
	const float r = (x - n * 0x1.63p-1f) - n * -2.12194440e-4f;
	float q = 0.001381454f * r + 0.008368745f;
	q = q * r + 0.04166839f;
	q = q * r + 0.16666521f;
	q = q * r + 0.49999994f;
	const float p = (q * (r * r) + r) + 1;
	return __uint_as_float(__float_as_uint(p) + (__float_as_uint(t) << 23));
}

// attend_soften replaces products by probabilities. A block has a row.
KERNEL __launch_bounds__(threads) attend_soften(float *scores, uint32_t group, uint32_t visible) {
	SHARED float exponentials[chunk], of_warps[threads / 32], share;
	const uint32_t tokens = tokens_of(BLOCK, group, visible);
	float *row = scores + place_of(BLOCK, group, visible);
	float greatest = -0x1.fffffep+127f;
	for (uint32_t i = THREAD; i < tokens; i += threads) greatest = max(greatest, row[i]);
	for (int by = 1; by < 32; by *= 2) greatest = max(greatest, shfl_float(greatest, by));
	if (LANE == 0) of_warps[WARP] = greatest;
	__syncthreads();
	for (uint32_t w = 0; w < threads / 32; w++) greatest = max(greatest, of_warps[w]);
	double sum = 0; // of lane THREAD, for the first eight threads
	for (uint32_t first = 0; first < tokens; first += chunk) {
		const uint32_t count = min((uint32_t)chunk, tokens - first);
		for (uint32_t i = THREAD; i < count; i += threads) {
			const float e = exp_of(row[first + i] - greatest);
			row[first + i] = e;
			exponentials[i] = e;
		}
		__syncthreads();
		if (THREAD < lanes)
#pragma unroll 8
			for (uint32_t i = THREAD; i < count; i += lanes) sum += exponentials[i];
		__syncthreads();
	}
	if (WARP == 0) {
		for (int by = 1; by < lanes; by *= 2) sum += __longlong_as_double(shfl_xor(__double_as_longlong(sum), by));
		if (LANE == 0) share = (float)(1 / sum);
	}
	__syncthreads();
	for (uint32_t i = THREAD; i < tokens; i += threads) row[i] *= share;
}

// A thread of attend_outputs copies so many probabilities and numbers of values to shared memory at a time.
enum { weights = out_rows * out_tokens / threads, numbers = out_tokens * out_columns / threads };

// attend_outputs writes for each row the sum of all values times their probabilities, in order of tokens. A block has
// 16 rows and 32 numbers of the values, a warp two of the rows.
KERNEL __launch_bounds__(threads)
attend_outputs(const float *probabilities, const float *values, uint32_t rows, uint32_t group, uint32_t visible,
               uint32_t dim, float *outputs) {
	SHARED float weight[out_rows][out_tokens], value[out_tokens][out_columns];
	const uint32_t tiles = (rows + out_rows - 1) / out_rows;
	const uint32_t row0 = BLOCK % tiles * out_rows, column = BLOCK / tiles * out_columns + LANE;
	const uint32_t tokens = tokens_of(min(row0 + out_rows, rows) - 1, group, visible); // of the last row
	const float *from[weights]; // rows of probabilities that this thread copies; behind the last row there is nothing
	uint32_t end[weights];
#pragma unroll
	for (int a = 0; a < weights; a++) {
		const uint32_t row = row0 + THREAD / out_tokens + threads / out_tokens * a;
		from[a] = probabilities + (row < rows ? place_of(row, group, visible) : 0);
		end[a] = row < rows ? tokens_of(row, group, visible) : 0;
	}
	float sums[2] = {};
	for (uint32_t first = 0; first < tokens; first += out_tokens) {
		// Behind the end of a row is 0: no sum is -0, so that adding a product of it changes nothing.
		float new_weights[weights], new_values[numbers];
#pragma unroll
		for (int a = 0; a < weights; a++) {
			const uint32_t token = first + THREAD % out_tokens;
			new_weights[a] = token < end[a] ? from[a][token] : 0;
		}
#pragma unroll
		for (int b = 0; b < numbers; b++) {
			const uint32_t token = first + WARP + threads / 32 * b;
			new_values[b] = token < tokens && column < dim ? values[(uint64_t)token * dim + column] : 0;
		}
		__syncthreads(); // the tokens before have been added
#pragma unroll
		for (int a = 0; a < weights; a++)
			weight[THREAD / out_tokens + threads / out_tokens * a][THREAD % out_tokens] = new_weights[a];
#pragma unroll
		for (int b = 0; b < numbers; b++) value[WARP + threads / 32 * b][LANE] = new_values[b];
		__syncthreads();
#pragma unroll 16
		for (uint32_t i = 0; i < out_tokens; i++) {
			const float v = value[i][LANE];
			sums[0] += weight[2 * WARP][i] * v;
			sums[1] += weight[2 * WARP + 1][i] * v;
		}
	}
#pragma unroll
	for (int a = 0; a < 2; a++) {
		const uint32_t row = row0 + 2 * WARP + a;
		if (row < rows && column < dim) outputs[(uint64_t)row * dim + column] = sums[a];
	}
}
