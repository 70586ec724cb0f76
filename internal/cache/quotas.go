package cache

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
)

// Divides reports whether an allocator can divide a cache of requests, or share one of prompts.
func Divides(c Spec, allocator *allocate.Spec) bool {
	a := &allocator.Entry
	ofPrompts := a.Lends || a.Sweeps != nil
	return HasPools(c) && !ofPrompts || HasQuotas(c, allocator) ||
		!a.Serving && IsShared(c) && (a.Shared || Can[*Divided](c.Entry) && !ofPrompts)
}

// Sweeps reports whether an allocator, nil for none, cuts tenants back to their quotas at times.
func Sweeps(a *allocate.Spec) bool { return a != nil && a.Entry.Sweeps != nil }

// HasQuotas reports whether an allocator, nil for none, gives each tenant of prompts a share of a cache.
func HasQuotas(c Spec, allocator *allocate.Spec) bool {
	if allocator == nil || !allocator.Entry.Fixed || !c.Entry.NeedsPrompts() || !Can[Replica](c.Entry) || !IsShared(c) {
		return false
	}
	evict, _ := c.Params["evict"].(string)
	switch {
	case allocator.Entry.Lends:
		return evict == "leaf" || evict == "node"
	case allocator.Entry.Sweeps != nil:
		return evict == "chunk"
	}
	return true
}

// CheckQuotas rejects a trace whose tenants cannot have the shares of a cache that an allocator gives them, if it does.
func CheckQuotas(c Spec, allocator *allocate.Spec, t *traces.Trace) error {
	switch {
	case !HasQuotas(c, allocator):
		return nil
	case Sweeps(allocator) && t.Times == nil:
		return fmt.Errorf("tenants are cut back to their quotas at times, but %s has none; choose static, whose quotas are "+
			"never exceeded", t.Name)
	}
	return t.CheckQuotas()
}

// HasOwnShares is HasQuotas where each tenant has a cache of its own. References have none.
func HasOwnShares(c Spec, allocator *allocate.Spec, policy policies.Spec) bool {
	return HasQuotas(c, allocator) && !allocator.Entry.Lends && policy.Entry.Kind == policies.Online
}

// WorksWithQuotas reports whether a policy can serve tenants who have shares of a cache of prompts, if they have.
func WorksWithQuotas(c Spec, allocator *allocate.Spec, p policies.Entry) bool {
	chooses := policies.Can[policies.Holder](p) && !policies.Can[policies.PromptHolder](p) &&
		!policies.Can[policies.GroupMisser](p)
	return !HasQuotas(c, allocator) || p.Kind == policies.Online && (chooses || !allocator.Entry.Lends)
}

// QuotaBytes estimates the memory of one more tenant with a share of a cache for so many blocks, and a policy that
// takes so much; 0 without shares.
func QuotaBytes(c Spec, allocator *allocate.Spec, policy, objects int64) int64 {
	if !HasQuotas(c, allocator) {
		return 0
	}
	return policy + c.Entry.Memory.Bytes(objects, 0, false)
}
