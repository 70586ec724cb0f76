package files

import "fmt"

// handles follows the positions of open files, for calls that read on from where the last one ended.
type handles struct {
	at map[string]int64
}

// set notes that the next read through a handle begins at that byte.
func (h *handles) set(handle []byte, position int64) error {
	if at, known := h.at[string(handle)]; known {
		if at != position {
			h.at[string(handle)] = position
		}
		return nil
	}
	if len(h.at) == maxOpen {
		return fmt.Errorf("more than %d files are open at a time, the most that are followed", maxOpen)
	}
	if h.at == nil {
		h.at = map[string]int64{}
	}
	h.at[string(handle)] = position
	return nil
}

// take returns where a read of so many bytes begins and moves on behind it; ok is false where the position of the
// handle is not known.
func (h *handles) take(handle []byte, bytes int64) (position int64, ok bool) {
	position, ok = h.at[string(handle)]
	if ok {
		h.at[string(handle)] = position + bytes
	}
	return position, ok
}

// forget notes that a handle was closed.
func (h *handles) forget(handle []byte) { delete(h.at, string(handle)) }
