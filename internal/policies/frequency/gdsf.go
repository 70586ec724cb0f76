package frequency

import "github.com/cachesim/cachesim/internal/policies"

var gdsfEntry = policies.Entry{
	Name:    "gdsf",
	Look:    policies.Look{Color: policies.Indigo, Mark: policies.Cross},
	Memory:  policies.Memory{PerObject: 20, PerSlot: 0},
	Summary: "greedy dual size frequency: evicts the smallest sum of requests * cost / size and age at the last request",
	Source: "Cherkasova, Improving WWW proxies performance with greedy-dual-size-frequency caching policy, " +
		"HPL-98-69R1, 1998",
	Params: []policies.Param{{
		Name: "cost", Default: "one", Choices: []string{"one", "packets"},
		Doc: "what a miss costs: one saves misses, packets (2 + size/536) also saves traffic",
	}, {
		Name: "rule", Default: "current", Choices: []string{"current", "2024", "caffeine"},
		Doc: "current: a new object is evicted again at once if it then has the lowest priority, as in libCacheSim today; " +
			"2024: it is always loaded, as in libCacheSim of that year; caffeine: one that would leave evicts nothing, and " +
			"ties go to the smallest key, not to the object requested longest ago",
	}},
	BypassIf: func(v policies.Values) bool { return v.Text("rule") != "2024" },
	Keys:     byKeys,
	New: func(c policies.Config) (policies.Policy, error) {
		if byKeys(c.Params) {
			return newGDSFWithNew(c), nil
		}
		competes := c.Params.Text("rule") == "current"
		if c.Params.Text("cost") == "packets" {
			return newAging(c, func(size float64) float64 { return million * packets(size) }, competes), nil
		}
		return newAging(c, func(float64) float64 { return million }, competes), nil
	},
}

// byKeys reports whether keys decide ties.
func byKeys(v policies.Values) bool { return v.Text("rule") == "caffeine" }

// million scales the priorities: they are per 10^6 bytes, as in libCacheSim, so that sums round in the same way.
const million = 1e6

// packets estimates how many TCP packets a miss of that many bytes sends and receives, as the paper counts them.
func packets(size float64) float64 { return 2 + size/536 }
