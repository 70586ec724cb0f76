package records

// Role is what a table must know about a policy in addition to its record.
type Role struct {
	Unlimited bool   // it ignores the capacity, so it does not compete
	Bound     string // the lower bound on misses to show with it, if it replaces an optimum
}

var roles = map[string]Role{}

// DeclareRole declares the role of a policy, by name. Packages that write records call it at program start; other
// policies have no role.
func DeclareRole(policy string, r Role) { roles[policy] = r }
