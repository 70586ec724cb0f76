package cache

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/policies"
)

// managers build the caches of policies with Manages, by their names.
var managers = map[string]func(Config) (Cache, error){}

// RegisterManager says how the exact cache of a policy with Manages is built. The package of that policy calls it once,
// at program start; package all imports it.
func RegisterManager(family policies.Family, e policies.Entry, build func(Config) (Cache, error)) {
	policies.Register(family, e)
	managers[e.Name] = build
}

// newManaged returns the cache of a policy with Manages.
func newManaged(c Config) (Cache, error) {
	build, ok := managers[c.Policy.Name()]
	if !ok {
		return nil, fmt.Errorf("policy %s: no cache is registered for it", c.Policy.Name())
	}
	return build(c)
}
