package lrb

import "github.com/cachesim/cachesim/internal/policies"

// Tests parse the policy of this package, which package policies/all registers in the program.
func init() { policies.Register(policies.Predicting, Entries...) }
