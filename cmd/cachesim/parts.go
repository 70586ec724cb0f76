package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/allocate"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/jsonlines"
	"github.com/cachesim/cachesim/internal/models"
	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/suggest"
	"github.com/cachesim/cachesim/internal/terminal"
)

// part is something that a policy is combined with, as a listing shows it.
type part struct {
	name    string
	summary string
	source  string
	traits  []string // what a user should know before choosing it, a sentence without its end each
	params  []params.Param
}

func newCachesCommand() *cobra.Command {
	return newPartsCommand("cache", "what a hit is and what may leave", "run --cache", "exact", cacheParts())
}

func cacheParts() (parts []part) {
	for _, e := range cache.All() {
		p := part{e.Name, e.Summary, e.Source, nil, e.Params}
		if e.ObjectsOnly {
			p.traits = append(p.traits, "capacity in objects only")
		}
		if e.Prompts {
			p.traits = append(p.traits, "needs a trace of prompts; a warm-up counts them")
		}
		parts = append(parts, p)
	}
	return parts
}

func newModelsCommand() *cobra.Command {
	return newPartsCommand("model", "what takes time", "run --model", "sls", modelParts())
}

func modelParts() (parts []part) {
	for _, e := range models.All() {
		parts = append(parts, part{e.Name, e.Summary, e.Source, []string{"works on the cache " + e.Cache}, e.Params})
	}
	return parts
}

func newAllocatorsCommand() *cobra.Command {
	return newPartsCommand("allocator", "how one capacity is divided among tenants", "run --allocate", "ucp",
		allocatorParts())
}

func allocatorParts() (parts []part) {
	for _, e := range allocate.All() {
		p := part{e.Name, e.Summary, e.Source, nil, e.Params}
		if e.Future {
			p.traits = append(p.traits, "offline: knows the whole trace")
		}
		parts = append(parts, p)
	}
	return parts
}

// newPartsCommand returns the command that lists parts of a kind; what says what a part decides, flag where one is
// chosen.
func newPartsCommand(kind, what, flag, example string, parts []part) *cobra.Command {
	var format formatFlag
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	cmd := &cobra.Command{
		Use:   kind + "s [NAME...]",
		Short: fmt.Sprintf("List the %ss with their parameters and sources, or describe some of them", kind),
		Long: fmt.Sprintf(`Lists every %[1]s: %[2]s, its parameters with their defaults, and where it is described. One is chosen with
cachesim %[3]s. With names, describes these with what each parameter means and which values it takes.`, kind, what, flag),
		Example: fmt.Sprintf(`  cachesim %[1]ss
  cachesim %[1]ss %[2]s
  cachesim %[1]ss --format json | jq .name`, kind, example),
		ValidArgsFunction: cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, wanted []string) error {
			found := parts
			if len(wanted) > 0 {
				found = nil
			}
			for _, name := range wanted {
				i := slices.IndexFunc(parts, func(p part) bool { return strings.EqualFold(p.name, name) })
				if i < 0 {
					return suggest.Unknown(kind, name, names)
				}
				found = append(found, parts[i])
			}
			w := cmd.OutOrStdout()
			switch {
			case format == "json":
				return printPartsJSON(w, found)
			case format == "table" && len(wanted) > 0:
				return describeParts(w, found)
			}
			return printPartTable(w, kind, what, found, string(format))
		},
	}
	format.register(cmd)
	return cmd
}

// partWidth is what the column of names takes on a terminal, with the gaps.
const partWidth = 13

// printPartTable prints one row per part as table, csv or markdown. On a terminal its columns but the first stand below
// each other.
func printPartTable(w io.Writer, kind, what string, parts []part, format string) error {
	t := records.NewTable()
	width := terminal.Width(w)
	narrow := format == "table" && width > 0
	if narrow {
		t.AppendHeader(table.Row{kind, what + ", parameters, source"})
	} else {
		t.AppendHeader(table.Row{kind, what, "parameters", "source"})
	}
	for _, p := range parts {
		defaults := params.Format(p.params, params.Defaults(p.params))
		if narrow {
			// A break is only possible at a space.
			spaced := strings.ReplaceAll(defaults, ",", ", ")
			t.AppendRow(table.Row{p.name, terminal.WrapLines(max(width-partWidth, 40), p.summary, spaced, p.source)})
			continue
		}
		t.AppendRow(table.Row{p.name, p.summary, defaults, p.source})
	}
	return printListing(w, t, format)
}

// describeParts prints all there is to know about each part.
func describeParts(w io.Writer, parts []part) error {
	var s strings.Builder
	line := func(indent int, sentence string) {
		margin := strings.Repeat(" ", indent)
		for i, line := range strings.Split(text.WrapSoft(sentence, terminal.TextWidth(w)-indent-2), "\n") {
			if i > 0 {
				margin = strings.Repeat(" ", indent+2)
			}
			s.WriteString(margin + strings.TrimRight(line, " ") + "\n")
		}
	}
	for i, p := range parts {
		if i > 0 {
			s.WriteString("\n")
		}
		line(0, fmt.Sprintf("%s: %s", p.name, p.summary))
		for _, trait := range p.traits {
			line(2, trait)
		}
		line(2, "source: "+p.source)
		for _, param := range p.params {
			line(2, fmt.Sprintf("%s=%v: %s (%s)", param.Name, param.Default, param.Doc, permitted(param)))
		}
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// partJSON is what --format json prints for a part, one per line.
type partJSON struct {
	Name       string      `json:"name"`
	Summary    string      `json:"summary"`
	Source     string      `json:"source"`
	Traits     []string    `json:"traits"`
	Parameters []paramJSON `json:"parameters"`
}

func printPartsJSON(w io.Writer, parts []part) error {
	var list []partJSON
	for _, p := range parts {
		list = append(list, partJSON{p.name, p.summary, p.source, append([]string{}, p.traits...), paramsJSON(p.params)})
	}
	return jsonlines.Write(w, list)
}
