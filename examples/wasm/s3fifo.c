// S3-FIFO, equal to the program's s3fifo(rule=2024): a small queue that new objects must pass, a main one with second
// chances, and a ghost of what the small one evicted.
#include "cachesim.h"

POLICY("s3fifo", "Yang, Zhang, Qiu, Yue and Rashmi, FIFO queues are all you need for cache eviction, SOSP 2023")
PARAM(small, 0.1, x >= 0 && x <= 1)
PARAM(ghost, 0.9, x >= 0 && x <= 16)
PARAM(move, 2, x >= 0 && x <= 63)
PARAM(bits, 2, x >= 1 && x <= 6)

enum { ABSENT, GHOST, SMALL, MAIN, QUEUES };

// Of the arrays, the first elements are the ends of the queues. Object o has number o + QUEUES.
static struct { uint32_t prev, next; } *link;
static uint8_t *state;  // the queue, and the requests in it by REQUEST: a hit reads nothing else
static int64_t *charge; // by bytes
enum { QUEUE = 3, REQUEST = 4 };

static int64_t used[QUEUES], limit[QUEUES], have;
static uint32_t unit, why, returning, top, enough;

static uint32_t queue(uint32_t i) { return state[i] & QUEUE; }
static int64_t size_of(uint32_t i) { return unit ? 1 : charge[i]; }
static uint32_t last(uint32_t queue) { return link[queue].prev; }

static void put(uint32_t queue, uint32_t i) {
	uint32_t first = link[queue].next;
	link[i].prev = queue, link[i].next = first;
	link[first].prev = link[queue].next = i;
	state[i] = queue;
	used[queue] += size_of(i);
}

static void take(uint32_t i) {
	link[link[i].prev].next = link[i].next;
	link[link[i].next].prev = link[i].prev;
	used[queue(i)] -= size_of(i);
	state[i] = ABSENT;
}

// forget drops the oldest ghosts until so much fits among them.
static void forget(int64_t size) {
	while (used[GHOST] + size > limit[GHOST]) take(last(GHOST));
}

void grow(uint32_t objects) {
	int64_t want = (int64_t)objects + QUEUES;
	if (want <= have) return;
	if (want < 2 * have) want = 2 * have;
	link = room(link, have * sizeof *link, want * sizeof *link);
	state = room(state, have, want);
	charge = room(charge, have * sizeof *charge, want * sizeof *charge);
	for (uint32_t q = 0; !have && q < QUEUES; q++) link[q].prev = link[q].next = q;
	have = want;
}

static int64_t share(int64_t capacity, double factor) {
	double x = (double)capacity * factor;
	return x < 0x1p61 ? (int64_t)x : 1ll << 61;
}

void resize(int64_t capacity, uint32_t counts_objects) {
	unit = counts_objects;
	limit[GHOST] = share(capacity, ghost);
	limit[SMALL] = share(capacity, small) > 1 ? share(capacity, small) : 1;
	limit[MAIN] = capacity - limit[SMALL];
	forget(0);
	top = ((1 << (uint32_t)bits) - 1) * REQUEST, enough = (uint32_t)move * REQUEST;
}

void resized(uint32_t o, int64_t size) {
	used[queue(o + QUEUES)] += size - charge[o + QUEUES];
	charge[o + QUEUES] = size;
}

void reason(uint32_t reason) { why = reason; }

void hit(uint32_t o, int64_t size) {
	uint32_t s = state[o + QUEUES];
	if (s < top) state[o + QUEUES] = s + REQUEST; // the queue is below REQUEST, so only below the top
}

void miss(uint32_t o, int64_t size) {
	returning = queue(o + QUEUES) == GHOST;
	if (!returning) return;
	take(o + QUEUES);
	returning = why == DEMAND;
}

// An object that would take the whole small queue would make all others there leave at once.
uint32_t admit(uint32_t o, int64_t size) { return unit || size < limit[SMALL]; }

void insert(uint32_t o, int64_t size) {
	if (!unit) charge[o + QUEUES] = size;
	put(returning ? MAIN : SMALL, o + QUEUES);
}

void remove(uint32_t o) { take(o + QUEUES); }

static uint32_t evict_main(void) {
	for (;;) {
		uint32_t i = last(MAIN), requests = state[i] & ~QUEUE;
		take(i);
		if (requests == 0) return i - QUEUES;
		put(MAIN, i);
		state[i] += requests - REQUEST;
	}
}

// The victim comes from the main queue if that is over its limit, otherwise from the small one. Objects that are
// promoted meanwhile may take the main queue over its limit.
uint32_t victim(uint32_t o, int64_t size) {
	if (used[MAIN] > limit[MAIN]) return evict_main();
	for (uint32_t i; (i = last(SMALL)) != SMALL;) {
		uint32_t requests = state[i] & ~QUEUE;
		take(i);
		if (requests >= enough) {
			put(MAIN, i);
			continue;
		}
		if (size_of(i) <= limit[GHOST]) {
			forget(size_of(i));
			put(GHOST, i);
		}
		return i - QUEUES;
	}
	return evict_main();
}
