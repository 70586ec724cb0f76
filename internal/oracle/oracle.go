package oracle

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/memory"
)

// Never is the next-use position of an object that is not requested again.
const Never = math.MaxUint32

// NextUse returns for each position of the trace the position of the next request to the same object, or Never. Every
// object must be below numObjects. Time: one backward pass; memory: 4 bytes per request and, while it runs, per object.
func NextUse(objects []uint32, numObjects int) []uint32 {
	next := memory.Column[uint32](len(objects))
	soonest := make([]uint32, numObjects)
	for o := range soonest {
		soonest[o] = Never
	}
	for i := len(objects) - 1; i >= 0; i-- {
		o := objects[i]
		next[i] = soonest[o]
		soonest[o] = uint32(i)
	}
	return next
}
