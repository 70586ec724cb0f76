package dense

// Set keeps objects in one array, so that a random one is found in constant time. Some of them may be in front of the
// others, so that a random one of either kind is. The order is arbitrary otherwise. Memory: 4 bytes per object, and 4
// per object that is present.
type Set struct {
	All   []Object
	Front int      // how many are in front
	At    []uint32 // per object: 1 + its place in All; 0 if it is absent
}

// NewSet returns an empty set of the objects 0..objects-1.
func NewSet(objects int) Set { return Set{At: make([]uint32, objects)} }

func (s *Set) Has(o Object) bool { return s.At[o] != 0 }

// Add puts o, which must be absent, behind all others.
func (s *Set) Add(o Object) {
	s.All = append(s.All, o)
	s.At[o] = uint32(len(s.All))
}

// ToFront puts o, which must be present, in front, if it is not there.
func (s *Set) ToFront(o Object) {
	if at := int(s.At[o]) - 1; at >= s.Front {
		s.Swap(at, s.Front)
		s.Front++
	}
}

// ToBack takes o, which must be in front, away from there.
func (s *Set) ToBack(o Object) {
	s.Front--
	s.Swap(int(s.At[o])-1, s.Front)
}

// Remove removes o, which must be present.
func (s *Set) Remove(o Object) {
	if int(s.At[o]) <= s.Front {
		s.ToBack(o)
	}
	last := len(s.All) - 1
	s.Swap(int(s.At[o])-1, last)
	s.All = s.All[:last]
	s.At[o] = 0
}

// Swap exchanges two places.
func (s *Set) Swap(i, j int) {
	a, b := s.All[i], s.All[j]
	s.All[i], s.All[j] = b, a
	s.At[b], s.At[a] = uint32(i+1), uint32(j+1)
}

// Clear removes all objects.
func (s *Set) Clear() {
	for _, o := range s.All {
		s.At[o] = 0
	}
	s.All, s.Front = s.All[:0], 0
}

// Grow makes room for objects up to n-1.
func (s *Set) Grow(n int) { s.At = Grown(s.At, n) }
