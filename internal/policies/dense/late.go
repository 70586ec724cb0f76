package dense

import "slices"

// Late are the objects that a policy evicted although the cache had not asked for a victim: they are resident there
// until it takes them as expired, or as victims of the next request.
type Late []Object

// Expired implements policies.Expirer: the cache takes the objects in the order of eviction.
func (l *Late) Expired(int64) (Object, bool) {
	if len(*l) == 0 {
		return 0, false
	}
	return l.Next(), true
}

// Next takes the first object off the list, which must not be empty.
func (l *Late) Next() Object {
	o := (*l)[0]
	*l = slices.Delete(*l, 0, 1)
	return o
}

// Strike takes o off the list. It returns false if o is not on it.
func (l *Late) Strike(o Object) bool {
	i := slices.Index(*l, o)
	if i >= 0 {
		*l = slices.Delete(*l, i, i+1)
	}
	return i >= 0
}
