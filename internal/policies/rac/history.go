package rac

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// history is what rac-adaptive knows about labels. It has one record per label, so that a request reads one place in
// memory, and one log of requests for all directories. A hit costs nothing in a directory that orders by the last
// request.
type history struct {
	labels []label
	log    []policies.Object
	end    uint32 // where the next request goes in the log
	clock  uint32 // requests and loads so far
	shelves
}

// shelves are the directories that use the log.
type shelves struct {
	tails []*uint32 // places of the log before which a directory has nothing that it looks for
	moved []uint32  // a buffer: where they are after compact
	bits  uint32    // all marks
}

// follow adds a tail.
func (s *shelves) follow(tail *uint32) {
	*tail = 1
	s.tails, s.moved = append(s.tails, tail), append(s.moved, 0)
}

// label is what is known about a label, and about the object of the same number.
type label struct {
	requests float64         // frequent: requests, faded
	place    uint32          // in the log: the last request or load; 0 if no directory that uses the log holds it
	used     uint32          // the last request or load, 0 if there was none
	marks    uint32          // of directories that use the log
	standIn  policies.Object // the resident that stands for the label, or none
	of       policies.Object // if the object is resident: the label that it was loaded for
}

func newHistory(objects int) *history {
	h := &history{log: make([]policies.Object, 64), end: 1}
	h.grow(objects)
	return h
}

func (h *history) grow(objects int) {
	first := len(h.labels)
	h.labels = dense.Grown(h.labels, objects)
	for o := first; o < len(h.labels); o++ {
		h.labels[o].standIn = none
	}
}

// mark returns a mark of labels that no other directory uses.
func (s *shelves) mark() uint32 {
	bit := s.bits + 1
	s.bits |= bit
	return bit
}

// use makes a label the one used last. It is called when all directories have served the request.
func (h *history) use(o policies.Object) {
	if int(h.end) == len(h.log) {
		h.compact()
	}
	h.clock++
	l := &h.labels[o]
	h.log[h.end] = o
	l.place, l.used = h.end, h.clock
	h.end++
}

// remembers reports whether a label was used within a number of requests.
func (h *history) remembers(o policies.Object, window uint32) bool {
	l := &h.labels[o]
	return l.used != 0 && h.clock-l.used < window
}

// oldest returns the label used longest ago of those with the given marks among those in mask, all at or behind tail.
// It moves tail there.
func (h *history) oldest(tail *uint32, mask, marks uint32) (o policies.Object, ok bool) {
	for at := *tail; at < h.end; at++ {
		o := h.log[at]
		if l := &h.labels[o]; l.place == at && l.marks&mask == marks {
			*tail = at
			return o, true
		}
	}
	*tail = h.end
	return none, false
}

// compact moves the last uses of labels that a directory holds to the start of the log, which doubles if they fill more
// than a quarter of it.
func (h *history) compact() {
	kept := uint32(1)
	for at := uint32(1); at < h.end; at++ {
		for i, tail := range h.tails {
			if *tail == at {
				h.moved[i] = kept
			}
		}
		o := h.log[at]
		l := &h.labels[o]
		switch {
		case l.place != at:
		case l.marks == 0:
			l.place = 0
		default:
			l.place = kept
			h.log[kept] = o
			kept++
		}
	}
	for i, tail := range h.tails {
		if *tail < h.end {
			*tail = h.moved[i]
		} else {
			*tail = kept
		}
	}
	h.end = kept
	if 4*int(kept) > len(h.log) {
		h.log = append(h.log, make([]policies.Object, len(h.log))...)
	}
}

// shelf is a directory that goes by the history. It holds the labels that have its mark.
type shelf struct {
	*history
	held uint32 // its mark
	n    int64  // labels that it holds
	gone []policies.Object
}

func newShelf(h *history) shelf { return shelf{history: h, held: h.mark()} }

func (s *shelf) Has(o policies.Object) bool { return s.labels[o].marks&s.held != 0 }
func (s *shelf) Evicted() []policies.Object { return s.gone }
func (s *shelf) Grow(int)                   {} // the history grows

// hold adds a label.
func (s *shelf) hold(o policies.Object, marks uint32) {
	s.labels[o].marks |= s.held | marks
	s.n++
}

// leave removes a label, and other marks of the directory from it.
func (s *shelf) leave(o policies.Object, marks uint32) {
	s.labels[o].marks &^= s.held | marks
	s.n--
	s.gone = append(s.gone, o)
}
