// Kernels that are wrong, each in one way, and beside each what is right (good_...). Blocks have 64 threads unless the
// test says otherwise; in has a number per thread, out room for one.
#include "device.h"

// A warp turns its numbers around through shared memory.
KERNEL good_reverse(const uint32_t *in, uint32_t *out) {
	SHARED uint32_t s[64];
	s[THREAD] = in[THREAD];
	syncwarp();
	out[THREAD] = s[WARP * 32 + 31 - LANE];
}

KERNEL bad_reverse(const uint32_t *in, uint32_t *out) {
	SHARED volatile uint32_t s[64];
	uint32_t *weak = (uint32_t *)s; // volatile would excuse it
	weak[THREAD] = in[THREAD];
	asm volatile("" ::: "memory");
	out[THREAD] = weak[WARP * 32 + 31 - LANE];
}

// The block turns its numbers around, which needs a barrier of the block.
KERNEL good_reverse_block(const uint32_t *in, uint32_t *out) {
	SHARED uint32_t s[64];
	s[THREAD] = in[THREAD];
	__syncthreads();
	out[THREAD] = s[63 - THREAD];
}

KERNEL bad_reverse_block(const uint32_t *in, uint32_t *out) {
	SHARED uint32_t s[64];
	s[63 - THREAD] = 0;
	__syncthreads();
	s[THREAD] = in[THREAD];
	syncwarp();
	out[THREAD] = s[63 - THREAD];
}

// What is read is overwritten afterwards: a barrier too few.
KERNEL bad_overwrite(const uint32_t *in, uint32_t *out) {
	SHARED uint32_t s[64];
	s[THREAD] = in[THREAD];
	__syncthreads();
	uint32_t v = s[63 - THREAD];
	asm volatile("" ::: "memory");
	s[THREAD] = v;
	out[THREAD] = v;
}

// A counter that is set to zero without a barrier before others add to it.
KERNEL good_count(const uint32_t *in, uint32_t *out) {
	SHARED uint32_t n;
	if (THREAD == 0) n = 0;
	__syncthreads();
	atomicAdd(&n, in[THREAD]);
	__syncthreads();
	out[THREAD] = n;
}

KERNEL bad_count_begin(const uint32_t *in, uint32_t *out) {
	SHARED uint32_t n;
	if (THREAD == 0) n = 0;
	syncwarp();
	atomicAdd(&n, in[THREAD]);
	__syncthreads();
	out[THREAD] = n;
}

KERNEL bad_count_end(const uint32_t *in, uint32_t *out) {
	SHARED uint32_t n;
	if (THREAD == 0) n = 0;
	__syncthreads();
	atomicAdd(&n, in[THREAD]);
	out[THREAD] = n;
}

// All lanes write to one place.
KERNEL bad_same_place(const uint32_t *in, uint32_t *out) { out[0] = in[THREAD]; }

// Neighbouring bytes belong to different threads: no race.
KERNEL good_bytes(const uint32_t *in, uint32_t *out) {
	((uint8_t *)out)[THREAD] = in[THREAD];
	__syncthreads();
	((uint8_t *)out)[THREAD] += ((uint8_t *)out)[THREAD];
}

KERNEL bad_bytes(const uint32_t *in, uint32_t *out) {
	((uint8_t *)out)[THREAD / 2] = in[THREAD];
}

// Behind the end, before the start, and between words.
KERNEL bad_end(const uint32_t *in, uint32_t *out) { out[THREAD + 1] = in[THREAD]; }
KERNEL bad_start(const uint32_t *in, uint32_t *out) { out[(int)THREAD - 1] = in[THREAD]; }
KERNEL bad_alignment(const uint32_t *in, uint32_t *out) { out[THREAD] = *(uint32_t *)((uint8_t *)in + 2); }
KERNEL bad_shared_end(const uint32_t *in, uint32_t *out) {
	SHARED uint32_t s[64];
	s[THREAD + in[0]] = in[THREAD];
	__syncthreads();
	out[THREAD] = s[THREAD];
}

// What nobody wrote: in global, shared and local memory.
KERNEL bad_unwritten(const uint32_t *in, uint32_t *out) { out[THREAD] = in[THREAD] + out[THREAD]; }
KERNEL bad_unwritten_shared(const uint32_t *in, uint32_t *out) {
	SHARED uint32_t s[64];
	if (in[THREAD]) s[THREAD] = in[THREAD];
	__syncthreads();
	out[THREAD] = s[THREAD];
}
KERNEL good_local(const uint32_t *in, uint32_t *out) {
	uint32_t a[8];
#pragma unroll 1
	for (uint32_t i = 0; i < 8; i++) a[in[i] & 7] = in[THREAD] + i;
	uint32_t sum = 0;
#pragma unroll 1
	for (uint32_t i = 0; i < 8; i++) sum += a[(in[THREAD] + i) & 7];
	out[THREAD] = sum;
}
KERNEL bad_local(const uint32_t *in, uint32_t *out) {
	uint32_t a[8];
#pragma unroll 1
	for (uint32_t i = 0; i < 7; i++) a[in[i] & 7] = in[THREAD] + i;
	uint32_t sum = 0;
#pragma unroll 1
	for (uint32_t i = 0; i < 8; i++) sum += a[(in[THREAD] + i) & 7];
	out[THREAD] = sum;
}

// Lanes that do not come together. The empty asm keeps the compiler from seeing what the branch is about.
KERNEL good_diverging(const uint32_t *in, uint32_t *out) {
	uint32_t v = in[THREAD];
	if (LANE & 1) {
		for (uint32_t i = 0; i < LANE; i++) v = v * 3 + 1;
	} else {
		v ^= 5;
	}
	out[THREAD] = ballot(v & 1) + shfl(v, 7);
}

KERNEL bad_diverging(const uint32_t *in, uint32_t *out) {
	uint32_t v = in[THREAD];
	if (LANE & 1) {
		v = __ballot_sync(ALL, v & 1);
		asm volatile("");
	} else {
		v = __ballot_sync(ALL, v & 2) + 1;
	}
	out[THREAD] = v;
}

KERNEL good_partial(const uint32_t *in, uint32_t *out) {
	uint32_t v = in[THREAD];
	uint32_t mask = ballot(LANE < 20);
	if (LANE < 20) v = __shfl_sync(mask, v, 3);
	out[THREAD] = v;
}

KERNEL bad_partial(const uint32_t *in, uint32_t *out) { // lane 25 does not take part
	uint32_t v = in[THREAD];
	uint32_t mask = ballot(LANE < 20);
	if (LANE < 20) v = __shfl_sync(mask, v, 25);
	out[THREAD] = v;
}

KERNEL bad_mask(const uint32_t *in, uint32_t *out) { // lanes outside of the mask
	out[THREAD] = __shfl_sync(0x0000ffff, in[THREAD], 3);
}

// Barriers that not all warps reach.
KERNEL bad_barrier(const uint32_t *in, uint32_t *out) {
	uint32_t v = in[THREAD];
	if (WARP == 0) {
		__syncthreads();
		v = 3;
	} else {
		asm volatile("bar.sync 1;" ::: "memory");
	}
	out[THREAD] = v;
}

KERNEL bad_barrier_lanes(const uint32_t *in, uint32_t *out) {
	uint32_t v = in[THREAD];
	if (LANE < 16) {
		asm volatile("bar.sync 0;" ::: "memory");
		v++;
	}
	syncwarp();
	out[THREAD] = v;
}

KERNEL bad_barriers_of_two_kinds(const uint32_t *in, uint32_t *out) {
	uint32_t v = in[THREAD];
	if (WARP == 0) {
		asm volatile("bar.sync 0; // first" ::: "memory");
		v = 3;
	} else {
		asm volatile("bar.sync 0; // second" ::: "memory");
	}
	out[THREAD] = v;
}

// Two warps of three exchange numbers at a barrier of their own.
KERNEL good_some_warps(const uint32_t *in, uint32_t *out) {
	SHARED uint32_t s[64];
	if (WARP == 2) return;
	s[THREAD] = in[THREAD];
	asm volatile("bar.sync 3, 64;" ::: "memory");
	out[THREAD] = s[63 - THREAD];
}

// Between blocks: what another block wrote, in the same launch.
KERNEL bad_blocks(const uint32_t *in, uint32_t *out) {
	if (BLOCK == 0) out[THREAD] = in[THREAD];
	else out[THREAD] += 1;
}

// The last block adds up what the others left, as CUDA's guide has it.
KERNEL good_blocks(const uint32_t *in, uint32_t *out, uint32_t *sums, uint32_t *done) {
	SHARED uint32_t last;
	if (THREAD == 0) {
		uint32_t sum = 0;
		for (uint32_t i = 0; i < 64; i++) sum += in[i] * (BLOCK + 1);
		sums[BLOCK] = sum;
		__threadfence();
		last = atomicAdd(done, 1) == BLOCKS - 1;
		__threadfence();
	}
	__syncthreads();
	if (!last) return;
	if (THREAD == 0) {
		uint32_t sum = 0;
		for (uint32_t b = 0; b < BLOCKS; b++) sum += sums[b];
		out[0] = sum;
	}
}

KERNEL bad_fence(const uint32_t *in, uint32_t *out, uint32_t *sums, uint32_t *done) {
	SHARED uint32_t last;
	if (THREAD == 0) {
		uint32_t sum = 0;
		for (uint32_t i = 0; i < 64; i++) sum += in[i] * (BLOCK + 1);
		sums[BLOCK] = sum;
		last = atomicAdd(done, 1) == BLOCKS - 1;
	}
	__syncthreads();
	if (!last) return;
	if (THREAD == 0) {
		uint32_t sum = 0;
		for (uint32_t b = 0; b < BLOCKS; b++) sum += sums[b];
		out[0] = sum;
	}
}

// Memory that is read as constant, and written.
KERNEL bad_constant(const uint32_t *in, uint32_t *out) {
	uint32_t v = in[THREAD];
	out[THREAD] = v;
	asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(out + THREAD) : "memory");
	out[THREAD] = v + 1;
}

KERNEL bad_endless(const uint32_t *in, uint32_t *out) {
	uint32_t n = 0;
	while (in[THREAD] != 1u << 31) {
		n++;
		asm volatile("" ::: "memory");
	}
	out[THREAD] = n;
}

KERNEL bad_division(const uint32_t *in, uint32_t *out) { out[THREAD] = 1000 / (in[THREAD] - in[7]); }
KERNEL bad_trap(const uint32_t *in, uint32_t *out) {
	if (in[THREAD] == in[9]) asm volatile("trap;");
	out[THREAD] = 0;
}

// Lanes take turns: each waits in a loop until the one before it has gone on.
KERNEL good_turns(const uint32_t *in, uint32_t *out) {
	SHARED uint32_t turn, sum;
	if (THREAD == 0) turn = sum = 0;
	__syncthreads();
	volatile uint32_t *now = &turn;
	while (*now != 63 - THREAD) {
	}
	atomicAdd(&sum, in[THREAD]);
	out[THREAD] = atomicAdd(&turn, 1);
}
