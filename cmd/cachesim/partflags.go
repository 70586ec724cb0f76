package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/serving/route"
	"github.com/cachesim/cachesim/internal/sim"
)

// partFlags are the flags that choose the parts that policies are combined with, one flag for each kind of part.
type partFlags struct{ texts map[*sim.Kind]*string }

// register adds the flags of some kinds, each with what its help says.
func (f *partFlags) register(cmd *cobra.Command, usage func(records.PartFlag) string, kinds ...*sim.Kind) {
	f.texts = map[*sim.Kind]*string{}
	for _, kind := range kinds {
		f.texts[kind] = cmd.Flags().String(flagOf(kind), kind.Flag.Default, usage(kind.Flag))
		completeNames(cmd, flagOf(kind), kind.Names)
	}
}

func ofList(f records.PartFlag) string { return f.List } // the flag accepts a list
func ofOne(f records.PartFlag) string  { return f.One }  // it accepts one part

func flagOf(kind *sim.Kind) string { return cmp.Or(kind.Flag.Name, kind.Name) }

// setNodes gives the routers of the flag for these the number of nodes of a flag of its own.
func (f *partFlags) setNodes(nodes string, given bool) (err error) {
	text := f.texts[sim.RouterKind]
	if given {
		*text, err = route.WithNodes(*text, nodes)
	}
	return err
}

func (f *partFlags) lists() (map[*sim.Kind][]sim.Part, error) {
	all := map[*sim.Kind][]sim.Part{}
	for _, kind := range sim.Kinds {
		if text := f.texts[kind]; text != nil && (*text != "" || kind.Default != "") {
			parts, err := kind.ParseList(*text)
			if err != nil {
				return nil, err
			}
			all[kind] = parts
		}
	}
	return all, nil
}

// single adds one part of each kind with a flag to parts, which already have a policy, if the policy works with such a
// part.
func (f *partFlags) single(parts *sim.Parts) error {
	for _, kind := range sim.Kinds {
		text := f.texts[kind]
		if text == nil || kind.AskedBy != nil && !kind.AskedBy(parts.Policy.Entry) {
			continue
		}
		part, err := kind.Parse(*text)
		if err != nil {
			return cmp.Or(severalParts(kind, *text), err)
		}
		part.Into(parts)
	}
	return nil
}

// severalParts says that a text lists parts where one is wanted; nil if it does not.
func severalParts(kind *sim.Kind, text string) error {
	parts, err := kind.ParseList(text)
	if err != nil || len(parts) < 2 {
		return nil
	}
	return fmt.Errorf("--%s %s lists %d %s; want one (cachesim run takes several)", flagOf(kind), text, len(parts),
		kind.Plural)
}
