// Package cache contains the caches: what counts as a hit, what can be evicted and how full a cache is. Each is built
// on pools, which contain the resident objects under one policy; the policy chooses the victims.
package cache
