package adversary

import "github.com/cachesim/cachesim/internal/policies"

// Stated returns the proven bounds of a policy at a capacity; the zero Guarantee if there are none.
func Stated(policy policies.Spec, capacity int) policies.Guarantee {
	if policy.Entry.Guarantee == nil {
		return policies.Guarantee{}
	}
	return policy.Entry.Guarantee(policy.Params, capacity)
}
