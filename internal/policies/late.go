package policies

import "slices"

// late are the objects that a policy evicted before the cache asked for a victim. In the cache they are resident until
// it takes them as expired, or as victims of the next request.
type late []Object

// Expired implements Expirer: the cache takes the objects in the order of eviction.
func (l *late) Expired(int64) (Object, bool) {
	if len(*l) == 0 {
		return 0, false
	}
	return l.next(), true
}

// next takes the first object off the list, which must not be empty.
func (l *late) next() Object {
	o := (*l)[0]
	*l = slices.Delete(*l, 0, 1)
	return o
}

// strike takes o off the list. It returns false if o is not on it.
func (l *late) strike(o Object) bool {
	i := slices.Index(*l, o)
	if i >= 0 {
		*l = slices.Delete(*l, i, i+1)
	}
	return i >= 0
}
