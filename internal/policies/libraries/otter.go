package libraries

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/admission"
)

var otterEntries = []policies.Entry{{
	Name:   "otter",
	Look:   policies.Look{Color: policies.Magenta, Mark: policies.Arrow},
	Memory: policies.Memory{PerObject: 9, PerSlot: 14},
	Summary: "W-TinyLFU as the library otter runs it: the window grows and shrinks by the hit ratio, in caches of any " +
		"size",
	Source: "otter 2.4.0, github.com/maypok86/otter/v2; Einziger, Eytan, Friedman, Manes, Adaptive software cache " +
		"management, Middleware 2018",
	Params: []policies.Param{admission.JitterParam},
	Random: true,
	New:    func(c policies.Config) (policies.Policy, error) { return admission.NewPlainCaffeine(c), nil },
}}
