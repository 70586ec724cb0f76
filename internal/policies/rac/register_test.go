package rac

import "github.com/cachesim/cachesim/internal/policies"

// Tests parse the policies of this package, which package policies/all registers in the program.
func init() { policies.Register(policies.Topics, Entries...) }
