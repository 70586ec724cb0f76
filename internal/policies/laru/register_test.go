package laru

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/offline"
)

// Tests parse the policies of this package, and compare them with the optimum. The program registers them in package
// all.
func init() {
	policies.Register(policies.Predicting, Entries...)
	policies.Register(policies.Foresight, offline.Entries...)
}
