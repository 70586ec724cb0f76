package servers_test

// The tests replay with all parts, as the program does.
import _ "github.com/cachesim/cachesim/internal/sim/all"
