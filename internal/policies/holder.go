package policies

// Holder is implemented by policies that can choose among some of the residents, as caches need in which one object may
// not leave before another: the inner nodes of a prefix tree, or what running requests use. A cache asks entries with
// Holds for it through Config.Holds. Then an object is held from its Insert until Release, and again from Hold until
// the next Release. Victim chooses among the objects that are not held and is called only while there is one. Hit comes
// only to objects that are held; Remove only to others, which leave because the last victim does. Positions still grow
// from request to request. Such a cache does not load what was not asked for.
//
// Every other policy works in such caches too: see package cache.
type Holder interface {
	Policy
	// Hold says that o, which is resident and not held, may not leave.
	Hold(o Object)
	// Release says that o, which is held, may leave again.
	Release(o Object)
}

// GroupMisser is implemented by a Holder to which it matters which misses come together.
type GroupMisser interface {
	// MissGroup reports the objects of a group that are not resident and are about to be loaded, after the hits of those
	// that are and before the first Miss. The slice stays valid until the last of them has been inserted.
	MissGroup(objects []Object, hits int)
}
