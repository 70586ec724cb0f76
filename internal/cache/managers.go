package cache

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/policies"
)

// managers build the caches of policies with Manages, by their names.
var managers = map[string]func(Config) (Cache, error){}

// RegisterManagers registers policies with Manages, and how their caches are built.
func RegisterManagers(family policies.Family, build func(Config) (Cache, error), entries ...policies.Entry) {
	policies.Register(family, entries...)
	for _, e := range entries {
		managers[e.Name] = build
	}
}

// newManaged returns the cache of a policy with Manages.
func newManaged(c Config) (Cache, error) {
	build, ok := managers[c.Policy.Name()]
	if !ok {
		return nil, fmt.Errorf("policy %s: no cache is registered for it", c.Policy.Name())
	}
	return build(c)
}
