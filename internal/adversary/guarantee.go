package adversary

import "github.com/cachesim/cachesim/internal/policies"

// Stated returns what is proven of a policy at a capacity; the zero Guarantee where nothing is.
func Stated(policy policies.Spec, capacity int) policies.Guarantee {
	if policy.Entry.Guarantee == nil {
		return policies.Guarantee{}
	}
	return policy.Entry.Guarantee(policy.Params, capacity)
}
