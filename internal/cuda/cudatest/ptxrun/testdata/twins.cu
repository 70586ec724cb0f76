// The functions of twins.h, each thread for its own three words.
#include "device.h"
#define TWIN __device__
#include "twins.h"

KERNEL twins(const uint64_t *in, uint64_t *out, uint32_t n) {
	uint32_t i = BLOCK * THREADS + THREAD;
	if (i < n) evaluate(in + 3 * i, out + functions * i);
}
