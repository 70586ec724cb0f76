// The driver stands between the program and a policy in another module: it hands over blocks of events, and serves whole
// runs of requests where every object is charged 1. So the program is called once per block. `make wasm` builds it.
#include <stdint.h>

#define IMPORT(name) __attribute__((import_module("module"), import_name(#name)))
#define EXPORT(name) __attribute__((export_name(#name)))

IMPORT(hit) void hit(uint32_t object, int64_t size);
IMPORT(miss) void miss(uint32_t object, int64_t size);
IMPORT(admit) uint32_t admit(uint32_t object, int64_t size);
IMPORT(victim) uint32_t victim(uint32_t object, int64_t size);
IMPORT(insert) void insert(uint32_t object, int64_t size);
IMPORT(remove) void gone(uint32_t object);
IMPORT(resized) void resized(uint32_t object, int64_t size);
IMPORT(resize) void resize(int64_t capacity, uint32_t unit);
IMPORT(grow) void grow(uint32_t objects);
IMPORT(clock) void clock(int64_t time);
IMPORT(reason) void reason(uint32_t reason);

// The steps that the policy has left are a variable of its module.
asm(".globaltype steps, i64\n");
static inline void refuel(int64_t n) { asm volatile("local.get %0\n\tglobal.set steps" : : "r"(n)); }

// Numbers of events and questions, as in package events.
enum { HIT = 1, MISS, INSERT, REMOVE, RESIZED, RESIZE, GROW, VICTIM, ADMIT };

struct event {
	uint8_t kind, reason, write, zero;
	uint32_t object;
	int64_t size, time, position;
};

enum { EVENTS = 2048 };
static union {
	struct event events[EVENTS];
	uint32_t objects[EVENTS * sizeof(struct event) / sizeof(uint32_t)];
} buffer;

// What the program reads and writes.
static volatile struct {
	// Where the policy is: the place in the buffer, and the number of the event or question.
	uint32_t at, kind;
	uint32_t hits, evictions; // of replay
	uint32_t wrong;           // the victim that is not resident
	uint32_t clocked, admits; // whether the policy has these functions of its own
	uint32_t unit;            // whether capacities count objects
	uint32_t reason;          // of the last event
	int64_t steps;            // of each call
	int64_t more;             // for calls that may look at all objects
	int64_t room;             // objects that still fit
} state;

// The residents that replay knows: a bit of each object, so that those of a million take no more than a processor's
// second cache has.
extern uint32_t __heap_base[];
static uint32_t is_resident(uint32_t o) { return __heap_base[o >> 5] >> (o & 31) & 1; }
static void flip(uint32_t o) { __heap_base[o >> 5] ^= 1u << (o & 31); }

EXPORT(buffer) void *buffer_address(void) { return &buffer; }
EXPORT(state) volatile void *state_address(void) { return &state; }

// take hands over n events, the last of which may be a question, and returns its answer.
EXPORT(take) uint32_t take(uint32_t n) {
	int64_t steps = state.steps;
	for (uint32_t i = 0; i < n; i++) {
		struct event *e = &buffer.events[i];
		state.at = i;
		refuel(steps);
		state.kind = e->kind;
		if (state.clocked) clock(e->time);
		if (e->reason != state.reason) {
			state.reason = e->reason;
			reason(e->reason);
		}
		switch (e->kind) {
		case HIT: hit(e->object, e->size); break;
		case MISS: miss(e->object, e->size); break;
		case INSERT: insert(e->object, e->size); break;
		case REMOVE: gone(e->object); break;
		case RESIZED: resized(e->object, e->size); break;
		case RESIZE: refuel(steps + state.more); resize(e->size, state.unit); break;
		case GROW: state.more = 16 * e->size; refuel(steps + state.more); grow(e->size); break;
		case VICTIM: return victim(e->object, e->size);
		case ADMIT: return admit(e->object, e->size);
		}
	}
	return 0;
}

// objects makes room for objects whose residence replay knows. It returns 0 if there is no memory.
EXPORT(objects) uint32_t objects(uint32_t n) {
	return __builtin_wasm_memory_grow(0, (n / 8 + 65536ull) >> 16) != (uintptr_t)-1;
}

// replay serves n requests. It returns 0 after a victim that is not resident.
EXPORT(replay) uint32_t replay(uint32_t n, uint32_t all) {
	int64_t steps = state.steps, room = state.room;
	uint32_t hits = 0, evictions = 0, admits = state.admits;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t o = buffer.objects[i];
		state.at = i;
		refuel(steps);
		if (is_resident(o)) {
			hits++;
			state.kind = HIT;
			hit(o, 1);
			continue;
		}
		state.kind = MISS;
		miss(o, 1);
		if (admits) {
			refuel(steps);
			state.kind = ADMIT;
			if (!admit(o, 1)) continue;
		}
		if (room > 0) {
			room--;
		} else {
			refuel(steps);
			state.kind = VICTIM;
			uint32_t v = victim(o, 1);
			if (v == o && admits) continue;
			if (v >= all || !is_resident(v)) {
				state.wrong = v;
				return 0;
			}
			flip(v);
			evictions++;
		}
		refuel(steps);
		state.kind = INSERT;
		insert(o, 1);
		flip(o);
	}
	state.hits = hits, state.evictions = evictions, state.room = room;
	return 1;
}
