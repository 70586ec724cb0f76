package oracle

// LRUStack measures reuse distances: how many other distinct objects are requested between two requests to an object,
// which is the object's depth in the stack of an LRU cache. LRU of capacity c hits exactly the requests of a distance
// below c (Mattson et al., Evaluation techniques for storage hierarchies, IBM Systems Journal 1970), so that one pass
// over the trace gives it at every capacity.
//
// Every object seen holds one slot; a request moves its object to the next free slot, so that the slots are in order of
// last request, and the distance is the number of occupied slots above the object's old one. Occupied slots are bits,
// counted a word at a time within a block of 512 slots and by a Fenwick tree over the blocks before. When the slots run
// out, the objects move together again. Time per request: the logarithm of the objects / 512, amortised. Memory: about
// 13 bytes per object.
type LRUStack struct {
	slots  slots
	blocks fenwick // occupied slots of each finished block; the block that is being filled is not in it yet
	seen   int     // objects seen so far: all occupied slots

	counts []int64 // per distance
	cold   int64
}

// NewLRUStack returns the stack for a trace of objects below numObjects.
func NewLRUStack(numObjects int) *LRUStack {
	s := &LRUStack{slots: newSlots(numObjects), counts: make([]int64, numObjects)}
	s.blocks = make(fenwick, len(s.slots.occupied)/wordsPerBlock)
	return s
}

// Serve processes the next requests of the trace. If counted is false, as in a warm-up, they only move the objects.
func (s *LRUStack) Serve(objects []uint32, counted bool) {
	for _, o := range objects {
		distance, seen := s.request(o)
		switch {
		case !counted:
		case seen:
			s.counts[distance]++
		default:
			s.cold++
		}
	}
}

// Seen returns the number of distinct objects so far, counted or not.
func (s *LRUStack) Seen() int { return s.seen }

// Cold returns the counted requests that are the first to their object: they miss at every capacity.
func (s *LRUStack) Cold() int64 { return s.cold }

// Distances returns, for each distance, the number of counted requests that have it. The slice is the stack's own.
func (s *LRUStack) Distances() []int64 { return s.counts }

// Hits returns LRU's hits for every capacity in objects, from 0 to the number of objects; larger ones hit no more than
// the last.
func (s *LRUStack) Hits() []int64 {
	return append([]int64{0}, runningSums(s.counts)...)
}

// request moves o to the top and returns how many objects were above it; seen is false where o is new.
func (s *LRUStack) request(o uint32) (distance int, seen bool) {
	p := &s.slots
	slot, seen := p.slotOf(o)
	if seen {
		distance = s.above(slot)
		p.release(o, slot)
		if block := slot / slotsPerBlock; block < p.end/slotsPerBlock {
			s.blocks.add(block, -1)
		}
	} else {
		s.seen++
	}
	if p.full() {
		p.compact()
		s.countBlocks()
	}
	p.push(o)
	if p.end%slotsPerBlock == 0 {
		s.blocks.add(p.end/slotsPerBlock-1, int64(p.count(p.end-slotsPerBlock, p.end)))
	}
	return distance, seen
}

// above counts the occupied slots above slot.
func (s *LRUStack) above(slot int) int {
	p := &s.slots
	block := slot / slotsPerBlock
	if block == p.end/slotsPerBlock {
		return p.count(slot+1, p.end)
	}
	return s.seen - int(s.blocks.sum(block)) - p.count(block*slotsPerBlock, slot+1)
}

// countBlocks fills the tree after the slots were compacted: full blocks, and then none.
func (s *LRUStack) countBlocks() {
	clear(s.blocks)
	for block := range s.slots.end / slotsPerBlock {
		s.blocks.add(block, slotsPerBlock)
	}
}
