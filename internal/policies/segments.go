package policies

import "github.com/cachesim/cachesim/internal/policies/dense"

// segments are lists that know the total charge of their objects, and the limit on it. Enforcing the limits is left to
// the policy. An object is in one segment at a time. Memory: 9 bytes per object, and 8 more if sizes count.
type segments struct {
	list    dense.Lists
	segment []uint8 // per object: 1 + its segment; 0 if it is in none
	charged dense.Charges
	used    []int64 // per segment
	limit   []int64 // per segment
}

// newSegments returns one empty segment per limit.
func newSegments(c Config, limit ...int64) segments {
	return segments{
		list:    dense.NewLists(c.Objects, len(limit)),
		segment: make([]uint8, c.Objects),
		charged: dense.NewCharges(c.Objects, c.Unit),
		used:    make([]int64, len(limit)),
		limit:   limit,
	}
}

func (s *segments) Grow(objects int) {
	s.list.Grow(objects)
	s.segment = dense.Grown(s.segment, objects)
	s.charged.Grow(objects)
}

// trim drops the oldest ghosts of segment k that do not fit.
func (s *segments) trim(k int) {
	for s.used[k] > s.limit[k] {
		s.pop(k)
	}
}

// load records what r's object is charged and puts it at the front of segment k.
func (s *segments) load(k int, r Request) {
	s.charged.Set(r.Object, r.Size)
	s.put(k, r.Object)
}

// put puts o, which is in no segment, at the front of segment k.
func (s *segments) put(k int, o Object) {
	s.list.PushFront(k, o)
	s.segment[o] = uint8(k + 1)
	s.used[k] += s.charged.Of(o)
}

func (s *segments) take(o Object) {
	s.list.Unlink(o)
	s.used[s.segment[o]-1] -= s.charged.Of(o)
	s.segment[o] = 0
}

// Resized implements SizeFollower, leaving the limits to the policy.
func (s *segments) Resized(o Object, size int64) { s.used[s.segment[o]-1] += s.charged.Change(o, size) }

func (s *segments) renew(o Object) {
	s.list.MoveToFront(int(s.segment[o])-1, o)
}

// pop removes the last object of segment k; ok is false if the segment is empty.
func (s *segments) pop(k int) (o Object, ok bool) {
	if o, ok = s.list.Back(k); ok {
		s.take(o)
	}
	return o, ok
}

func (s *segments) in(k int, o Object) bool { return int(s.segment[o]) == k+1 }

// remember puts o, which is being evicted, into the ghost segment k, and drops the oldest ghosts that no longer fit.
func (s *segments) remember(k int, o Object) {
	if s.charged.Of(o) > s.limit[k] {
		return
	}
	for s.used[k]+s.charged.Of(o) > s.limit[k] {
		s.pop(k)
	}
	s.put(k, o)
}
