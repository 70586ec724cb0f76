package lists

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

type formatJSON struct {
	Name       string      `json:"name"`
	Summary    string      `json:"summary"`
	Example    string      `json:"example,omitempty"`
	Records    string      `json:"records"`
	Recognised string      `json:"recognised_by"`
	Use        string      `json:"use"`
	Options    []paramJSON `json:"options"`
}

func Formats() List {
	l := List{
		Noun: "trace format",
		Columns: []tabular.Head{wordHead("format"), textHead("records"), wordHead("use"), textHead("recognised by"),
			textHead("options")},
		Kept: 1, Below: "what it is, recognition, options",
	}
	for _, f := range formats.All() {
		options := defaultsOf(f.Options)
		l.Items = append(l.Items, Item{
			Name:  f.Name,
			Row:   []string{f.Name, recordsOf(f), useOf(f), f.Detection, options},
			Texts: []string{f.Summary, "recognised by " + f.Detection, breakable(options)},
			About: aboutFormat(f),
			JSON: formatJSON{
				Name: f.Name, Summary: f.Summary, Example: f.Example, Records: recordsOf(f), Recognised: f.Detection,
				Use: useOf(f), Options: paramsJSON(f.Options),
			},
		})
	}
	return l
}

// recordsOf lists the fields of records, and the effect of writes, unless they count as any other request.
func recordsOf(f source.Format) string {
	if f.Writes == stream.WritesCount {
		return f.Carries
	}
	return fmt.Sprintf("%s; writes %s", f.Carries, f.Writes)
}

// useOf says whether a format can also be written, or which commands use one without requests.
func useOf(f source.Format) string {
	if f.NoRequests != "" {
		return f.NoRequests
	}
	if slices.Contains(formats.WritableNames(), f.Name) {
		return "read, write"
	}
	return "read"
}

func aboutFormat(f source.Format) []string {
	lines := []string{
		fmt.Sprintf("%s (%s): %s", f.Name, useOf(f), f.Summary),
		"  records carry " + recordsOf(f),
		"  recognised by " + f.Detection,
	}
	if f.Example != "" {
		lines = append(lines, "  example:", "    "+strings.ReplaceAll(f.Example, "\n", "\n    "))
	}
	if len(f.Options) > 0 {
		lines = append(lines, fmt.Sprintf("  options, written %s:option=value,option=value:", f.Name))
	}
	for _, line := range aboutParams(f.Options) {
		lines = append(lines, "  "+line)
	}
	return lines
}
