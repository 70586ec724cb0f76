package commandline

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Format is the value of the flag --format: how a command prints what it found.
type Format string

// Formats are the formats of every command that prints tables.
var Formats = []string{"table", "csv", "json", "markdown"}

// Register adds the flag with Formats, and with more that only this command has.
func (f *Format) Register(cmd *cobra.Command, more ...string) {
	f.RegisterOnly(cmd, slices.Concat(Formats, more), "json (one record per line)")
}

// RegisterOnly adds the flag with other formats, of which the first is the default. Remarks are names with more text,
// as the help shows them.
func (f *Format) RegisterOnly(cmd *cobra.Command, names []string, remarks ...string) {
	*f = Format(names[0])
	shown := slices.Clone(names)
	for i, name := range names {
		if at := slices.IndexFunc(remarks, func(r string) bool { return strings.HasPrefix(r, name+" ") }); at >= 0 {
			shown[i] = remarks[at]
		}
	}
	last := len(shown) - 1
	cmd.Flags().Var(&formatValue{f, names}, "format",
		"output format: "+strings.Join(shown[:last], ", ")+" or "+shown[last])
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// formatValue is a Format that must be one of names. It implements pflag.Value.
type formatValue struct {
	format *Format
	names  []string
}

func (v *formatValue) String() string {
	if v.format == nil {
		return ""
	}
	return string(*v.format)
}

func (v *formatValue) Type() string { return "FORMAT" }

func (v *formatValue) Set(text string) error {
	if !slices.Contains(v.names, text) {
		return suggest.Unknown("format", text, v.names)
	}
	*v.format = Format(text)
	return nil
}
