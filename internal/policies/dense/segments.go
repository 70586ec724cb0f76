package dense

// Segments are lists that know the total charge of their objects, and the limit on it. Enforcing the limits is left to
// the policy. An object is in one segment at a time. Memory: 9 bytes per object, and 8 more if sizes count.
type Segments struct {
	List    Lists
	Segment []uint8 // per object: 1 + its segment; 0 if it is in none
	Charged Charges
	Used    []int64 // per segment
	Limit   []int64 // per segment
}

// NewSegments returns one empty segment per limit.
func NewSegments(objects int, unit bool, limit ...int64) Segments {
	return Segments{
		List:    NewLists(objects, len(limit)),
		Segment: make([]uint8, objects),
		Charged: NewCharges(objects, unit),
		Used:    make([]int64, len(limit)),
		Limit:   limit,
	}
}

func (s *Segments) Grow(objects int) {
	s.List.Grow(objects)
	s.Segment = Grown(s.Segment, objects)
	s.Charged.Grow(objects)
}

// Trim drops the oldest ghosts of segment k that do not fit.
func (s *Segments) Trim(k int) {
	for s.Used[k] > s.Limit[k] {
		s.Pop(k)
	}
}

// Load records what o is charged and puts it at the front of segment k.
func (s *Segments) Load(k int, o Object, size int64) {
	s.Charged.Set(o, size)
	s.Put(k, o)
}

// Put puts o, which is in no segment, at the front of segment k.
func (s *Segments) Put(k int, o Object) {
	s.List.PushFront(k, o)
	s.Segment[o] = uint8(k + 1)
	s.Used[k] += s.Charged.Of(o)
}

func (s *Segments) Take(o Object) {
	s.List.Unlink(o)
	s.Used[s.Segment[o]-1] -= s.Charged.Of(o)
	s.Segment[o] = 0
}

// Resized implements policies.SizeFollower, leaving the limits to the policy.
func (s *Segments) Resized(o Object, size int64) { s.Used[s.Segment[o]-1] += s.Charged.Change(o, size) }

func (s *Segments) Renew(o Object) {
	s.List.MoveToFront(int(s.Segment[o])-1, o)
}

// Pop removes the last object of segment k; ok is false if the segment is empty.
func (s *Segments) Pop(k int) (o Object, ok bool) {
	if s.List.Empty(k) {
		return 0, false
	}
	o = s.List.PopBack(k)
	s.Used[k] -= s.Charged.Of(o)
	s.Segment[o] = 0
	return o, true
}

// NoSegment is the segment of an object that is in none.
const NoSegment = -1

// Of returns the segment of o.
func (s *Segments) Of(o Object) int { return int(s.Segment[o]) - 1 }

func (s *Segments) Has(o Object) bool       { return s.Segment[o] != 0 }
func (s *Segments) In(k int, o Object) bool { return int(s.Segment[o]) == k+1 }

// Remember puts o, which is being evicted, into the ghost segment k, and drops the oldest ghosts that no longer fit.
func (s *Segments) Remember(k int, o Object) {
	if s.Charged.Of(o) > s.Limit[k] {
		return
	}
	for s.Used[k]+s.Charged.Of(o) > s.Limit[k] {
		s.Pop(k)
	}
	s.Put(k, o)
}
