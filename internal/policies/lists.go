package policies

// node links an object into one of the circular lists of Lists. Both links share a cache line.
type node struct{ prev, next uint32 }

// Lists are intrusive doubly linked lists over the objects 0..n-1. Each object is on at most one list at a time.
// Each list is a ring through its own sentinel node, so that no operation branches on an end.
// Memory: 8 bytes per object. Front is the most recent end by convention, Back the next to leave.
type Lists struct {
	nodes []node
	n     uint32 // sentinel of list k is nodes[n+k]
}

// NewLists returns count empty lists over n objects.
func NewLists(n, count int) Lists {
	l := Lists{nodes: make([]node, n+count), n: uint32(n)}
	for k := range count {
		s := l.n + uint32(k)
		l.nodes[s] = node{s, s}
	}
	return l
}

// PushFront puts o at the front of list k. o must not be on a list.
func (l *Lists) PushFront(k int, o Object) {
	s := l.n + uint32(k)
	first := l.nodes[s].next
	l.nodes[o] = node{s, first}
	l.nodes[s].next = o
	l.nodes[first].prev = o
}

// PushBack puts o at the back of list k. o must not be on a list.
func (l *Lists) PushBack(k int, o Object) {
	s := l.n + uint32(k)
	last := l.nodes[s].prev
	l.nodes[o] = node{last, s}
	l.nodes[s].prev = o
	l.nodes[last].next = o
}

// Unlink takes o off the list it is on.
func (l *Lists) Unlink(o Object) {
	at := l.nodes[o]
	l.nodes[at.prev].next = at.next
	l.nodes[at.next].prev = at.prev
}

// Back returns the last object of list k; ok is false where the list is empty.
func (l *Lists) Back(k int) (o Object, ok bool) {
	o = l.nodes[l.n+uint32(k)].prev
	return o, o < l.n
}

// Front returns the first object of list k; ok is false where the list is empty.
func (l *Lists) Front(k int) (o Object, ok bool) {
	o = l.nodes[l.n+uint32(k)].next
	return o, o < l.n
}

// Before returns the neighbour of o towards the front; ok is false where o is the first of its list.
func (l *Lists) Before(o Object) (Object, bool) {
	p := l.nodes[o].prev
	return p, p < l.n
}

// After returns the neighbour of o towards the back; ok is false where o is the last of its list.
func (l *Lists) After(o Object) (Object, bool) {
	p := l.nodes[o].next
	return p, p < l.n
}

// Empty reports whether list k has no object.
func (l *Lists) Empty(k int) bool {
	s := l.n + uint32(k)
	return l.nodes[s].next == s
}
