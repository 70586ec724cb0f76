package dense

// Lists are intrusive doubly linked lists over the objects 0..n-1. Each object is on at most one list at a time.
// Memory: 8 bytes per object. Front is the most recent end by convention, Back the next victim.
//
// The ends of the lists are stored apart from the links: every operation would store and load a sentinel among the
// links, and processors delay such a load until the addresses of all earlier stores are known.
type Lists struct {
	prev, next []uint32 // n+k is the end of list k
	ends       []listEnds
	n          uint32
}

// listEnds are the first and last objects of one list; both are n+k if it is empty.
type listEnds struct{ first, last uint32 }

// NewLists returns count empty lists over n objects.
func NewLists(n, count int) Lists {
	l := Lists{prev: make([]uint32, n), next: make([]uint32, n), ends: make([]listEnds, count), n: uint32(n)}
	for k := range l.ends {
		l.ends[k] = listEnds{l.end(k), l.end(k)}
	}
	return l
}

// Add adds an empty list, and returns its number.
func (l *Lists) Add() int {
	k := len(l.ends)
	l.ends = append(l.ends, listEnds{l.end(k), l.end(k)})
	return k
}

// end returns the link that marks the end of list k.
func (l *Lists) end(k int) uint32 { return l.n + uint32(k) }

// IsObject reports whether a link leads to an object, not to an end.
func (l *Lists) IsObject(link uint32) bool { return link < l.n }

// PushFront puts o at the front of list k. o must not be on a list.
func (l *Lists) PushFront(k int, o Object) {
	ends := &l.ends[k]
	first := ends.first
	l.prev[o], l.next[o] = l.end(k), first
	ends.first = o
	l.setPrev(first, o)
}

// PushBack puts o at the back of list k. o must not be on a list.
func (l *Lists) PushBack(k int, o Object) {
	ends := &l.ends[k]
	last := ends.last
	l.prev[o], l.next[o] = last, l.end(k)
	ends.last = o
	l.setNext(last, o)
}

// MoveToFront moves o, which is on list k, to its front. Batch loops call it most often.
func (l *Lists) MoveToFront(k int, o Object) {
	ends := &l.ends[k]
	if first := ends.first; first != o {
		before, after := l.prev[o], l.next[o] // before is an object, since o is not the first
		l.next[before] = after
		if after < l.n {
			l.prev[after] = before
		} else {
			ends.last = before
		}
		l.prev[o], l.next[o] = l.n+uint32(k), first
		l.prev[first] = o
		ends.first = o
	}
}

func (l *Lists) Unlink(o Object) {
	p, n := l.prev[o], l.next[o]
	l.setNext(p, n)
	l.setPrev(n, p)
}

// setPrev makes p the neighbour of at towards the front; at may be an end.
func (l *Lists) setPrev(at, p uint32) {
	if at < l.n {
		l.prev[at] = p
	} else {
		l.ends[at-l.n].last = p
	}
}

// setNext makes n the neighbour of at towards the back; at may be an end.
func (l *Lists) setNext(at, n uint32) {
	if at < l.n {
		l.next[at] = n
	} else {
		l.ends[at-l.n].first = n
	}
}

// Back returns the last object of list k; ok is false if the list is empty.
func (l *Lists) Back(k int) (o Object, ok bool) {
	o = l.ends[k].last
	return o, l.IsObject(o)
}

func (l *Lists) IsBack(k int, o Object) bool { return l.ends[k].last == o }

// Front returns the first object of list k; ok is false if the list is empty.
func (l *Lists) Front(k int) (o Object, ok bool) {
	o = l.ends[k].first
	return o, l.IsObject(o)
}

// Before returns the neighbour of o towards the front; ok is false if o is the first of its list.
func (l *Lists) Before(o Object) (Object, bool) {
	p := l.prev[o]
	return p, l.IsObject(p)
}

// After returns the neighbour of o towards the back; ok is false if o is the last of its list.
func (l *Lists) After(o Object) (Object, bool) {
	n := l.next[o]
	return n, l.IsObject(n)
}

func (l *Lists) Empty(k int) bool { return !l.IsObject(l.ends[k].first) }

// PopBack removes the last object of list k, which must not be empty, and returns it.
func (l *Lists) PopBack(k int) Object {
	ends := &l.ends[k]
	o := ends.last
	before := l.prev[o]
	ends.last = before
	l.setNext(before, l.n+uint32(k))
	return o
}

// Grow makes room for objects up to n-1.
func (l *Lists) Grow(n int) {
	if n <= len(l.prev) {
		return
	}
	l.prev, l.next = Grown(l.prev, n), Grown(l.next, n)
	was := l.n
	l.n = uint32(n)
	for k := range l.ends {
		if ends, end := &l.ends[k], l.end(k); ends.first >= was { // an end of before: the list is empty
			ends.first, ends.last = end, end
		} else {
			l.prev[ends.first], l.next[ends.last] = end, end
		}
	}
}
