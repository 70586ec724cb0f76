// Package modules evicts what WebAssembly modules of users say. They run in a sandbox; see package sandbox.
//
// A policy is a few functions, which the module exports. Between them and the program is a driver, a module of our own
// that calls them for a block of events, or for a whole run of requests.
package modules

import (
	"github.com/cachesim/cachesim/internal/base/sandbox"
	"github.com/cachesim/cachesim/internal/policies"
)

// Entry is the policy wasm.
var Entry = policies.Entry{
	Name:    "wasm",
	Look:    policies.Look{Color: policies.Green, Mark: policies.Star},
	Memory:  policies.Memory{Fixed: 1 << 18, PerObject: 32},
	Summary: "evicts what a WebAssembly module of yours says, in a sandbox",
	Source:  "the module, of any language: C, Rust, Zig, TinyGo, AssemblyScript; runs in github.com/tetratelabs/wazero",
	Params: []policies.Param{
		{Name: "file", Default: "", File: true, Doc: "the module; parameters that it has besides these are numbers, with " +
			"the names that it gives them"},
		{Name: "steps", Default: 10_000_000, Min: 1, Max: 1 << 40, Doc: "rounds of loops, and calls of functions, that " +
			"each call of the module may take; grow and resize may take 16 more per object"},
		{Name: "memory", Default: 1024, Min: 1, Max: 4096, Doc: "MiB that the module may have"},
	},
	OpenParams: true,
	Check:      func(v policies.Values) error { _, err := read(v); return err },
	Resolve:    resolve,
}

// resolve sets what depends on the module.
func resolve(entry *policies.Entry, v policies.Values) {
	p, err := read(v)
	if err != nil {
		return // Check has reported it
	}
	entry.New = p.new
	entry.Type = p.kind()
	entry.Bypass = p.has("admit")
	if p.name != "" {
		entry.Summary = p.name + ", a WebAssembly module"
	}
	if p.source != "" {
		entry.Source = p.source
	}
	entry.Random = p.has("seed")
	if p.has("clock") {
		entry.NeedsTime = func(policies.Values) bool { return true }
	}
}

// parameterPrefix begins the names of functions that set a parameter.
const parameterPrefix = "param_"

// of returns the signature of a function without a result.
func of(parameters ...string) sandbox.Signature { return sandbox.Signature{Parameters: parameters} }

// toI32 is of for a function that returns an i32.
func toI32(parameters ...string) sandbox.Signature {
	return sandbox.Signature{Parameters: parameters, Results: []string{"i32"}}
}

// functions are those of a policy in a module, all of which the driver imports.
var functions = []sandbox.Function{
	{Name: "hit", Signature: of("i32", "i64")},
	{Name: "miss", Signature: of("i32", "i64")},
	{Name: "victim", Signature: toI32("i32", "i64")},
	{Name: "insert", Signature: of("i32", "i64")},
	{Name: "remove", Signature: of("i32")},
	{Name: "admit", Signature: toI32("i32", "i64"), Optional: true, Default: 1},
	{Name: "grow", Signature: of("i32"), Optional: true},
	{Name: "resize", Signature: of("i64", "i32"), Optional: true},
	{Name: "resized", Signature: of("i32", "i64"), Optional: true},
	{Name: "seed", Signature: of("i64"), Optional: true},
	{Name: "clock", Signature: of("i64"), Optional: true},
	{Name: "reason", Signature: of("i32"), Optional: true},
	{Name: "name", Signature: toI32(), Optional: true},
	{Name: "source", Signature: toI32(), Optional: true},
}
