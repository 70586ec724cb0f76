package bundle

import _ "github.com/cachesim/cachesim/internal/sim/all"
