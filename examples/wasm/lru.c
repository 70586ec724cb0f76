// LRU: evicts the object that was requested longest ago.
#include "cachesim.h"

POLICY("lru", "Denning, The working set model for program behavior, CACM 1968")

// A ring by recency: object o is link[o + 1], and link[0] is its ends.
static struct { uint32_t prev, next; } *link;

static void unlink(uint32_t i) {
	link[link[i].prev].next = link[i].next;
	link[link[i].next].prev = link[i].prev;
}

static void push(uint32_t i) {
	uint32_t first = link[0].next;
	link[i].prev = 0, link[i].next = first;
	link[first].prev = link[0].next = i;
}

void grow(uint32_t objects) {
	static uint64_t have;
	uint64_t want = (objects + 1ull) * sizeof *link;
	if (want <= have) return;
	if (want < 2 * have) want = 2 * have;
	link = room(link, have, want);
	have = want;
}
void miss(uint32_t o, int64_t size) {}
void insert(uint32_t o, int64_t size) { push(o + 1); }
void remove(uint32_t o) { unlink(o + 1); }
void hit(uint32_t o, int64_t size) {
	unlink(o + 1);
	push(o + 1);
}
uint32_t victim(uint32_t o, int64_t size) {
	uint32_t last = link[0].prev;
	unlink(last);
	return last - 1;
}
