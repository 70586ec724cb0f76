// Target: sm_80
// Copies that arrive later, matrices of halves, and reductions: instructions from sm_80 on.
#include "device.h"

FN uint32_t address(void *p) {
	uint64_t a;
	asm("cvta.to.shared.u64 %0, %1;" : "=l"(a) : "l"(p));
	return (uint32_t)a;
}
FN void start_copy(uint4 *to, const uint4 *from) {
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(from) : "memory");
}
FN void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
FN void wait_all_but_one() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }
FN void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Two stages of 32 vectors each; each thread reads what its neighbour copied.
template <bool wait, bool barrier>
FN void stages(const uint4 *in, uint32_t *out) {
	SHARED uint4 s[2][32];
	start_copy(&s[0][THREAD], in + THREAD);
	commit();
	start_copy(&s[1][THREAD], in + 32 + THREAD);
	commit();
	if (wait) wait_all_but_one();
	if (barrier) __syncthreads();
	uint32_t v = s[0][31 - THREAD].x;
	wait_all();
	__syncthreads();
	out[THREAD] = v + s[1][31 - THREAD].w;
}
KERNEL good_stages(const uint4 *in, uint32_t *out) { stages<true, true>(in, out); }
KERNEL bad_stages_wait(const uint4 *in, uint32_t *out) { stages<false, true>(in, out); }
KERNEL bad_stages_barrier(const uint4 *in, uint32_t *out) { stages<true, false>(in, out); }

// The product of a 16 x 16 and a 16 x 8 matrix of halves, whose fragments come from shared memory: a by rows, b by
// columns.
KERNEL good_product(const uint32_t *a, const uint32_t *b, float *c) {
	SHARED __attribute__((aligned(16))) uint32_t left[16 * 8], right[8 * 8];
	for (uint32_t i = THREAD; i < 128; i += 32) left[i] = a[i];
	for (uint32_t i = THREAD; i < 64; i += 32) right[i] = b[i];
	__syncthreads();
	uint32_t x[4], y[2];
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
	             : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
	             : "r"(address(left + (LANE & 15) * 8 + (LANE >> 4) * 4)));
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
	             : "=r"(y[0]), "=r"(y[1])
	             : "r"(address(right + (LANE & 7) * 8 + (LANE >> 3 & 1) * 4)));
	float s[4] = {};
	asm volatile(
		"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
		: "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
		: "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
	uint32_t g = LANE >> 2, t = LANE & 3;
	c[g * 8 + 2 * t] = s[0], c[g * 8 + 2 * t + 1] = s[1];
	c[(g + 8) * 8 + 2 * t] = s[2], c[(g + 8) * 8 + 2 * t + 1] = s[3];
}

KERNEL good_reductions(const uint32_t *in, uint32_t *out) {
	uint32_t v = in[THREAD];
	out[THREAD] = __reduce_add_sync(ALL, v) + 3 * __reduce_min_sync(ALL, v) + 5 * __reduce_max_sync(ALL, v) +
	              7 * __reduce_or_sync(ALL, v);
}
