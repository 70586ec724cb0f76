package libraries

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/admission"
)

var theineEntries = []policies.Entry{{
	Name:   "theine",
	Look:   policies.Look{Color: policies.Pink, Mark: policies.Pentagon},
	Memory: policies.Memory{PerObject: 13, PerSlot: 24},
	Summary: "W-TinyLFU as the library Theine runs it: the window climbs by the hit ratio, and hits change nothing " +
		"until 16 of them have come together",
	Source: "Theine 0.6.3 for Go, github.com/Yiling-J/theine-go; Einziger, Eytan, Friedman, Manes, Adaptive software " +
		"cache management, Middleware 2018",
	Params: admission.TheineParams,
	Random: true,
	New:    func(c policies.Config) (policies.Policy, error) { return admission.NewTheine(c), nil },
}}
