package configuration_test

// Servers are also policies where all parts are registered.
import _ "github.com/cachesim/cachesim/internal/sim/all"
