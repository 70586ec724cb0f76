package files

import "math"

// handles has the positions of open files by handle, for calls that read on from where the last one ended. Duplicates
// share a position.
type handles map[string]*int64

// open notes that the next read through a new handle begins at the first byte.
func (h handles) open(handle []byte) { h[string(handle)] = new(int64) }

// move notes that the next read through a handle begins at that byte.
func (h handles) move(handle []byte, position int64) {
	if at, known := h[string(handle)]; known {
		*at = position
		return
	}
	h[string(handle)] = &position
}

// duplicate notes that a new handle shares the position of another, which may be unknown.
func (h handles) duplicate(handle, to []byte) {
	if at, known := h[string(handle)]; known {
		h[string(to)] = at
		return
	}
	h.forget(to)
}

// take returns where a read of this length begins, and moves the position behind it; ok is false if the position of
// the handle is not known.
func (h handles) take(handle []byte, bytes int64) (position int64, ok bool) {
	at, ok := h[string(handle)]
	if !ok {
		return 0, false
	}
	position = *at
	*at += min(bytes, math.MaxInt64-position) // cannot overflow; a read at such a position is refused
	return position, true
}

// forget notes that a handle was closed.
func (h handles) forget(handle []byte) { delete(h, string(handle)) }
