package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/jsonlines"
	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/prefetch"
	"github.com/cachesim/cachesim/internal/suggest"
)

func newPrefetchersCommand() *cobra.Command {
	var format formatFlag
	cmd := &cobra.Command{
		Use:   "prefetchers [NAME...]",
		Short: "List the prefetchers with their parameters and sources, or describe some of them",
		Long: `Lists every prefetcher, which proposes what a cache should load besides what is asked for: its kind (those of the
kind addresses compute with the keys of the trace, which must be numbers; those of the kind objects propose what has
been asked for before), what it proposes, its parameters with their defaults, and the paper or page that defines it.
With names, describes these with the memory that they take, what each parameter means and which values it takes.`,
		Example: `  cachesim prefetchers
  cachesim prefetchers next mithril`,
		ValidArgsFunction: cobra.FixedCompletions(prefetch.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, names []string) error {
			entries, err := findPrefetchers(names)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			switch {
			case format == "json":
				return printPrefetchersJSON(w, entries)
			case format == "table" && len(names) > 0:
				return describePrefetchers(w, entries)
			}
			return printPrefetcherTable(w, entries, string(format))
		},
	}
	format.register(cmd)
	return cmd
}

// findPrefetchers returns the entries with these names, or all.
func findPrefetchers(names []string) ([]prefetch.Entry, error) {
	if len(names) == 0 {
		return prefetch.All(), nil
	}
	var entries []prefetch.Entry
	for _, name := range names {
		e, ok := prefetch.Find(name)
		if !ok {
			return nil, suggest.Unknown("prefetcher", name, prefetch.Names())
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func printPrefetcherTable(w io.Writer, entries []prefetch.Entry, format string) error {
	l := listing{noun: "prefetcher", does: "proposes"}
	for _, e := range entries {
		l.rows = append(l.rows, listed{e.Name, kindOfPrefetcher(e), e.Summary,
			params.Format(e.Params, params.Defaults(e.Params)), e.Source})
	}
	return l.print(w, format)
}

// kindOfPrefetcher says what a prefetcher computes with.
func kindOfPrefetcher(e prefetch.Entry) string {
	if e.Addresses {
		return "addresses"
	}
	return "objects"
}

// describePrefetchers prints all there is to know about each prefetcher.
func describePrefetchers(w io.Writer, entries []prefetch.Entry) error {
	var s strings.Builder
	for i, e := range entries {
		if i > 0 {
			s.WriteString("\n")
		}
		fmt.Fprintf(&s, "%s (%s): %s\n", e.Name, kindOfPrefetcher(e), e.Summary)
		fmt.Fprintf(&s, "  memory: %s\n", e.Memory)
		describeSource(&s, e.Source, e.Params)
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// prefetcherJSON is what --format json prints for a prefetcher, one per line.
type prefetcherJSON struct {
	Name       string      `json:"name"`
	Kind       string      `json:"kind"`
	Summary    string      `json:"summary"`
	Source     string      `json:"source"`
	Memory     string      `json:"memory"`
	Parameters []paramJSON `json:"parameters"`
}

func printPrefetchersJSON(w io.Writer, entries []prefetch.Entry) error {
	var list []prefetcherJSON
	for _, e := range entries {
		list = append(list, prefetcherJSON{
			Name:       e.Name,
			Kind:       kindOfPrefetcher(e),
			Summary:    e.Summary,
			Source:     e.Source,
			Memory:     e.Memory,
			Parameters: paramsJSON(e.Params),
		})
	}
	return jsonlines.Write(w, list)
}
