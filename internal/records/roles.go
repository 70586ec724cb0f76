package records

// Role is what a table must know of a policy beside its record.
type Role struct {
	Unlimited bool   // it ignores the capacity, so that it is no competitor
	Bound     string // the lower bound on misses that stands beside it, where it stands in for an optimum
}

var roles = map[string]Role{}

// DeclareRole says what a policy is, by its name. Whoever writes records does so when the program starts; of a policy
// that is not declared nothing is known.
func DeclareRole(policy string, r Role) { roles[policy] = r }
