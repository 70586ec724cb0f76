package multiqueue

import "github.com/cachesim/cachesim/internal/policies"

// Tests parse the policies of this package, which package all registers in the program.
func init() { policies.Register(policies.Adaptive, Entries...) }
