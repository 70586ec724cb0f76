// Package all has the table of the policies that live in folders of their own, and registers them. Whoever replays
// policies imports it; a new folder of policies is a line here.
package all

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/admission"
	"github.com/cachesim/cachesim/internal/policies/baselines"
	"github.com/cachesim/cachesim/internal/policies/density"
	"github.com/cachesim/cachesim/internal/policies/engines"
	"github.com/cachesim/cachesim/internal/policies/experts"
	"github.com/cachesim/cachesim/internal/policies/laru"
	"github.com/cachesim/cachesim/internal/policies/learned"
	"github.com/cachesim/cachesim/internal/policies/lrb"
	"github.com/cachesim/cachesim/internal/policies/multiqueue"
	"github.com/cachesim/cachesim/internal/policies/offline"
	"github.com/cachesim/cachesim/internal/policies/rac"
)

func init() {
	for _, folder := range []struct {
		family  policies.Family
		entries []policies.Entry
	}{
		{policies.Admission, admission.Entries},
		{policies.Baselines, baselines.Entries},
		{policies.Sampled, density.Entries},
		{policies.Experts, experts.Entries},
		{policies.Predicting, laru.Entries},
		{policies.Predicting, learned.Entries},
		{policies.Predicting, lrb.Entries},
		{policies.Adaptive, multiqueue.Entries},
		{policies.Foresight, offline.Entries},
		{policies.Topics, rac.Entries},
		{policies.Engines, engines.Stores},
	} {
		policies.Register(folder.family, folder.entries...)
	}
}
