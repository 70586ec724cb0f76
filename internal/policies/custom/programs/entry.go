// Package programs has the policy exec: another program decides, in any language. It reads what happens in the cache
// from its standard input and writes the victims to its standard output; docs/policies-own.md has the protocol.
//
// Entry is the policy. Each replay starts a process of its own and ends it.
package programs

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/custom/events"
)

// Entry has no New without a command.
var Entry = policies.Entry{
	Name:    "exec",
	Look:    policies.Look{Color: policies.Vermilion, Mark: policies.Star},
	Memory:  policies.Memory{Fixed: 1 << 18, PerObject: 4, PerSlot: 4},
	Summary: "evicts the object that a program of yours names, in any language",
	Source:  "the program; docs/policies-own.md has the protocol",
	Params: []policies.Param{
		{Name: "command", Default: "", Command: true, Doc: "the program and its arguments, divided at blanks outside of " +
			"quotes; there is no shell. Records have the checksum of the words that are files"},
		{Name: "timeout", Default: 30.0, Min: 0.001, Max: 1e6, Doc: "seconds that the program has for each answer, and " +
			"to read what it is sent; a program that takes longer ends its replay with an error"},
		{Name: "admits", Default: false, Doc: "the program may leave out what is missed: it is compared with optima that " +
			"need not load either"},
	},
	Check: check,
	Resolve: func(e *policies.Entry, v policies.Values) {
		if check(v) == nil {
			e.Introduce = introduce
			e.New, e.Bypass, e.Type = start, v.Bool("admits"), events.TypeOf(events.Options{Admits: v.Bool("admits")})
		}
	},
}

func check(v policies.Values) error {
	words, err := params.Words(v.Text("command"))
	if err == nil && len(words) == 0 {
		err = errors.New(`no program is named; write exec(command="python3 my.py")`)
	}
	return err
}

// mostPrograms is how many policies of a replay may be programs.
const mostPrograms = 64

func start(c policies.Config) (policies.Policy, error) {
	v := c.Params
	options := events.Options{Name: fmt.Sprintf("exec(command=%s)", params.Quote(v.Text("command"))), Most: mostPrograms,
		Admits: v.Bool("admits"), Refuses: v.Bool("admits")}
	return events.New(c, options, func() (events.Outside, error) { return run(v, greeting(c)) })
}

// introduce starts the program and reads its greeting.
func introduce(v policies.Values) (name, source string, err error) {
	p, err := run(v, greeting(policies.Config{Capacity: 1, Unit: true}))
	if err != nil {
		return "", "", err
	}
	defer p.Close()
	g, err := p.greet()
	return g.name, g.source, err
}

// greeting returns what a program is told first.
func greeting(c policies.Config) string {
	unit := "bytes"
	if c.Unit {
		unit = "objects"
	}
	return fmt.Sprintf("cachesim %d capacity=%d unit=%s objects=%d requests=%d seed=%s", version, c.Capacity, unit,
		c.Objects, c.Requests, strconv.FormatUint(c.Seed, 10))
}
