package experiments_test

// The tests replay parts of all kinds.
import _ "github.com/cachesim/cachesim/internal/sim/all"
