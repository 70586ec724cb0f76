// Package slabs is replacement in the slots of a set-associative cache, as the slab hash of HugeCTR does it
// (NVIDIA-Merlin/HugeCTR, gpu_cache). A key may use the slots of one set only, which are divided into slabs of a few
// lanes each. Requests come in batches: all of a batch are looked up before its misses are loaded.
//
// LRU is HugeCTR's own replacement. Ranked follows predictions among the objects that LRU would evict first, as far as
// a Rule allows. Both are mechanisms, not policies: policies for caches of sets are built on one of them, and package
// policies, the contract, names the Geometry that these get.
package slabs

import "math"

// Object is the dense number of an object, as in package policies.
type Object = uint32

// MaxWays is the largest number of slots in a set: they are marked in the bits of one word.
const MaxWays = 64

// Geometry says where each object may be stored.
type Geometry struct {
	Sets  int
	Ways  int // slots of a set, at most MaxWays
	Slabs int
	Lanes int      // slots of a slab; the last slabs of a single small set may have fewer
	Home  []uint32 // per object: its set*Slabs + the slab that is probed first
}

// SetOf returns the set of an object.
func (g *Geometry) SetOf(o Object) int { return int(g.Home[o] / uint32(g.Slabs)) }

// Slots store the objects of all sets, slab by slab. Each slab is filled from its first lane on and never emptied
// again. Memory: 4 bytes per object, and per slot, and the bytes of Geometry.
type Slots struct {
	*Geometry
	shift int // a set begins at slot set<<shift
	// per object: its slot plus 1; 0 if it is absent; missing between its miss and the end of the batch
	place  []uint32
	owner  []Object // per slot
	filled []uint8  // per slab: slots in use
	missed []Object // of the current batch, in order of their first lookups
}

// missing is the place of an object that the current batch has missed.
const missing = math.MaxUint32

func newSlots(g *Geometry) Slots {
	s := Slots{Geometry: g, place: make([]uint32, len(g.Home)), filled: make([]uint8, g.Sets*g.Slabs)}
	for 1<<s.shift < g.Ways {
		s.shift++
	}
	s.owner = make([]Object, g.Sets<<s.shift)
	return s
}

// Resident reports whether an object is in a slot.
func (s *Slots) Resident(o Object) bool { return s.place[o] != 0 && s.place[o] != missing }

func (s *Slots) Used() (used int64) {
	for _, n := range s.filled {
		used += int64(n)
	}
	return used
}

// Missed returns what the current batch has missed so far, each object once. The slice is valid until Load.
func (s *Slots) Missed() []Object { return s.missed }

// Keep makes the others of what the current batch has missed absent, so that Load does not load them.
func (s *Slots) Keep(admitted func(o Object) bool) {
	kept := s.missed[:0]
	for _, o := range s.missed {
		if admitted(o) {
			kept = append(kept, o)
		} else {
			s.place[o] = 0
		}
	}
	s.missed = kept
}

// home returns the set of an object and the slab that is probed first.
func (g *Geometry) home(o Object) (set, slab int) {
	home := g.Home[o]
	return int(home / uint32(g.Slabs)), int(home % uint32(g.Slabs))
}

// vacant takes a free slot of the set and returns it, probing slab by slab from first on. ok is false if the set is
// full.
func (s *Slots) vacant(set, first int) (slot int, ok bool) {
	for distance := range s.Slabs {
		slab := (first + distance) % s.Slabs
		room := min(s.Lanes, s.Ways-slab*s.Lanes)
		if lane := int(s.filled[set*s.Slabs+slab]); lane < room {
			s.filled[set*s.Slabs+slab]++
			return set<<s.shift + slab*s.Lanes + lane, true
		}
	}
	return 0, false
}

// fill puts o into a slot; the object that was there becomes absent.
func (s *Slots) fill(slot int, o Object, evict bool) {
	if evict {
		s.place[s.owner[slot]] = 0
	}
	s.owner[slot] = o
	s.place[o] = uint32(slot) + 1
}
