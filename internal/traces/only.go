package traces

// AddSize appends the size of the last request; number is its object. Sizes are kept per object until one changes.
func (t *Trace) AddSize(number uint32, size int64) {
	if int(number) == len(t.ObjectSizes) {
		t.ObjectSizes = append(t.ObjectSizes, size)
	}
	switch {
	case t.RequestSizes != nil:
		t.RequestSizes = append(t.RequestSizes, size)
	case t.ObjectSizes[number] != size:
		// The first object that changes its size: all earlier requests had the sizes of their objects.
		before := len(t.Objects) - 1
		t.RequestSizes = make([]int64, before, cap(t.Objects))
		for pos, object := range t.Objects[:before] {
			t.RequestSizes[pos] = t.ObjectSizes[object]
		}
		t.RequestSizes = append(t.RequestSizes, size)
	}
}

// WithoutZeroSizes returns t without its requests of size 0, and their number, as libCacheSim skips them. Objects are
// renumbered. The result is t itself if there are none, or no sizes; otherwise it shares no column with t. It may have
// no requests.
func (t *Trace) WithoutZeroSizes() (*Trace, int) {
	zeros := t.EmptyRequests()
	if zeros == 0 {
		return t, 0
	}
	return t.Only(func(pos int) bool { return t.Size(pos) != 0 }), zeros
}

// Only returns the requests that keep chooses by position, as a trace of its own with renumbered objects. It has the
// groups of t, unless requests without the rest of their group are not of their kind.
func (t *Trace) Only(keep func(pos int) bool) *Trace {
	p := NewPicker(t)
	p.begin(0)
	starts, removals := t.Starts, t.Removals
	for pos := range t.Objects {
		if len(starts) > 0 && starts[0] == pos {
			p.kept.StartPart()
			starts = starts[1:]
		}
		for len(removals) > 0 && int(removals[0].Before) == pos {
			p.remove(removals[0])
			removals = removals[1:]
		}
		if keep(pos) {
			p.add(pos)
		}
	}
	return p.end()
}

// appendAt appends the value at a place of a column that may be absent.
func appendAt[T any](to, column []T, place int) []T {
	if column == nil {
		return to
	}
	return append(to, column[place])
}

// StartPart records that the next request starts a part; a part without requests does not count.
func (t *Trace) StartPart() {
	t.DropEmptyPart()
	t.Starts = append(t.Starts, len(t.Objects))
}

// DropEmptyPart removes the last part if it has no requests.
func (t *Trace) DropEmptyPart() {
	if n := len(t.Starts); n > 0 && t.Starts[n-1] == len(t.Objects) {
		t.Starts = t.Starts[:n-1]
	}
}
