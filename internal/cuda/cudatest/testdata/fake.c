// A libcuda.so.1 for tests. Its device is the memory of the process, and its one kernel is "fill". FAKE_CUDA says what
// goes wrong, as words with a number after =:
//   none          there is no GPU
//   version=N     the version of CUDA, 12040 for 12.4
//   major=N       the compute capability is N.0
//   devices=N     the number of GPUs
//   memory=N      bytes of memory; an allocation above what is left fails
//   alloc=N       allocation N fails, counted from 1
//   launch=N      launch N fails at once
//   crash=N       launch N fails when it is waited for, and the device is lost
//   lost=N        from call N on, the device is lost; of the calls that need a context
//   ptx=N         from module N on, none can be compiled
//   init=N        cuInit fails with code N
//   idle          launches do nothing and succeed
//   garbage       launches fill all memory with random bytes and succeed
//   zeros         memory is 0 when it is allocated, and not 0xCC
//   deaf          copies to the device do nothing and succeed
// Like the real one it wants a context on each thread, and its addresses are valid within one allocation only.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_CONTEXT = 201,
	ECC = 214, INVALID_PTX = 218, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, NOT_SUPPORTED = 801 };

static long option(const char *name, long otherwise) {
	const char *all = getenv("FAKE_CUDA");
	size_t n = strlen(name);
	for (const char *at = all; at && (at = strstr(at, name)); at += n)
		if ((at == all || at[-1] == ',') && (at[n] == '=' || at[n] == ',' || !at[n]))
			return at[n] == '=' ? atol(at + n + 1) : 1;
	return otherwise;
}

static __thread void *current;
static CUresult sticky; // what every call returns once the device is lost
static long calls, modules, allocations, launches;
static struct { char *at; size_t bytes; } held[1000];

static int busy; // guards held
static void lock(void) { while (__sync_lock_test_and_set(&busy, 1)); }
static void unlock(void) { __sync_lock_release(&busy); }

static size_t total(void) { return option("memory", 1 << 30); }
static size_t used(void) {
	size_t sum = 0;
	for (int i = 0; i < 1000; i++) sum += held[i].at ? held[i].bytes : 0;
	return sum;
}
static int valid(CUdeviceptr at, size_t n) {
	int found = 0;
	lock();
	for (int i = 0; i < 1000 && !found; i++) {
		uintptr_t from = (uintptr_t)held[i].at;
		found = from && at >= from && at + n <= from + held[i].bytes;
	}
	unlock();
	return found;
}
static CUresult state(void) {
	if (!current) return INVALID_CONTEXT;
	if (__sync_add_and_fetch(&calls, 1) >= option("lost", 1L << 60)) sticky = ECC;
	return sticky;
}
#define CHECK { CUresult e = state(); if (e) return e; }

CUresult cuInit(unsigned flags) {
	if (option("none", 0)) return NO_DEVICE;
	return option("init", 0);
}
CUresult cuDriverGetVersion(int *v) { *v = option("version", 12040); return 0; }
CUresult cuDeviceGetCount(int *n) { *n = option("devices", 1); return 0; }
CUresult cuDeviceGet(int *d, int n) { *d = n + 7; return n < option("devices", 1) ? 0 : INVALID_DEVICE; }
CUresult cuDeviceGetName(char *s, int n, int d) { snprintf(s, n, d == 7 ? "Fake GPU" : "Fake GPU %d", d - 7); return 0; }
CUresult cuDeviceGetAttribute(int *v, int a, int d) {
	*v = a == 16 ? 4 : a == 75 ? option("major", 8) : a == 76 ? 0 : -1;
	return a != 16 && a != 75 && a != 76 ? INVALID_VALUE : 0;
}
CUresult cuDeviceTotalMem_v2(size_t *n, int d) { *n = total(); return 0; }
CUresult cuDevicePrimaryCtxSetFlags_v2(int d, unsigned flags) { return 0; }
CUresult cuDevicePrimaryCtxRetain(void **c, int d) { *c = (void *)(uintptr_t)d; return 0; }
CUresult cuDevicePrimaryCtxRelease_v2(int d) { return 0; }
CUresult cuCtxSetCurrent(void *c) { current = c; return 0; }
CUresult cuCtxSynchronize(void) { CHECK return 0; }
CUresult cuModuleLoadDataEx(void **m, const void *image, unsigned n, int *options, void **values) {
	CHECK
	if (++modules >= option("ptx", 1L << 60) || !strstr(image, ".version")) {
		snprintf(values[0], (size_t)values[1], "ptxas fatal   : line 1;\n   fake error");
		return INVALID_PTX;
	}
	*m = strdup(image);
	return 0;
}
CUresult cuModuleGetFunction(void **f, void *m, const char *name) {
	CHECK
	char entry[300];
	snprintf(entry, sizeof entry, ".entry %s(", name);
	if (!strstr(m, entry)) return NOT_FOUND;
	*f = strdup(name);
	return 0;
}
CUresult cuMemGetInfo_v2(size_t *free, size_t *all) { CHECK *all = total(); *free = *all - used(); return 0; }
static CUresult allocate(CUdeviceptr *p, size_t n) {
	if (!n) return INVALID_VALUE;
	if (++allocations == option("alloc", 0) || n > total() - used()) return OUT_OF_MEMORY;
	for (int i = 0; i < 1000; i++) {
		if (held[i].at) continue;
		held[i].bytes = n;
		held[i].at = aligned_alloc(256, (n + 255) / 256 * 256);
		memset(held[i].at, option("zeros", 0) ? 0 : 0xCC, n);
		*p = (uintptr_t)held[i].at;
		return 0;
	}
	return OUT_OF_MEMORY;
}
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) {
	CHECK
	lock();
	CUresult e = allocate(p, n);
	unlock();
	return e;
}
static CUresult release(CUdeviceptr p) {
	for (int i = 0; i < 1000; i++) {
		if (p && (uintptr_t)held[i].at == p) {
			free(held[i].at);
			held[i].at = 0;
			return 0;
		}
	}
	return INVALID_VALUE;
}
CUresult cuMemFree_v2(CUdeviceptr p) {
	CHECK
	lock();
	CUresult e = release(p);
	unlock();
	return e;
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n) {
	CHECK
	if (!valid(to, n)) return INVALID_VALUE;
	if (!option("deaf", 0)) memcpy((void *)(uintptr_t)to, from, n);
	return 0;
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n) {
	CHECK
	if (!valid(from, n)) return INVALID_VALUE;
	memcpy(to, (void *)(uintptr_t)from, n);
	return 0;
}
CUresult cuMemsetD8_v2(CUdeviceptr at, unsigned char v, size_t n) {
	CHECK
	if (!valid(at, n)) return INVALID_VALUE;
	memset((void *)(uintptr_t)at, v, n);
	return 0;
}
static void litter(void) {
	static uint32_t x = 1;
	lock();
	for (int i = 0; i < 1000; i++)
		for (size_t k = 0; held[i].at && k < held[i].bytes; k++) held[i].at[k] = (x = x * 1664525 + 1013904223) >> 24;
	unlock();
}
// fill(float64 scale, uint32 value, Pointer at, uint32 count): at[i] = value * scale, by a thread each
CUresult cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		unsigned shared, void *stream, void **parameters, void **extra) {
	CHECK
	if (++launches == option("launch", 0)) return INVALID_VALUE;
	if (launches == option("crash", 0)) { sticky = ILLEGAL_ADDRESS; return 0; }
	if (option("garbage", 0)) litter();
	if (option("garbage", 0) || option("idle", 0)) return 0;
	if (strcmp(f, "fill")) return NOT_SUPPORTED;
	if (gy * gz * by * bz != 1 || extra[0] != (void *)1 || extra[2] != (void *)2 || *(size_t *)extra[3] != 28)
		return INVALID_VALUE;
	char *a = extra[1];
	double scale;
	uint32_t value, count;
	uint64_t at;
	memcpy(&scale, a, 8);
	memcpy(&value, a + 8, 4);
	memcpy(&at, a + 16, 8);
	memcpy(&count, a + 24, 4);
	if (!valid(at, 4ull * count)) { sticky = ILLEGAL_ADDRESS; return 0; }
	for (uint64_t i = 0; i < (uint64_t)gx * bx && i < count; i++) ((uint32_t *)(uintptr_t)at)[i] = value * scale;
	return 0;
}
static const struct { CUresult code; const char *name, *text; } names[] = {
	{INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{ECC, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
	{INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
	{NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
	{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
};
CUresult cuGetErrorName(CUresult e, const char **s) {
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].code == e) { *s = names[i].name; return 0; }
	return INVALID_VALUE;
}
#ifndef WITHOUT_TEXTS
CUresult cuGetErrorString(CUresult e, const char **s) {
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].code == e) { *s = names[i].text; return 0; }
	return INVALID_VALUE;
}
#endif
