package streams

// Walk goes through all blocks of a file, or of the files below a directory, in the order of the listings.
type Walk struct {
	layout *Layout
	top    Place
	file   Place
	block  int64
	done   bool
}

// Walk returns a walk from the first block of a place. Files of unknown size have no blocks.
func (l *Layout) Walk(top Place) Walk {
	w := Walk{layout: l, top: top}
	w.descend(top)
	return w
}

// Next returns the address of the next block; false after the last one.
func (w *Walk) Next() (address uint64, ok bool) {
	for !w.done {
		if w.block < w.layout.blocks[w.file] {
			w.block++
			return w.layout.Address(w.file, uint64(w.block-1)), true
		}
		w.advance(w.file)
	}
	return 0, false
}

// descend goes to the first file at or below a place.
func (w *Walk) descend(p Place) {
	for !w.layout.IsFile(p) {
		if w.layout.tree[p].entries == 0 {
			w.advance(p)
			return
		}
		p = w.layout.tree[p].first
	}
	w.file, w.block = p, 0
}

// advance goes to the first file after a place and all that is below it.
func (w *Walk) advance(p Place) {
	for ; p != w.top; p = w.layout.tree[p].parent {
		if parent := w.layout.tree[p].parent; w.layout.tree[p].index+1 < w.layout.tree[parent].entries {
			w.descend(p + 1)
			return
		}
	}
	w.done = true
}
