package challenge_test

// The tests replay policies that count.
import _ "github.com/cachesim/cachesim/internal/sim/all"
