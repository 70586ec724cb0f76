package challenge_test

// The tests parse policies.
import _ "github.com/cachesim/cachesim/internal/policies/all"
