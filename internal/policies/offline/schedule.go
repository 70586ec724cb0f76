package offline

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// schedule knows when each object is next requested, for policies that see the whole trace. For an object that has been
// requested, that is what Config.NextUse said at its last request. Memory: 4 bytes per object after the first miss.
type schedule struct {
	nextUse  []uint32
	sequence []policies.Object // nil if it is not known
	objects  int
	due      []uint32 // per object: position of its next request, or Never; 0 if it has not been requested so far
	ahead    bool     // due includes the first requests of objects not requested so far
}

func newSchedule(c policies.Config) *schedule {
	return &schedule{nextUse: c.NextUse, sequence: c.Sequence, objects: c.Objects}
}

// pass records a request of the trace.
func (s *schedule) pass(r policies.Request) { s.due[r.Object] = s.nextUse[r.Pos] }

// miss records that r's object is missing, and finds out when it is needed.
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
	for *due <= uint32(r.Pos) { // the policy does not see requests to objects larger than the cache
		*due = s.nextUse[*due]
	}
}

// lookAhead finds, for all objects not requested so far, their first requests after the one at pos.
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
