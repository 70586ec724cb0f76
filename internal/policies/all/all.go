// Package all registers every policy that has a folder of its own. The simulator imports it for that; a new folder of
// policies is added here.
package all

import (
	_ "github.com/cachesim/cachesim/internal/policies/experts" // lecar and cacheus
	_ "github.com/cachesim/cachesim/internal/policies/laru"    // laru
	_ "github.com/cachesim/cachesim/internal/policies/learned" // the others that ask predictors
	_ "github.com/cachesim/cachesim/internal/policies/offline" // those that know what comes
	_ "github.com/cachesim/cachesim/internal/policies/rac"     // those that sort queries into topics
)
