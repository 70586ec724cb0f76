package boosted_test

// The tests parse policies, also those of other folders.
import _ "github.com/cachesim/cachesim/internal/policies/all"
