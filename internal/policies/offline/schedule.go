package offline

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// schedule knows when each object is requested next, for policies that see the whole trace. Of an object that has been
// requested that is what Config.NextUse said then. Memory: 4 bytes per object after the first miss.
type schedule struct {
	nextUse  []uint32
	sequence []policies.Object // nil where it is not known
	objects  int
	due      []uint32 // per object: position of its next request, or Never; 0 where it was not requested so far
	ahead    bool     // due has the first requests of those that come later
}

func newSchedule(c policies.Config) *schedule {
	return &schedule{nextUse: c.NextUse, sequence: c.Sequence, objects: c.Objects}
}

// pass notes a request of the trace.
func (s *schedule) pass(r policies.Request) { s.due[r.Object] = s.nextUse[r.Pos] }

// miss notes that r's object is missing, and finds out when it is needed.
func (s *schedule) miss(r policies.Request) {
	if s.due == nil {
		s.due = make([]uint32, s.objects)
	}
	if r.Reason == policies.Demand {
		s.pass(r)
		return
	}
	if s.due[r.Object] == 0 && !s.ahead {
		s.lookAhead(r.Pos)
	}
	due := &s.due[r.Object]
	if *due == 0 {
		*due = policies.Never
	}
	for *due <= uint32(r.Pos) { // of requests to objects larger than the cache the policy does not hear
		*due = s.nextUse[*due]
	}
}

// lookAhead finds the first requests after the one at pos of all objects that were not requested so far.
func (s *schedule) lookAhead(pos int) {
	s.ahead = true
	for at := pos + 1; at < len(s.sequence); at++ {
		if o := s.sequence[at]; int(o) < len(s.due) && s.due[o] == 0 {
			s.due[o] = uint32(at)
		}
	}
}

// grow makes room for objects up to objects-1.
func (s *schedule) grow(objects int) {
	s.objects = objects
	if s.due != nil {
		s.due = dense.Grown(s.due, objects)
	}
}
