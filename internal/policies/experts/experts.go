// Package experts holds the policies that follow one of two simpler ones at a time, at random with weights that follow
// what each is to blame for.
package experts

import "github.com/cachesim/cachesim/internal/policies"

func init() { policies.Register(policies.Experts, lecarEntry, cacheusEntry) }
