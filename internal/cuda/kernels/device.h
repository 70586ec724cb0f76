// What kernels use of CUDA, for clang without NVIDIA's toolkit; NVRTC has it built in. Beyond the names of CUDA there are
// a few short ones, at the end. Blocks and grids have one dimension.
#pragma once

#if defined(__clang__) && !defined(__NVCC__) && !defined(__CUDACC_RTC__)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;

#define INTRINSIC static __device__ __forceinline__

// Indices of threads and blocks are special registers: reading a field reads the register.
#define INDEX(type, name, reading)                                     \
	struct type {                                                      \
		__declspec(property(get = read)) unsigned x;                   \
		static __device__ inline unsigned read() { return reading(); } \
	};                                                                 \
	extern const __device__ __attribute__((weak)) type name
INDEX(ThreadIndex, threadIdx, __nvvm_read_ptx_sreg_tid_x);
INDEX(BlockIndex, blockIdx, __nvvm_read_ptx_sreg_ctaid_x);
INDEX(BlockSize, blockDim, __nvvm_read_ptx_sreg_ntid_x);
INDEX(GridSize, gridDim, __nvvm_read_ptx_sreg_nctaid_x);
#undef INDEX

// Barriers and fences. __syncthreads is built in.
INTRINSIC int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
INTRINSIC int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
INTRINSIC int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
INTRINSIC void __syncwarp(unsigned mask = ~0u) { __nvvm_bar_warp_sync(mask); }
INTRINSIC void __threadfence_block() { __nvvm_membar_cta(); }
INTRINSIC void __threadfence() { __nvvm_membar_gl(); }

// What the lanes of a warp do together. The last number of a shuffle is the lane at which its range ends, and from bit 8
// the mask of the bits of a lane's number that tell ranges of a smaller width apart.
INTRINSIC unsigned __ballot_sync(unsigned mask, int p) { return __nvvm_vote_ballot_sync(mask, p); }
INTRINSIC int __any_sync(unsigned mask, int p) { return __nvvm_vote_any_sync(mask, p); }
INTRINSIC int __all_sync(unsigned mask, int p) { return __nvvm_vote_all_sync(mask, p); }
INTRINSIC unsigned __activemask() {
	unsigned mask;
	asm volatile("activemask.b32 %0;" : "=r"(mask));
	return mask;
}
INTRINSIC unsigned __match_any_sync(unsigned mask, uint32_t v) { return __nvvm_match_any_sync_i32(mask, v); }
INTRINSIC unsigned __match_any_sync(unsigned mask, uint64_t v) { return __nvvm_match_any_sync_i64(mask, v); }

#define SHUFFLE(name, number, builtin, end)                                                                    \
	INTRINSIC int32_t name(unsigned mask, int32_t v, number by, int width = 32) {                              \
		return __nvvm_shfl_sync_##builtin##_i32(mask, v, by, ((32 - width) << 8) | (end));                     \
	}                                                                                                          \
	INTRINSIC uint32_t name(unsigned mask, uint32_t v, number by, int width = 32) {                            \
		return (uint32_t)name(mask, (int32_t)v, by, width);                                                    \
	}                                                                                                          \
	INTRINSIC uint64_t name(unsigned mask, uint64_t v, number by, int width = 32) {                            \
		uint32_t low = name(mask, (uint32_t)v, by, width), high = name(mask, (uint32_t)(v >> 32), by, width);  \
		return (uint64_t)high << 32 | low;                                                                     \
	}                                                                                                          \
	INTRINSIC int64_t name(unsigned mask, int64_t v, number by, int width = 32) {                              \
		return (int64_t)name(mask, (uint64_t)v, by, width);                                                    \
	}                                                                                                          \
	INTRINSIC float name(unsigned mask, float v, number by, int width = 32) {                                  \
		return __nvvm_shfl_sync_##builtin##_f32(mask, v, by, ((32 - width) << 8) | (end));                     \
	}
SHUFFLE(__shfl_sync, int, idx, 31)
SHUFFLE(__shfl_up_sync, unsigned, up, 0)
SHUFFLE(__shfl_down_sync, unsigned, down, 31)
SHUFFLE(__shfl_xor_sync, int, bfly, 31)
#undef SHUFFLE

// Sums and extremes over a warp, from sm_80 on.
#if __CUDA_ARCH__ >= 800
INTRINSIC unsigned __reduce_add_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_add(v, mask); }
INTRINSIC unsigned __reduce_min_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_umin(v, mask); }
INTRINSIC unsigned __reduce_max_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_umax(v, mask); }
INTRINSIC unsigned __reduce_or_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_or(v, mask); }
#endif

// Atomic operations return the former value.
INTRINSIC uint32_t atomicAdd(uint32_t *p, uint32_t v) { return __nvvm_atom_add_gen_i((int *)p, v); }
INTRINSIC int32_t atomicAdd(int32_t *p, int32_t v) { return __nvvm_atom_add_gen_i(p, v); }
INTRINSIC uint64_t atomicAdd(uint64_t *p, uint64_t v) { return __nvvm_atom_add_gen_ll((long long *)p, v); }
INTRINSIC float atomicAdd(float *p, float v) { return __nvvm_atom_add_gen_f(p, v); }
INTRINSIC uint32_t atomicMin(uint32_t *p, uint32_t v) { return __nvvm_atom_min_gen_ui(p, v); }
INTRINSIC uint64_t atomicMin(uint64_t *p, uint64_t v) { return __nvvm_atom_min_gen_ull(p, v); }
INTRINSIC uint32_t atomicMax(uint32_t *p, uint32_t v) { return __nvvm_atom_max_gen_ui(p, v); }
INTRINSIC uint64_t atomicMax(uint64_t *p, uint64_t v) { return __nvvm_atom_max_gen_ull(p, v); }
INTRINSIC uint32_t atomicAnd(uint32_t *p, uint32_t v) { return __nvvm_atom_and_gen_i((int *)p, v); }
INTRINSIC uint32_t atomicOr(uint32_t *p, uint32_t v) { return __nvvm_atom_or_gen_i((int *)p, v); }
INTRINSIC uint64_t atomicOr(uint64_t *p, uint64_t v) { return __nvvm_atom_or_gen_ll((long long *)p, v); }
INTRINSIC uint32_t atomicExch(uint32_t *p, uint32_t v) { return __nvvm_atom_xchg_gen_i((int *)p, v); }
INTRINSIC uint64_t atomicExch(uint64_t *p, uint64_t v) { return __nvvm_atom_xchg_gen_ll((long long *)p, v); }
INTRINSIC uint32_t atomicCAS(uint32_t *p, uint32_t from, uint32_t to) {
	return __nvvm_atom_cas_gen_i((int *)p, from, to);
}
INTRINSIC uint64_t atomicCAS(uint64_t *p, uint64_t from, uint64_t to) {
	return __nvvm_atom_cas_gen_ll((long long *)p, from, to);
}

// Bits and arithmetic.
INTRINSIC int __popc(uint32_t v) { return __builtin_popcount(v); }
INTRINSIC int __popcll(uint64_t v) { return __builtin_popcountll(v); }
INTRINSIC int __clz(int32_t v) { return v ? __builtin_clz(v) : 32; }
INTRINSIC int __clzll(int64_t v) { return v ? __builtin_clzll(v) : 64; }
INTRINSIC int __ffs(int32_t v) { return __builtin_ffs(v); }
INTRINSIC int __ffsll(int64_t v) { return __builtin_ffsll(v); }
INTRINSIC uint32_t __brev(uint32_t v) { return __builtin_bitreverse32(v); }
INTRINSIC uint32_t __umulhi(uint32_t a, uint32_t b) { return (uint64_t)a * b >> 32; }
INTRINSIC uint64_t __umul64hi(uint64_t a, uint64_t b) { return (unsigned __int128)a * b >> 64; }
INTRINSIC float __uint_as_float(uint32_t v) { return __builtin_bit_cast(float, v); }
INTRINSIC uint32_t __float_as_uint(float v) { return __builtin_bit_cast(uint32_t, v); }
INTRINSIC double __longlong_as_double(int64_t v) { return __builtin_bit_cast(double, v); }
INTRINSIC int64_t __double_as_longlong(double v) { return __builtin_bit_cast(int64_t, v); }
INTRINSIC float __fmaf_rn(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
INTRINSIC double __fma_rn(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
template <class T> INTRINSIC T min(T a, T b) { return b < a ? b : a; }
template <class T> INTRINSIC T max(T a, T b) { return a < b ? b : a; }
// __ldg reads what no thread of the kernel writes.
template <class T> INTRINSIC T __ldg(const T *p) { return *p; }

// Four and two words that are read and written at once.
struct alignas(8) uint2 { uint32_t x, y; };
struct alignas(16) uint4 { uint32_t x, y, z, w; };
INTRINSIC uint2 make_uint2(uint32_t x, uint32_t y) { return uint2{x, y}; }
INTRINSIC uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return uint4{x, y, z, w}; }
#undef INTRINSIC

#elif defined(__CUDACC_RTC__)
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
#else
#error "compile with clang (make kernels) or NVRTC"
#endif

#define KERNEL extern "C" __global__ void
#define FN static __device__ __forceinline__
#define SHARED __shared__ // a variable of the block
#define THREAD threadIdx.x
#define THREADS blockDim.x
#define BLOCK blockIdx.x
#define BLOCKS gridDim.x
#define LANE (threadIdx.x & 31)
#define WARP (threadIdx.x >> 5)
#define WARPS (blockDim.x >> 5)
#define ALL 0xffffffffu // the mask of a whole warp

#define ballot(p) __ballot_sync(ALL, (p))
#define shfl(v, lane) __shfl_sync(ALL, (v), (lane))
#define shfl_xor(v, mask) __shfl_xor_sync(ALL, (v), (mask))
#define syncwarp() __syncwarp(ALL)
