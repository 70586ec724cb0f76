// Package all registers every policy that lives in a folder of its own. The simulator imports it for that effect; a new
// folder of policies is added here.
package all

import (
	_ "github.com/cachesim/cachesim/internal/policies/admission"  // tinylfu and w-tinylfu
	_ "github.com/cachesim/cachesim/internal/policies/baselines"  // 2-random and no-cache
	_ "github.com/cachesim/cachesim/internal/policies/density"    // lhd
	_ "github.com/cachesim/cachesim/internal/policies/experts"    // lecar and cacheus
	_ "github.com/cachesim/cachesim/internal/policies/laru"       // laru
	_ "github.com/cachesim/cachesim/internal/policies/learned"    // the other policies that ask predictors
	_ "github.com/cachesim/cachesim/internal/policies/multiqueue" // mq
	_ "github.com/cachesim/cachesim/internal/policies/offline"    // policies that see the future
	_ "github.com/cachesim/cachesim/internal/policies/rac"        // policies that sort queries into topics
)
