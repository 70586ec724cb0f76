package oracle

import "github.com/cachesim/cachesim/internal/base/memory"

// LRUStack measures reuse distances. The reuse distance is the number of other distinct objects between two requests to
// an object, and the object's depth in the stack of an LRU cache. LRU of capacity c hits exactly the requests of a
// distance below c, so one pass over the trace gives every capacity (Mattson et al., Evaluation techniques for storage
// hierarchies, IBM Systems Journal 1970).
//
// Every object seen holds one slot; a request moves its object to the next free slot, so that the slots are in order of
// last request, and the distance is the number of occupied slots above the object's old one. When the slots run out,
// the objects move together again. Time per request: the logarithm of the objects / 512, amortised. Memory: about 13
// bytes per object.
//
// Divide and conquer over the whole trace, as in Increment-and-Freeze (Bender et al., SPAA 2023), gives the same
// distances. It is slower here (docs/performance.md), and needs memory for each request.
type LRUStack struct {
	slots ranks
	next  []uint32 // per object: its slot + 1, or 0 while it has none
	seen  int      // objects seen so far: all occupied slots

	counts []int64  // per distance, or per place if there are any
	places []uint32 // per distance: where CountIn has it counted; nil: each in a place of its own
	own    []int64  // Distances

	batch [stackBatch]uint32
}

// stackBatch is how many requests are looked up, then measured, then counted together. Two of these steps touch memory
// in any order, and a processor waits for many such accesses at a time only if they follow each other closely.
const stackBatch = 1024

// NewLRUStack returns the stack for a trace of objects below numObjects.
func NewLRUStack(numObjects int) *LRUStack {
	// Twice as many slots as objects, so that they run out only every numObjects requests.
	counts := memory.Column[int64](numObjects)
	return &LRUStack{slots: newRanks(2 * numObjects), next: memory.Column[uint32](numObjects), counts: counts, own: counts}
}

// Serve processes the next requests of the trace. If counted is false, as in a warm-up, they only move the objects.
func (s *LRUStack) Serve(objects []uint32, counted bool) {
	for len(objects) > 0 {
		if s.slots.room() == 0 {
			s.slots.compact(s.next, s.seen)
		}
		n := min(len(objects), stackBatch, s.slots.room())
		moveUp(s.next, objects[:n], s.batch[:n], s.slots.end)
		distances := s.measure(s.batch[:n])
		switch {
		case !counted:
		case s.places != nil:
			for _, d := range distances {
				s.counts[s.places[d]]++
			}
		default:
			for _, d := range distances {
				s.counts[d]++
			}
		}
		objects = objects[n:]
	}
}

// measure frees the old slots of a batch, given plus 1, and returns the distances of the objects that had one, in the
// same memory. The batch's new slots are all occupied first, since the slots of later requests are above all freed
// ones.
func (s *LRUStack) measure(slots []uint32) (distances []uint32) {
	s.slots.clean(len(slots))
	s.slots.occupy(len(slots), s.seen)
	known := 0
	for _, slot := range slots {
		if slot == 0 {
			s.seen++
			continue
		}
		slots[known] = uint32(s.seen-1) - s.slots.free(slot-1)
		known++
	}
	return slots[:known]
}

// Seen returns the number of distinct objects so far, counted or not.
func (s *LRUStack) Seen() int { return s.seen }

// Distances returns, for each distance, the number of counted requests that have it; the first request to an object has
// none. The slice is the stack's own.
func (s *LRUStack) Distances() []int64 { return s.own }

// CountIn counts the distances of further requests elsewhere, each distance at its place in counts, and no longer in
// Distances.
func (s *LRUStack) CountIn(counts []int64, places []uint32) { s.counts, s.places = counts, places }
