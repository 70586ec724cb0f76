package policies

// Holder is implemented by policies that can choose among some of the residents. Caches need that if some objects must
// not be evicted: the inner nodes of a prefix tree, or what running requests use. A cache asks for it with
// Config.Holds, from entries with Holds. An object is then held from its Insert until Release, and again from Hold
// until the next Release. Victim chooses among the objects that are not held, and is called only while there is one.
// Hit is called only for objects that are held. Remove is called only for objects that are not held, if they are
// evicted along with the last victim. Positions still grow from request to request. Such a cache never loads objects
// that were not requested.
//
// Every other policy works in such caches too: see package cache.
type Holder interface {
	Policy
	// Hold marks o, which is resident and not held, as held: it must not be evicted.
	Hold(o Object)
	// Release makes o, which is held, evictable again.
	Release(o Object)
}

// GroupMisser is implemented by a Holder that needs to know which misses come together.
type GroupMisser interface {
	// MissGroup reports the objects of a group that are not resident and are about to be loaded. It is called after the
	// hits of the residents and before the first Miss. The slice stays valid until the last of its objects has been
	// inserted.
	MissGroup(objects []Object, hits int)
}
