package oracle

import (
	"fmt"
	"math/bits"
	"slices"
)

// LRUByteStack gives LRU's hits at several capacities in bytes in one pass, for objects of different but constant
// sizes.
//
// An LRU cache that evicts from the least recent end holds the longest run of most recently requested objects that
// fits. A hit within the run does not change its members. A miss puts one object on top and evicts from the end until
// the run fits again. So a request hits exactly if its object, with all that were requested after it, fits. That fails
// if an object larger than the cache is bypassed and evicts nothing, or if an object changes its size; LRU is then not
// a stack algorithm. Hence every capacity must be at least the largest size, and smaller ones have to be replayed.
//
// Time per request: the logarithm of the objects; memory: about 30 bytes per object.
type LRUByteStack struct {
	slots      slots
	sizes      []int64 // per object
	capacities []int64 // ascending
	held       []int64 // bytes per slot
	words      fenwick // bytes per word of slots
	total      int64   // bytes of all objects seen

	counts *ByteHits // where hits are counted
	own    ByteHits

	batch [stackBatch]uint32
}

// ByteHits are hits at several capacities.
type ByteHits struct {
	hits  []int64 // per capacity: hits there and not at the previous one
	bytes []int64 // of them
}

// NewByteHits returns no hits at a number of capacities.
func NewByteHits(capacities int) *ByteHits {
	return &ByteHits{make([]int64, capacities), make([]int64, capacities)}
}

// Hits returns the hits at each capacity and their bytes.
func (h *ByteHits) Hits() (hits, hitBytes []int64) { return runningSums(h.hits), runningSums(h.bytes) }

// NewLRUByteStack returns the stack for a trace of objects with these sizes, and the capacities to count at: ascending,
// at least the largest size.
func NewLRUByteStack(sizes, capacities []int64) (*LRUByteStack, error) {
	if !slices.IsSorted(capacities) {
		return nil, fmt.Errorf("capacities are not in ascending order")
	}
	if largest := slices.Max(append([]int64{0}, sizes...)); len(capacities) > 0 && capacities[0] < largest {
		return nil, fmt.Errorf("capacity %d bytes is below the largest object, %d bytes: LRU needs a replay there",
			capacities[0], largest)
	}
	s := newSlots(len(sizes))
	stack := &LRUByteStack{
		slots: s, sizes: sizes, capacities: capacities,
		held:  make([]int64, len(s.occupied)*slotsPerWord),
		words: make(fenwick, len(s.occupied)),
		own:   *NewByteHits(len(capacities)),
	}
	stack.counts = &stack.own
	return stack, nil
}

// Serve processes the next requests of the trace. If counted is false, as in a warm-up, they only move the objects.
func (s *LRUByteStack) Serve(objects []uint32, counted bool) {
	for len(objects) > 0 {
		if s.slots.full() {
			s.compact()
		}
		n := min(len(objects), stackBatch, s.slots.room())
		old := s.batch[:n]
		s.slots.move(objects[:n], old)
		s.occupy(objects[:n])
		for i, o := range objects[:n] {
			if old[i] == 0 {
				s.total += s.sizes[o]
				continue
			}
			depth := s.release(int(old[i])-1, s.sizes[o])
			if !counted {
				continue
			}
			// Only the smallest capacity that hits is counted; Hits adds the larger ones.
			if c, _ := slices.BinarySearch(s.capacities, depth); c < len(s.capacities) {
				s.counts.hits[c]++
				s.counts.bytes[c] += s.sizes[o]
			}
		}
		objects = objects[n:]
	}
}

// Hits returns the counted hits at each capacity and their bytes.
func (s *LRUByteStack) Hits() (hits, hitBytes []int64) { return s.own.Hits() }

// CountIn counts the hits of further requests elsewhere; nil: in the stack again.
func (s *LRUByteStack) CountIn(counts *ByteHits) {
	s.counts = counts
	if counts == nil {
		s.counts = &s.own
	}
}

// Resident returns how many objects each of the caches holds now.
func (s *LRUByteStack) Resident() []int64 {
	resident := make([]int64, len(s.capacities))
	var bytes, objects int64
	k := 0 // the smaller caches are full
	for slot := s.slots.end - 1; slot >= 0; slot-- {
		if !s.slots.taken(slot) {
			continue
		}
		for bytes += s.held[slot]; k < len(resident) && bytes > s.capacities[k]; k++ {
			resident[k] = objects
		}
		objects++
	}
	for ; k < len(resident); k++ {
		resident[k] = objects
	}
	return resident
}

// occupy puts objects into the next slots before any old slot is released. That changes no depth, as the old slots
// are all below the new ones.
func (s *LRUByteStack) occupy(objects []uint32) {
	for len(objects) > 0 {
		word := s.slots.end / slotsPerWord
		n := min(len(objects), (word+1)*slotsPerWord-s.slots.end)
		var bytes int64
		for i, o := range objects[:n] {
			s.held[s.slots.end+i] = s.sizes[o]
			bytes += s.sizes[o]
		}
		s.words.add(word, bytes)
		s.slots.occupy(n)
		objects = objects[n:]
	}
}

// release frees the slot of an object of this size and returns the bytes of the object and of all that were requested
// after it.
func (s *LRUByteStack) release(slot int, size int64) (depth int64) {
	word := slot / slotsPerWord
	// held keeps the sizes of freed slots, hence the walk over occupied bits only.
	below := s.words.sum(word)
	for rest := s.slots.occupied[word] & (1<<(slot%slotsPerWord) - 1); rest != 0; rest &= rest - 1 {
		below += s.held[word*slotsPerWord+bits.TrailingZeros64(rest)]
	}
	s.slots.release(slot)
	s.words.add(word, -size)
	return s.total - below
}

// compact moves the objects together.
func (s *LRUByteStack) compact() {
	s.slots.compact()
	clear(s.words)
	for o, size := range s.sizes {
		if slot, ok := s.slots.slotOf(uint32(o)); ok {
			s.held[slot] = size
			s.words[slot/slotsPerWord] += size
		}
	}
	s.words.build()
}

// runningSums returns the sums of the first 1, 2, ... elements.
func runningSums(column []int64) []int64 {
	sums := slices.Clone(column)
	for i := 1; i < len(sums); i++ {
		sums[i] += sums[i-1]
	}
	return sums
}
