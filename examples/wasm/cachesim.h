// A policy of cachesim in C, as a module of WebAssembly. docs/policies-own.md says when each function is called.
#pragma once
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(#name)))

// Every policy has these five. victim chooses a resident object, and forgets it.
EXPORT(hit) void hit(uint32_t object, int64_t size);
EXPORT(miss) void miss(uint32_t object, int64_t size);
EXPORT(victim) uint32_t victim(uint32_t object, int64_t size);
EXPORT(insert) void insert(uint32_t object, int64_t size);
EXPORT(remove) void remove(uint32_t object);

// A policy may have these, too.
EXPORT(admit) uint32_t admit(uint32_t object, int64_t size);  // 0: do not load what was missed
EXPORT(grow) void grow(uint32_t objects);                     // all objects are below this
EXPORT(resize) void resize(int64_t capacity, uint32_t unit);  // unit: 1 if it counts objects, 0 if bytes
EXPORT(resized) void resized(uint32_t object, int64_t size);  // a write changed the size of a resident
EXPORT(seed) void seed(uint64_t seed);                        // for random choices, which have no other source
EXPORT(clock) void clock(int64_t nanoseconds);                // the time of what is reported next
EXPORT(reason) void reason(uint32_t reason);                  // why, from now on: one of these
enum { DEMAND, PREFETCH, RESTORE, SHRINK };
enum { NONE = UINT32_MAX }; // the object of victim where no object needs the room

// PARAM(small, 0.1, x >= 0) is the parameter of wasm(file=my.wasm,small=0.2): a static double with a default, and a
// condition for what users may write.
#define PARAM(name, value, accepted)                                 \
	static double name = value;                                        \
	EXPORT(param_##name) double param_##name(double x) {               \
		if (x == x) name = (accepted) ? x : __builtin_nan("");           \
		return name;                                                     \
	}

// POLICY("name", "the paper or page that defines it")
#define POLICY(called, defined)                                      \
	EXPORT(name) const char *name(void) { return called; }             \
	EXPORT(source) const char *source(void) { return defined; }

// room makes an array larger, from so many bytes to as many more, which are zeros. It returns its new address.
static inline void *room(const void *old, uint64_t have, uint64_t want) {
	extern unsigned char __heap_base;
	static uint64_t used;
	uint64_t at = used ? used : ((uintptr_t)&__heap_base + 15) & ~15ull;
	uint64_t size = (uint64_t)__builtin_wasm_memory_size(0) << 16;
	used = (at + want + 15) & ~15ull;
	if (used > size) __builtin_wasm_memory_grow(0, (used - size + 65535) >> 16);
	for (uint64_t i = 0; i < have; i++) ((char *)(uintptr_t)at)[i] = ((const char *)old)[i];
	return (void *)(uintptr_t)at;
}
