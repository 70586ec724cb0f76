// Package all has the table of the policies, and registers them. Whoever replays policies imports it, as do tests below
// the simulator; a new folder of policies is a line here.
package all

import (
	_ "github.com/cachesim/cachesim/internal/oracle/predictors" // which policies take, and opt-marking by name
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/adaptive"
	"github.com/cachesim/cachesim/internal/policies/admission"
	"github.com/cachesim/cachesim/internal/policies/baselines"
	"github.com/cachesim/cachesim/internal/policies/boosted"
	"github.com/cachesim/cachesim/internal/policies/custom"
	"github.com/cachesim/cachesim/internal/policies/engines"
	"github.com/cachesim/cachesim/internal/policies/experts"
	"github.com/cachesim/cachesim/internal/policies/frequency"
	"github.com/cachesim/cachesim/internal/policies/laru"
	"github.com/cachesim/cachesim/internal/policies/learned"
	"github.com/cachesim/cachesim/internal/policies/libraries"
	"github.com/cachesim/cachesim/internal/policies/offline"
	"github.com/cachesim/cachesim/internal/policies/queues"
	"github.com/cachesim/cachesim/internal/policies/rac"
	"github.com/cachesim/cachesim/internal/policies/recency"
	"github.com/cachesim/cachesim/internal/policies/sampled"
)

func init() {
	for _, folder := range []struct {
		family  policies.Family
		entries []policies.Entry
	}{
		{policies.Queues, queues.Entries},
		{policies.LastUse, recency.Entries},
		{policies.LastUse, libraries.Ordered},
		{policies.Adaptive, adaptive.Entries},
		{policies.Frequency, frequency.Entries},
		{policies.Experts, experts.Entries},
		{policies.Admission, admission.Entries},
		{policies.Admission, libraries.Entries},
		{policies.Sampled, sampled.Entries},
		{policies.Baselines, baselines.Entries},
		{policies.Foresight, offline.Entries},
		{policies.Predicting, laru.Entries},
		{policies.Predicting, learned.Entries},
		{policies.Predicting, boosted.Entries},
		{policies.Topics, rac.Entries},
		{policies.Engines, engines.Stores},
		{policies.Custom, custom.Entries},
	} {
		policies.Register(folder.family, folder.entries...)
	}
}
