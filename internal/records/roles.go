package records

import (
	"strings"
	"sync"
)

// Kinds of policies, as records name them.
const (
	Online  = "online"  // sees the past only
	Offline = "offline" // sees the whole trace
	Bound   = "bound"   // a lower bound on misses
)

// Role is what tables and figures must know about a policy in addition to its record.
type Role struct {
	Rank      int    // its place in the list of policies
	Unlimited bool   // it ignores the capacity, so it does not compete
	Idle      bool   // it loads nothing, so that it is what happens without a cache, and does not compete
	Optimum   bool   // it is optimal under some rules, and may lose to online policies under others
	Reference bool   // the optimum of plain caches, which looks like what others are compared with
	Bound     string // the lower bound on misses to show with it, if it replaces an optimum
	// Color and Mark are its look in figures, from 1; 0: derived from its name.
	Color, Mark int
	Dashes      []float64 // lengths of the strokes and gaps, in points; nil: derived from its name
}

var roles = map[string]Role{}

// idle is the policy that loads nothing, by the first of its names.
var idle string

// knowsFuture reports whether a part of a kind, with its parameters, sees more than past requests.
var knowsFuture = func(kind, part string) bool { return false }

// DeclareFuture says which parts see more than past requests. The package that knows all parts calls it at program
// start.
func DeclareFuture(knows func(kind, part string) bool) { knowsFuture = knows }

// Foresees returns the part with which an online policy knows the future, such as oracle; "" if it has none.
func (r *Record) Foresees() string {
	if r.Kind != Online {
		return ""
	}
	for _, k := range PartKinds {
		if part := *k.Field(r); part != "" && knowsFuture(k.Name, part) {
			return part
		}
	}
	return ""
}

// NoCache returns the name of the policy that loads nothing: it stands for no cache.
func NoCache() string {
	declareAll()
	return idle
}

// Competes reports whether the record may be the best, in tables, figures, targets and claims alike: its policy could
// run in production and has to choose. A policy that knows the future, itself or through a part, does not compete, nor
// does a cache without bounds, or none.
func (r *Record) Competes() bool {
	role, _ := RoleOf(r.Policy)
	return r.Kind == Online && !role.Unlimited && !role.Idle && r.Foresees() == ""
}

// RolesFrom sets what declares the roles of policies when the first role is read: all policies are registered by then.
func RolesFrom(declare func(declare func(policy string, r Role))) { declareRoles = declare }

var declareRoles func(declare func(policy string, r Role))

// DeclareRole declares the role of a policy, by name. Other policies have no role.
func DeclareRole(policy string, r Role) {
	if r.Idle && idle == "" {
		idle = policy
	}
	roles[strings.ToLower(policy)] = r
}

var declareAll = sync.OnceFunc(func() {
	if declareRoles != nil {
		declareRoles(DeclareRole)
	}
})

// RoleOf returns the role of a policy; ok is false if it has none, for example because this program does not have it.
func RoleOf(policy string) (r Role, ok bool) {
	declareAll()
	r, ok = roles[strings.ToLower(policy)]
	return r, ok
}

// ReferencePolicy returns the optimum of plain caches; "" if none is declared.
func ReferencePolicy() string {
	declareAll()
	for policy, r := range roles {
		if r.Reference {
			return policy
		}
	}
	return ""
}
