package policies

// Rules are those by which a policy is held against an optimum.
type Rules struct {
	Bytes   bool // capacities count bytes
	Bypass  bool // a miss may pass by
	Similar bool // similar objects answer each other
}

// Optimum returns the name of the best offline policy by some rules. It is optimal where capacities count objects and a
// request hits only its own object; elsewhere it stands in for an optimum that nobody can compute, and LowerBound says
// what that can reach at most.
func Optimum(rules Rules) string {
	switch {
	case rules.Similar && rules.Bypass:
		return farthestSimilarBypassEntry.Name
	case rules.Similar:
		return farthestSimilarEntry.Name
	case rules.Bytes:
		return beladySizeEntry.Name
	case rules.Bypass:
		return optBypassEntry.Name
	}
	return optEntry.Name
}

// LowerBound returns the name of the bound on misses that stands beside the Optimum by some rules; ok is false where
// that is an optimum and needs none.
func LowerBound(rules Rules) (name string, ok bool) {
	switch {
	case rules.Similar:
		return pfooSimilarEntry.Name, true
	case rules.Bytes:
		return pfoolEntry.Name, true
	}
	return "", false
}

// Unlimited returns the name of the policy that has room for everything.
func Unlimited() string { return infiniteEntry.Name }

// Recency returns the name of the policy whose miss curve one pass over reuse distances gives: that which curves and
// allocators compare others with.
func Recency() string { return lruEntry.Name }
