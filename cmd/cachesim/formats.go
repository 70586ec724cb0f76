package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/jsonlines"
	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/suggest"
	"github.com/cachesim/cachesim/internal/terminal"
	"github.com/cachesim/cachesim/internal/traces/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// formatNameWidth is what the first column of the table takes on a terminal, with the gaps.
const formatNameWidth = 18

func newFormatsCommand() *cobra.Command {
	var format formatFlag
	cmd := &cobra.Command{
		Use:   "formats [NAME...]",
		Short: "List the trace formats with their options, or describe some of them",
		Long: `Lists every trace format: what its records carry, how it is recognised, and its options with their defaults.
With names, describes these with an example and what each option means.

Compression by gzip, zstd, xz, bzip2, lz4, s2 and snappy and tar archives are recognised from the content of a file,
whatever its name. Embeddings of queries are part of some formats, or lie in a .npy or .fvecs file beside a trace
(--embeddings).`,
		Example: `  cachesim formats
  cachesim formats csv
  cachesim run --input-format csv:key=2,size=3,header=false requests.csv`,
		ValidArgsFunction: cobra.FixedCompletions(formats.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, names []string) error {
			chosen, err := findFormats(names)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			switch {
			case format == "json":
				return printFormatsJSON(w, chosen)
			case format == "table" && len(names) > 0:
				return describeFormats(w, chosen)
			}
			return printFormatTable(w, chosen, string(format))
		},
	}
	format.register(cmd)
	return cmd
}

// findFormats returns the formats with these names, or all.
func findFormats(names []string) ([]source.Format, error) {
	all := formats.All()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []source.Format
	for _, name := range names {
		i := slices.IndexFunc(all, func(f source.Format) bool { return f.Name == strings.ToLower(name) })
		if i < 0 {
			return nil, suggest.Unknown("trace format", name, formats.Names())
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// printFormatTable prints one row per format as table, csv or markdown. On a terminal, where a row of five columns
// would not fit, they stand below each other.
func printFormatTable(w io.Writer, list []source.Format, format string) error {
	t := records.NewTable()
	width := terminal.Width(w)
	narrow := format == "table" && width > 0
	if narrow {
		t.AppendHeader(table.Row{"format", "what it is, recognition, options"})
	} else {
		t.AppendHeader(table.Row{"format", "records", "use", "recognised by", "options"})
	}
	for _, f := range list {
		options := params.Format(f.Options, params.Defaults(f.Options))
		if narrow {
			options = strings.ReplaceAll(options, ",", ", ") // where the line may break
			t.AppendRow(table.Row{f.Name, terminal.WrapLines(max(width-formatNameWidth, 40), f.Summary, "recognised by "+f.Detection,
				options)})
			continue
		}
		t.AppendRow(table.Row{f.Name, f.Carries, useOf(f), f.Detection, options})
	}
	return printListing(w, t, format)
}

// useOf says whether a format can be written too.
func useOf(f source.Format) string {
	if slices.Contains(formats.WritableNames(), f.Name) {
		return "read, write"
	}
	return "read"
}

// describeFormats prints all there is to know about each format.
func describeFormats(w io.Writer, list []source.Format) error {
	var s strings.Builder
	for i, f := range list {
		if i > 0 {
			s.WriteString("\n")
		}
		fmt.Fprintf(&s, "%s (%s): %s\n", f.Name, useOf(f), f.Summary)
		fmt.Fprintf(&s, "  records carry %s\n  recognised by %s\n", f.Carries, f.Detection)
		if f.Example != "" {
			fmt.Fprintf(&s, "  example:\n    %s\n", strings.ReplaceAll(f.Example, "\n", "\n    "))
		}
		if len(f.Options) > 0 {
			fmt.Fprintf(&s, "  options, written %s:option=value,option=value:\n", f.Name)
		}
		for _, o := range f.Options {
			fmt.Fprintf(&s, "    %s=%v: %s (%s)\n", o.Name, o.Default, o.Doc, permitted(o))
		}
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// formatJSON is what --format json prints for a trace format, one per line.
type formatJSON struct {
	Name       string      `json:"name"`
	Summary    string      `json:"summary"`
	Example    string      `json:"example,omitempty"`
	Records    string      `json:"records"`
	Recognised string      `json:"recognised_by"`
	Use        string      `json:"use"`
	Options    []paramJSON `json:"options"`
}

func printFormatsJSON(w io.Writer, chosen []source.Format) error {
	var list []formatJSON
	for _, f := range chosen {
		list = append(list, formatJSON{
			Name: f.Name, Summary: f.Summary, Example: f.Example, Records: f.Carries, Recognised: f.Detection, Use: useOf(f),
			Options: paramsJSON(f.Options),
		})
	}
	return jsonlines.Write(w, list)
}
