package frequency

import "github.com/cachesim/cachesim/internal/policies"

var lfuDAEntry = policies.Entry{
	Name:    "lfu-da",
	Look:    policies.Look{Color: policies.Orange, Mark: policies.Circle},
	Memory:  policies.Memory{PerObject: 20, PerSlot: 0},
	Aliases: []string{"lfuda"},
	Summary: "LFU with dynamic aging: evicts the smallest sum of requests and age at the last request",
	Source: "Arlitt, Cherkasova, Dilley, Friedrich, Jin, Evaluating content management techniques for Web proxy " +
		"caches, SIGMETRICS PER 2000",
	New: func(c policies.Config) (policies.Policy, error) {
		return newAging(c, func(size float64) float64 { return size }), nil
	},
}
