package files

import (
	"fmt"
	"math"
)

// handles follows the positions of open files, for calls that read on from where the last one ended.
type handles struct {
	at map[string]*int64 // by handle; duplicates share a position
}

// open notes that the next read through a new handle begins at the first byte.
func (h *handles) open(handle []byte) error { return h.add(handle, new(int64)) }

// move notes that the next read through a handle begins at that byte.
func (h *handles) move(handle []byte, position int64) error {
	if at, known := h.at[string(handle)]; known {
		*at = position
		return nil
	}
	return h.add(handle, &position)
}

// duplicate notes that a new handle shares the position of another, which may be unknown.
func (h *handles) duplicate(handle, to []byte) error {
	at, known := h.at[string(handle)]
	if !known {
		h.forget(to)
		return nil
	}
	return h.add(to, at)
}

func (h *handles) add(handle []byte, at *int64) error {
	if _, known := h.at[string(handle)]; !known && len(h.at) == maxOpen {
		return fmt.Errorf("more than %d files are open at a time, the most that are followed", maxOpen)
	}
	if h.at == nil {
		h.at = map[string]*int64{}
	}
	h.at[string(handle)] = at
	return nil
}

// take returns where a read of this length begins, and moves the position behind it; ok is false if the position of
// the handle is not known.
func (h *handles) take(handle []byte, bytes int64) (position int64, ok bool) {
	at, ok := h.at[string(handle)]
	if !ok {
		return 0, false
	}
	position = *at
	*at += min(bytes, math.MaxInt64-position) // cannot overflow; a read at such a position is refused
	return position, true
}

// forget notes that a handle was closed.
func (h *handles) forget(handle []byte) { delete(h.at, string(handle)) }
