package oracle

// GroupedLower returns a lower bound on the misses of any schedule in a cache that serves groups of requests, such as
// prompts. It holds whatever the cache holds for groups that run at the same time, and whether or not a missing object
// must be loaded. Every request is charged 1. Misses of a warm-up do not count.
//
// Proof. A request hits only if its object is resident when its group begins. The object was loaded for an earlier
// request, so it has been resident after each group from its last request's to the last before its own: a hit is an
// interval of gaps between groups. After a group, at most capacity objects are resident. So there are at most as many
// hits as intervals can be chosen such that no gap is covered by more than capacity of them. Greedy choice is optimal:
// wherever too many intervals overlap, it discards the interval that ends last, since any other choice leaves more
// overlap to the right.
//
// If nothing is held and any missing object may be bypassed, a cache reaches this bound: it is the optimum.
//
// Without Groups each request comes alone. Then the bound also holds if some requests only look, and load nothing where
// they miss: their intervals are chosen as if they had loaded.
func GroupedLower(in BoundInput) (misses int64) {
	coming := NewBitmap(len(in.Objects)) // the ends of open intervals
	open := int64(0)
	for from, group := 0, 0; from < len(in.Objects); group++ {
		end := in.endOfGroup(group)
		for pos := from; pos < end; pos++ {
			switch {
			case coming.Has(uint32(pos)):
				coming.Clear(uint32(pos))
				open--
			case pos >= in.From && (in.Uncounted == nil || !in.Uncounted(pos)):
				misses++
			}
			if next := in.NextUse[pos]; next != Never && int(next) >= in.From {
				coming.Set(next)
				open++
			}
		}
		for ; open > in.Capacity; open-- {
			last, _ := coming.Max()
			coming.Clear(last)
		}
		from = end
	}
	return misses
}

// endOfGroup returns the position behind a group, which is one request without Groups.
func (in BoundInput) endOfGroup(group int) int {
	switch {
	case in.Groups == nil:
		return group + 1
	case group+1 < len(in.Groups):
		return in.Groups[group+1]
	}
	return len(in.Objects)
}
