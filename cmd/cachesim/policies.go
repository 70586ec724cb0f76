package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/jsonlines"
	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/suggest"
	"github.com/cachesim/cachesim/internal/terminal"
)

// nameAndKindWidth is what the first two columns of the table take on a terminal, with the gaps.
const nameAndKindWidth = 26

func newPoliciesCommand() *cobra.Command {
	var format formatFlag
	cmd := &cobra.Command{
		Use:   "policies [NAME...]",
		Short: "List the policies with their parameters and sources, or describe some of them",
		Long: `Lists every policy: its kind (online policies see the past only, offline ones the whole trace, a bound is no
policy but a number of misses that none can undercut), what it evicts, its parameters with their defaults, and the paper
or page that defines it. With names, describes these with what each parameter means and which values it takes.`,
		Example: `  cachesim policies
  cachesim policies s3fifo lirs
  cachesim policies --format json | jq .name`,
		ValidArgsFunction: cobra.FixedCompletions(policies.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, names []string) error {
			entries, err := findPolicies(names)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			switch {
			case format == "json":
				return printPoliciesJSON(w, entries)
			case format == "table" && len(names) > 0:
				return describePolicies(w, entries)
			}
			return printPolicyTable(w, entries, string(format))
		},
	}
	format.register(cmd)
	return cmd
}

// findPolicies returns the entries with these names, or all.
func findPolicies(names []string) ([]policies.Entry, error) {
	if len(names) == 0 {
		return policies.All(), nil
	}
	var entries []policies.Entry
	for _, name := range names {
		e, ok := policies.Find(name)
		if !ok {
			return nil, suggest.Unknown("policy", name, policies.Names())
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// printPolicyTable prints one row per policy as table, csv or markdown.
func printPolicyTable(w io.Writer, entries []policies.Entry, format string) error {
	l := listing{noun: "policy", does: "evicts"}
	for _, e := range entries {
		l.rows = append(l.rows, listed{e.Name, e.Kind.String(), e.Summary, params.Format(e.Params, params.Defaults(e.Params)),
			e.Source})
	}
	return l.print(w, format)
}

// listing is a registry as a table.
type listing struct {
	noun string // what a row is
	does string // what its summary says
	rows []listed
}

// listed is an entry of a registry in a table.
type listed struct{ name, kind, summary, params, source string }

// print prints one row per entry as table, csv or markdown. On a terminal, where a row of five columns would not fit,
// what the entry does, its parameters and its source stand below each other.
func (l listing) print(w io.Writer, format string) error {
	t := records.NewTable()
	width := terminal.Width(w)
	narrow := format == "table" && width > 0
	if narrow {
		t.AppendHeader(table.Row{l.noun, "kind", "what it " + l.does + ", parameters, source"})
	} else {
		t.AppendHeader(table.Row{l.noun, "kind", l.does, "parameters", "source"})
	}
	for _, r := range l.rows {
		if narrow {
			spaced := strings.ReplaceAll(r.params, ",", ", ") // a break is only possible at a space
			t.AppendRow(table.Row{r.name, r.kind, terminal.WrapLines(max(width-nameAndKindWidth, 40), r.summary, spaced, r.source)})
			continue
		}
		t.AppendRow(table.Row{r.name, r.kind, r.summary, r.params, r.source})
	}
	return printListing(w, t, format)
}

// printListing prints t as table, csv or markdown.
func printListing(w io.Writer, t table.Writer, format string) error {
	render := map[string]func() string{"table": t.Render, "csv": t.RenderCSV, "markdown": t.RenderMarkdown}
	_, err := fmt.Fprintln(w, render[format]())
	return err
}

// describePolicies prints all there is to know about each policy.
func describePolicies(w io.Writer, entries []policies.Entry) error {
	var s strings.Builder
	for i, e := range entries {
		if i > 0 {
			s.WriteString("\n")
		}
		fmt.Fprintf(&s, "%s (%s): %s\n", e.Name, e.Kind, e.Summary)
		for _, line := range policyTraits(e) {
			fmt.Fprintf(&s, "  %s\n", line)
		}
		describeSource(&s, e.Source, e.Params)
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// describeSource prints where an entry comes from and what its parameters mean.
func describeSource(s *strings.Builder, source string, ps []params.Param) {
	fmt.Fprintf(s, "  source: %s\n", source)
	for _, p := range ps {
		fmt.Fprintf(s, "  %s=%v: %s (%s)\n", p.Name, p.Default, p.Doc, permitted(p))
	}
}

// policyTraits says what a user should know before choosing a policy.
func policyTraits(e policies.Entry) []string {
	var lines []string
	if len(e.Aliases) > 0 {
		lines = append(lines, "also called "+strings.Join(e.Aliases, ", "))
	}
	lines = append(lines, "capacity in "+unitsOf(e))
	if e.Bypass {
		lines = append(lines, "may leave a missed object out, so that it is held against opt-bypass")
	}
	if e.BypassIf != nil {
		lines = append(lines, "may leave a missed object out with some parameters, and is then held against opt-bypass")
	}
	if e.Unbounded {
		lines = append(lines, "ignores the capacity")
	}
	if needsClock(e) {
		lines = append(lines, "needs a trace with times, unless its parameters say otherwise")
	}
	if e.Similar {
		lines = append(lines, "of the caches exact and semantic")
	}
	if e.Predicts {
		lines = append(lines, "asks a predictor when objects are requested again: see cachesim predictors")
	}
	return lines
}

// needsClock reports whether the policy with its defaults needs a trace with times.
func needsClock(e policies.Entry) bool {
	return policies.NeedsClock(policies.Spec{Entry: e, Params: params.Defaults(e.Params)})
}

func unitsOf(e policies.Entry) string {
	switch e.Units {
	case policies.UnitsObjects:
		return "objects only"
	case policies.UnitsBytes:
		return "bytes only"
	}
	return "objects or bytes"
}

// permitted says which values a parameter takes.
func permitted(p policies.Param) string {
	switch p.Default.(type) {
	case bool:
		return "true or false"
	case string:
		if len(p.Choices) == 0 {
			return "any text"
		}
		return strings.Join(p.Choices, " or ")
	case int:
		return "a whole number " + p.Range()
	}
	return "a number " + p.Range()
}

// policyJSON is what --format json prints for a policy, one per line.
type policyJSON struct {
	Name       string      `json:"name"`
	Aliases    []string    `json:"aliases"`
	Kind       string      `json:"kind"`
	Summary    string      `json:"summary"`
	Source     string      `json:"source"`
	Capacity   string      `json:"capacity"`
	Bypass     bool        `json:"bypass"`
	Unbounded  bool        `json:"unbounded"`
	NeedsTime  bool        `json:"needs_time"`
	Predicts   bool        `json:"predicts"`
	Parameters []paramJSON `json:"parameters"`
}

type paramJSON struct {
	Name    string   `json:"name"`
	Default any      `json:"default"`
	Doc     string   `json:"doc"`
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Choices []string `json:"choices,omitempty"`
}

func printPoliciesJSON(w io.Writer, entries []policies.Entry) error {
	var list []policyJSON
	for _, e := range entries {
		list = append(list, policyJSON{
			Name:    e.Name,
			Aliases: append([]string{}, e.Aliases...),
			Kind:    e.Kind.String(),
			Summary: e.Summary,
			Source:  e.Source,
			Capacity: unitsOf(
				e,
			),
			Bypass:     e.Bypass,
			Unbounded:  e.Unbounded,
			NeedsTime:  needsClock(e),
			Predicts:   e.Predicts,
			Parameters: paramsJSON(e.Params),
		})
	}
	return jsonlines.Write(w, list)
}

// paramsJSON returns an empty list where there are none.
func paramsJSON(ps []policies.Param) []paramJSON {
	list := []paramJSON{}
	for _, p := range ps {
		list = append(list, newParamJSON(p))
	}
	return list
}

func newParamJSON(p policies.Param) paramJSON {
	j := paramJSON{Name: p.Name, Default: p.Default, Doc: p.Doc, Choices: p.Choices}
	switch p.Default.(type) {
	case int, float64:
		j.Min = &p.Min
		if p.Max != 0 {
			j.Max = &p.Max
		}
	}
	return j
}
