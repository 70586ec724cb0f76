package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/serving/route"
	"github.com/cachesim/cachesim/internal/sim"
)

// partFlags are the flags that choose the parts that policies are combined with, one flag for each kind of part.
type partFlags struct{ texts map[*sim.Kind]*string }

// registerLists adds a flag for each kind, which accepts a list.
func (f *partFlags) registerLists(cmd *cobra.Command) {
	for _, kind := range sim.Kinds {
		f.register(cmd, kind, kind.Flag.List)
	}
}

// registerSingle adds the flags of some kinds, which accept one part each.
func (f *partFlags) registerSingle(cmd *cobra.Command, kinds ...*sim.Kind) {
	for _, kind := range kinds {
		f.register(cmd, kind, kind.Flag.One)
	}
}

func (f *partFlags) register(cmd *cobra.Command, kind *sim.Kind, usage string) {
	if f.texts == nil {
		f.texts = map[*sim.Kind]*string{}
	}
	name := flagOf(kind)
	f.texts[kind] = cmd.Flags().String(name, kind.Flag.Default, usage)
	completeNames(cmd, name, kind.Names)
}

func flagOf(kind *sim.Kind) string { return cmp.Or(kind.Flag.Name, kind.Name) }

// setNodes gives the routers of the flag for these the number of nodes of a flag of its own.
func (f *partFlags) setNodes(nodes string, given bool) (err error) {
	text := f.texts[sim.RouterKind]
	if given {
		*text, err = route.WithNodes(*text, nodes)
	}
	return err
}

// nodesNote says which router prompts have if only the number of nodes is given; "" otherwise.
func (f *partFlags) nodesNote(nodes, route bool) string {
	if !nodes || route {
		return ""
	}
	return "the nodes serve prompts in turn (" + *f.texts[sim.RouterKind] + "); --route chooses other routers"
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
		if text == nil || !asks(parts.Policy.Entry, kind) {
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

// asks reports whether a policy uses parts of the kind.
func asks(e policies.Entry, kind *sim.Kind) bool { return kind.AskedBy == nil || kind.AskedBy(e) }
