package policies

// Rules are the rules under which a policy is compared with an optimum.
type Rules struct {
	Bytes   bool // capacities count bytes
	Bypass  bool // a missed object need not be loaded
	Similar bool // similar objects answer each other
	// Held says that requests hold what they need while others begin. The policy decides what they hold.
	Held bool
}

// Optimum returns the name of the best offline policy under some rules. It is optimal if capacities count objects, a
// request hits only its own object, and what is held does not depend on the policy. Otherwise it stands in for an
// optimum that cannot be computed in practice, and LowerBound bounds that optimum from below. The program must import
// the package that registers it.
func Optimum(rules Rules) string {
	e := reference(Offline, rules)
	if e == nil {
		panic("policies: no offline policy is registered; import package policies/all")
	}
	return e.Name
}

// LowerBound returns the name of the bound on misses that is reported beside the Optimum under some rules. ok is false
// if that Optimum is exact and needs no bound.
func LowerBound(rules Rules) (name string, ok bool) {
	if e := reference(Bound, rules); e != nil {
		return e.Name, true
	}
	return "", false
}

// reference returns the entry of a kind that is the reference under some rules, or nil.
func reference(kind Kind, rules Rules) *Entry {
	return Registry.First(func(e *Entry) bool { return e.Kind == kind && e.Reference != nil && e.Reference(rules) })
}

// OptEvicts returns, for each position, whether the Optimum evicts the requested object before its next request, if
// there is one. It is for objects of one size in the exact cache. objects are below count; capacity counts objects.
func OptEvicts(objects []Object, count int, nextUse []uint32, capacity int64) []bool {
	e, _ := Registry.Find(Optimum(Rules{}))
	p, err := e.New(Config{Capacity: capacity, Unit: true, Objects: count, Requests: len(objects), NextUse: nextUse})
	if err != nil {
		panic("policies: the optimum is refused: " + err.Error()) // it has no parameters that could be wrong
	}
	opt := p.(UnitReplayer)
	hit := make([]bool, len(objects))
	for pos := range objects {
		hits, _ := opt.ReplayUnit(objects[pos:pos+1], pos)
		hit[pos] = hits > 0
	}
	evicts := make([]bool, len(objects))
	for pos, next := range nextUse {
		evicts[pos] = next == Never || !hit[next]
	}
	return evicts
}

// Unlimited returns the name of the policy that has room for everything.
func Unlimited() string { return Registry.First(func(e *Entry) bool { return e.Unbounded }).Name }

// Recency returns the name of the policy whose miss curve comes from one pass over reuse distances. Curves and
// allocators compare others with it.
func Recency() string { return Registry.First(func(e *Entry) bool { return e.OnePass }).Name }
