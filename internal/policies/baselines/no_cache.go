package baselines

import "github.com/cachesim/cachesim/internal/policies"

var noCacheEntry = policies.Entry{
	Name:    "no-cache",
	Aliases: []string{"none"},
	Look:    policies.Look{Color: policies.Indigo, Mark: policies.Circle},
	Memory:  policies.Memory{PerSlot: 1e-9},
	Summary: "loads nothing, neither what is requested nor what is prefetched: every request misses",
	Source:  "cachesim",
	Bypass:  true,
	Idle:    true,
	New:     func(policies.Config) (policies.Policy, error) { return noCache{}, nil },
}

// noCache admits no object.
type noCache struct{}

func (noCache) Admit(policies.Request) bool                             { return false }
func (noCache) Hit(policies.Request)                                    {}
func (noCache) Miss(policies.Request)                                   {}
func (noCache) Insert(policies.Request)                                 {}
func (noCache) Remove(policies.Object)                                  {}
func (noCache) Grow(int)                                                {}
func (noCache) Victim(r policies.Request) policies.Object               { return r.Object }
func (noCache) ReplayUnit([]policies.Object, int) (hits, evictions int) { return 0, 0 }
