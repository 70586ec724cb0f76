package admission

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// shiftWindow moves the oldest objects of the window to probation until it keeps its limit, at most so many, and
// returns the first.
func shiftWindow(s *dense.Segments, most int) (first policies.Object) {
	first = policies.NoObject
	for range most {
		if s.Used[inWindow] <= s.Limit[inWindow] {
			break
		}
		o, ok := s.Pop(inWindow)
		if !ok {
			break
		}
		s.Put(inProbation, o)
		if first == policies.NoObject {
			first = o
		}
	}
	return first
}

// lowerProtected moves the oldest objects of the protected segment to probation until it keeps its limit,
// at most so many.
func lowerProtected(s *dense.Segments, most int) {
	for range most {
		if s.Used[inProtected] <= s.Limit[inProtected] {
			return
		}
		o, ok := s.Pop(inProtected)
		if !ok {
			return
		}
		s.Put(inProbation, o)
	}
}

// growWindow moves the border between the window and the protected segment by what whole objects take up of it, and
// those objects into the window, at most so many. It returns the rest.
func growWindow(s *dense.Segments, by int64, most int) (left int64) {
	s.Limit[inProtected] -= by
	s.Limit[inWindow] += by
	lowerProtected(s, most)
	for range most {
		from := inProbation
		o, ok := s.List.Back(from)
		if !ok || s.Charged.Of(o) > by {
			from = inProtected
			o, ok = s.List.Back(from)
		}
		if !ok || s.Charged.Of(o) > by {
			break
		}
		by -= s.Charged.Of(o)
		s.Take(o)
		s.Put(inWindow, o)
	}
	s.Limit[inProtected] += by
	s.Limit[inWindow] -= by
	return by
}

// shrinkWindow is growWindow in the other direction.
func shrinkWindow(s *dense.Segments, by int64, most int) (left int64) {
	s.Limit[inProtected] += by
	s.Limit[inWindow] -= by
	for range most {
		o, ok := s.List.Back(inWindow)
		if !ok || s.Charged.Of(o) > by {
			break
		}
		by -= s.Charged.Of(o)
		s.Take(o)
		s.Put(inProbation, o)
	}
	s.Limit[inProtected] -= by
	s.Limit[inWindow] += by
	return by
}

// judge says who wins a duel.
type judge interface {
	prefers(candidate, victim policies.Object) bool
}

// duel is who is compared next, in the course of one eviction. Each is an object, or NoObject.
type duel struct {
	candidate, victim policies.Object
	from              int  // the segment of the victim, or of those that come after it
	pastWindow        bool // all of the window were candidates, or will be
}

// begin prepares an eviction: candidate and those that left the window after it compete, then those of the window, all
// with the oldest objects on probation.
func (d *duel) begin(s *dense.Segments, candidate policies.Object) {
	*d = duel{candidate: candidate, victim: oldest(s, inProbation), from: inProbation}
}

func oldest(s *dense.Segments, segment int) policies.Object {
	if o, ok := s.List.Back(segment); ok {
		return o
	}
	return policies.NoObject
}

// newer returns the object that comes after o in its segment.
func newer(s *dense.Segments, o policies.Object) policies.Object {
	if n, ok := s.List.Before(o); ok {
		return n
	}
	return policies.NoObject
}

// loser returns the loser of the next duel, which is to be removed.
func (d *duel) loser(s *dense.Segments, by judge) policies.Object {
	if d.candidate == policies.NoObject && !d.pastWindow {
		d.candidate, d.pastWindow = oldest(s, inWindow), true
	}
	for d.candidate == policies.NoObject && d.victim == policies.NoObject {
		switch d.from {
		case inProbation:
			d.from = inProtected
		case inProtected:
			d.from = inWindow
		default:
			panic("a victim is asked of an empty cache")
		}
		d.victim = oldest(s, d.from)
	}
	candidate, victim := d.candidate, d.victim
	switch {
	case victim == policies.NoObject:
		d.candidate = newer(s, candidate)
		return candidate
	case candidate == policies.NoObject:
		d.victim = newer(s, victim)
		return victim
	case candidate == victim:
		d.victim, d.candidate = newer(s, victim), policies.NoObject
		return candidate
	case by.prefers(candidate, victim):
		d.victim, d.candidate = newer(s, victim), newer(s, candidate)
		return victim
	default:
		d.candidate = newer(s, candidate)
		return candidate
	}
}
