// Functions of three words that a CPU and the interpreter must compute alike, bit by bit. TWIN declares one, and EACH
// has their names. Nothing here is undefined in C, but for NaNs, whose bits differ: they are replaced by one.
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

TWIN static inline float f(u64 x) { float y; u32 z = (u32)x; __builtin_memcpy(&y, &z, 4); return y; }
TWIN static inline double d(u64 x) { double y; __builtin_memcpy(&y, &x, 8); return y; }
TWIN static inline u64 of(float x) { u32 y; if (x != x) return 1; __builtin_memcpy(&y, &x, 4); return y; }
TWIN static inline u64 od(double x) { u64 y; if (x != x) return 1; __builtin_memcpy(&y, &x, 8); return y; }
// whole returns a double that fits into 30 bits.
TWIN static inline double whole(double x) { return x != x || x > 1e9 || x < -1e9 ? 77.5 : x; }
// chosen takes different ways for different words.
TWIN static inline u64 chosen(u64 a, u64 b, u64 c) {
	switch (a & 15) {
	case 0: return b + c;
	case 1: return b - c;
	case 2: return b * c;
	case 3: return b ^ c;
	case 4: return b >> (c & 31);
	case 5: return b << (c & 31);
	case 6: return (u32)b * (u64)(u32)c;
	case 7: return b / (c | 1);
	case 8: return b % (c | 1);
	case 9: return ~b & c;
	case 10: return b < c;
	default: return b > c ? b - c : c - b;
	}
}
// loops takes as many turns as its first word says, and leaves early or goes on for some words.
TWIN static inline u64 loops(u64 a, u64 b, u64 c) {
	u64 sum = b;
	for (u64 i = 0; i < (a & 63); i++) {
		if ((sum ^ c) % 7 == 0) continue;
		if (sum % 31 == 5) break;
		for (u64 j = i; j < (b & 7); j++) sum += j * c ^ sum >> 3;
		sum = sum * 3 + i;
	}
	return sum;
}

#define FUNCTIONS \
	X(add32, (u32)a + (u32)b) X(add64, a + b + c) X(sub32, (u32)((u32)a - (u32)b)) X(mul32, (u32)a * (u32)b) \
	X(mul64, a * b) X(mulwide, (u64)(u32)a * (u32)b) X(mulswide, (s64)(s32)a * (s32)b) \
	X(mulhi, (u64)((unsigned __int128)a * b >> 64)) X(mulshi, (u64)((__int128)(s64)a * (s64)b >> 64)) \
	X(mad, (u32)a * (u32)b + (u32)c) X(div32, (u32)a / ((u32)b | 1)) X(rem32, (u32)a % ((u32)b | 1)) \
	X(div64, a / (b | 1)) X(rem64, a % (b | 1)) X(sdiv32, (s32)a / ((s32)(b & 0xffff) | 1)) \
	X(srem32, (s32)a % ((s32)(b & 0xffff) | 1)) X(sdiv64, (s64)a / ((s64)(b & 0xffffff) | 1)) \
	X(srem64, (s64)a % ((s64)(b & 0xffffff) | 1)) X(tenth, (u32)a / 10) X(stenth, (s32)a / 10) \
	X(thousandth, a / 1000) X(shl32, (u32)a << (b & 31)) X(shl64, a << (b & 63)) \
	X(shr32, (u32)a >> (b & 31)) X(shr64, a >> (b & 63)) \
	X(sar32, (s32)a >> (b & 31)) X(sar64, (s64)a >> (b & 63)) X(shl8, (u8)(a << (b & 7))) X(sar16, (s16)a >> (b & 15)) \
	X(rotate, (u32)a << (b & 31) | (u32)a >> (-b & 31)) X(rotate64, a << 13 | a >> 51) \
	X(popc, __builtin_popcount((u32)a)) X(popc64, __builtin_popcountll(a)) X(clz, __builtin_clz((u32)a | 1)) \
	X(clz64, __builtin_clzll(a | 1)) X(ctz, __builtin_ctz((u32)a | 1u << 31)) X(ctz64, __builtin_ctzll(a | 1ull << 63)) \
	X(swap, __builtin_bswap32((u32)a)) X(swap64, __builtin_bswap64(a)) X(field, (u32)a >> 7 & 0x1ff) \
	X(sfield, (s32)((u32)a << 5) >> 21) X(field64, a >> 13 & 0x3ffff) X(insert, (a & ~0xff0ull) | (b & 0xff) << 4) \
	X(min32, (u32)a < (u32)b ? (u32)a : (u32)b) X(smin, (s32)a < (s32)b ? (s32)a : (s32)b) X(max64, a > b ? a : b) \
	X(smax64, (s64)a > (s64)b ? a : b) X(absolute, (s32)a < 0 ? 0 - (u32)a : (u32)a) \
	X(less, (s32)a < (s32)b) X(below, (u32)a < (u32)b) X(less16, (s16)a < (s16)b) X(less8, (s8)a < (s8)b) \
	X(between, a > b && a < c || (u32)a == (u32)c) X(exclusive, (a < b) ^ (b < c)) \
	X(s8to64, (s64)(s8)a) X(s16to32, (u32)(s16)a) X(u8to64, (u8)a) X(s32to64, (s64)(s32)a) \
	X(fadd, of(f(a) + f(b))) X(fsub, of(f(a) - f(b))) X(fmul, of(f(a) * f(b))) X(fdiv, of(f(a) / f(b))) \
	X(dadd, od(d(a) + d(b))) X(dsub, od(d(a) - d(b))) X(dmul, od(d(a) * d(b))) X(ddiv, od(d(a) / d(b))) \
	X(ffma, of(__builtin_fmaf(f(a), f(b), f(c)))) X(dfma, od(__builtin_fma(d(a), d(b), d(c)))) \
	X(fchain, of(f(a) * f(b) + f(c) * f(a))) X(dchain, od(d(a) * d(b) + d(c) * d(a))) \
	X(fless, f(a) < f(b)) X(fgreater, !(f(a) <= f(b))) X(fequal, f(a) == f(b)) X(fdiffer, f(a) != f(b)) \
	X(dless, d(a) < d(b)) X(dmore, !(d(a) < d(b))) X(dordered, d(a) == d(a) && d(b) == d(b)) \
	X(widen, od((double)f(a))) X(narrow, of((float)d(a))) X(fneg, of(-f(a))) X(dabs, od(__builtin_fabs(d(a)))) \
	X(u32f, of((float)(u32)a)) X(s32f, of((float)(s32)a)) X(u64f, of((float)a)) X(s64f, of((float)(s64)a)) \
	X(u32d, od((double)(u32)a)) X(s32d, od((double)(s32)a)) X(u64d, od((double)a)) X(s64d, od((double)(s64)a)) \
	X(u16f, of((float)(u16)a)) X(s8f, of((float)(s8)a)) X(ds32, (s32)whole(d(a))) X(fs32, (s32)whole(f(a))) \
	X(fs64, (s64)whole(f(a))) X(du64, (u64)__builtin_fabs(whole(d(a)))) X(fu32, (u32)__builtin_fabs(whole(f(a)))) \
	X(choose, a & 1 ? b : c) X(way, chosen(a, b, c)) X(turns, loops(a, b, c))

#define X(name, value) \
	TWIN static inline u64 twin_##name(u64 a, u64 b, u64 c) { (void)b, (void)c; return (u64)(value); }
FUNCTIONS
#undef X

// evaluate writes the results of all functions.
TWIN static inline void evaluate(const u64 *in, u64 *out) {
#define X(name, value) *out++ = twin_##name(in[0], in[1], in[2]);
	FUNCTIONS
#undef X
}

enum {
#define X(name, value) count_##name,
	FUNCTIONS
#undef X
	functions
};
