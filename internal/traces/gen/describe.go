package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
)

// Names returns the names of all generators, in the order of the lists.
func Names() []string {
	var names []string
	for _, e := range entries() {
		names = append(names, e.Name)
	}
	return names
}

// Describe returns a line about each generator: its parameters, and what it generates.
func Describe() []string {
	var lines []string
	for _, e := range entries() {
		lines = append(lines, params.Signature(e.Name, e.Params)+": "+e.Summary)
	}
	return lines
}

// Summaries lists the generators in a line each, indented.
func Summaries() string {
	var list strings.Builder
	for _, e := range entries() {
		fmt.Fprintf(&list, "  %-14s %s\n", e.Name, e.Summary)
	}
	return list.String()
}

// Usage describes a parameter. In brackets are the generators that have it or, for a common parameter, the generators
// with another default. Where it means something else to a generator, that follows.
func Usage(p params.Param) string {
	common := slices.ContainsFunc(Common, func(c params.Param) bool { return c.Name == p.Name })
	var takers, others []string
	for _, e := range entries() {
		for _, q := range e.Params {
			switch {
			case q.Name != p.Name || common && q.Default == p.Default:
			case common:
				takers = append(takers, fmt.Sprintf("%s: %v", e.Name, q.Default))
			case q.Doc != p.Doc:
				others = append(others, fmt.Sprintf("; %s [%s]", q.Doc, e.Name))
			default:
				takers = append(takers, e.Name)
			}
		}
	}
	if len(takers) == 0 {
		return p.Doc
	}
	return p.Doc + " [" + strings.Join(takers, ", ") + "]" + strings.Join(others, "")
}
