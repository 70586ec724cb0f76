package trainer_test

// Training replays parts of all kinds.
import _ "github.com/cachesim/cachesim/internal/sim/all"
