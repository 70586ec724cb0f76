package runs

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/base/terminal"
)

// withoutEffect are the flags that change nothing on a page.
var withoutEffect = []string{"output", "format", "jobs", "quiet", "brief"}

// CommandLine returns the command that makes a page again, quoted for a shell, with a folder of the reader's choice.
func CommandLine(command string, args []string, flags *pflag.FlagSet) string {
	words := []string{command}
	for _, arg := range args {
		words = append(words, terminal.Shell(arg))
	}
	flags.Visit(func(f *pflag.Flag) {
		switch {
		case slices.Contains(withoutEffect, f.Name):
		case f.Value.Type() == "bool":
			words = append(words, strings.TrimSuffix("--"+f.Name+"="+f.Value.String(), "=true"))
		case isSlice(f.Value):
			for _, value := range f.Value.(pflag.SliceValue).GetSlice() {
				words = append(words, "--"+f.Name, terminal.Shell(value))
			}
		default:
			words = append(words, "--"+f.Name, terminal.Shell(f.Value.String()))
		}
	})
	return strings.Join(append(words, "-o DIR"), " ")
}

func isSlice(v pflag.Value) bool {
	_, ok := v.(pflag.SliceValue)
	return ok
}
