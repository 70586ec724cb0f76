// Package commandline has what all commands of a program have in common: errors about flags, and help that fits the
// terminal.
package commandline

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
)

// ExplainFlag suggests the nearest flag for one that does not exist, and describes the values of one with a wrong
// value.
func ExplainFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		return unknownFlag(cmd, unknown.GetSpecifiedName())
	case errors.As(err, &unknown):
		return fmt.Errorf("%w; %s lists the flags", err, helpCommand(cmd))
	case errors.As(err, &value) && errors.As(err, new(*strconv.NumError)):
		return fmt.Errorf("--%s %q: want %s", value.GetFlag().Name, value.GetValue(), wantedBy(value.GetFlag()))
	case errors.As(err, &value) && errors.Unwrap(value) != nil:
		why := errors.Unwrap(value)
		if strings.HasPrefix(why.Error(), strconv.Quote(value.GetValue())) {
			return fmt.Errorf("--%s %w", value.GetFlag().Name, why)
		}
		return fmt.Errorf("--%s: %w", value.GetFlag().Name, why)
	}
	return err
}

// unknownFlag names the nearest flag. A list of all flags would fill the screen; the help has it.
func unknownFlag(cmd *cobra.Command, name string) error {
	var exist []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			exist = append(exist, f.Name)
		}
	})
	if near, ok := suggest.Nearest(name, exist); ok {
		return fmt.Errorf("unknown flag --%s; did you mean --%s? (%s lists the flags)", name, near, helpCommand(cmd))
	}
	return fmt.Errorf("unknown flag --%s (%s lists the flags)", name, helpCommand(cmd))
}

// wantedBy describes the values that a flag accepts.
func wantedBy(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "uint", "uint64":
		return "a whole number from 0"
	case "int", "int64":
		return "a whole number"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	}
	return "a " + f.Value.Type()
}

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

// Note writes a line for the user, unless quiet is set.
func Note(cmd *cobra.Command, quiet bool, text string) {
	if !quiet && text != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), terminal.Shorten(text))
	}
}

// PrintRecords prints records in a Format, as wide and as colourful as the terminal.
func PrintRecords(w io.Writer, recs []records.Record, format string) error {
	return results.Print(w, recs, format, results.PrintOptions{Color: terminal.Is(w), Width: terminal.Width(w)})
}
