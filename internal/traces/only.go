package traces

import "github.com/cachesim/cachesim/internal/traces/stream"

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
	kept := &Trace{Name: t.Name, Readings: t.Readings, SampleRate: t.SampleRate, SampledFrom: t.SampledFrom,
		BytesFrom: t.BytesFrom, Written: t.Written, Sizing: t.Sizing, KeysInSizes: t.KeysInSizes}
	renumbered := make([]uint32, t.NumObjects) // per object of t: its new number plus one
	var chosen stream.Chosen
	var ofLabel, labels []uint8
	if t.Labels != nil {
		ofLabel = t.Labels.Of
	}
	starts, groups, removals, begins := t.Starts, t.Groups, t.Removals, false
	for pos, object := range t.Objects {
		if len(starts) > 0 && starts[0] == pos {
			kept.StartPart()
			starts = starts[1:]
		}
		if len(groups) > 0 && groups[0] == pos { // begins stays set until a request of the group is kept
			groups, begins = groups[1:], true
		}
		for len(removals) > 0 && int(removals[0].Before) == pos {
			if number := renumbered[removals[0].Object]; number > 0 { // others were never requested so far
				kept.Removals = append(kept.Removals, Removal{uint32(len(kept.Objects)), number - 1, removals[0].Why})
			}
			removals = removals[1:]
		}
		if !keep(pos) {
			continue
		}
		if begins {
			kept.Groups, begins = append(kept.Groups, len(kept.Objects)), false
		}
		if renumbered[object] == 0 {
			chosen.Objects = append(chosen.Objects, object)
			renumbered[object] = uint32(len(chosen.Objects))
		}
		if t.Kind != nil {
			chosen.Requests = append(chosen.Requests, pos)
		}
		kept.Objects = append(kept.Objects, renumbered[object]-1)
		if t.HasSizes() {
			kept.AddSize(renumbered[object]-1, t.Size(pos))
		}
		kept.Times, kept.Ops = appendAt(kept.Times, t.Times, pos), appendAt(kept.Ops, t.Ops, pos)
		kept.Ends = appendAt(kept.Ends, t.Ends, pos)
		kept.Served, labels = appendAt(kept.Served, t.Served, pos), appendAt(labels, ofLabel, pos)
	}
	kept.NumObjects, kept.Keys = len(chosen.Objects), stream.Pick(t.Keys, chosen.Objects)
	if t.Tenants != nil {
		kept.Tenants = &Tenants{Names: t.Tenants.Names, Shared: t.Tenants.Shared,
			Of: stream.Pick(t.Tenants.Of, chosen.Objects)}
	}
	if t.Labels != nil {
		kept.Labels = &Labels{t.Labels.Column, t.Labels.Names, labels}
	}
	if t.HasSizes() && kept.ObjectSizes == nil {
		kept.ObjectSizes = []int64{} // still a trace with sizes
	}
	kept.DropEmptyPart()
	kept.Removals = kept.removalsIn(0, len(kept.Objects)) // none after the last request
	if t.Kind != nil {
		kept.Kind = t.Kind.Only(chosen)
		if kept.Kind == nil && t.Kind.Torn() {
			kept.Groups = nil
		}
	}
	return kept
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
