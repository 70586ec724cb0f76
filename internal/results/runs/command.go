package runs

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/base/terminal"
)

// withoutEffect are the flags that change nothing on a page.
var withoutEffect = []string{"output", "format", "jobs", "quiet"}

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
		default:
			values := []string{f.Value.String()}
			if list, ok := f.Value.(pflag.SliceValue); ok {
				values = list.GetSlice()
			}
			for _, value := range values {
				words = append(words, "--"+f.Name, terminal.Shell(value))
			}
		}
	})
	return strings.Join(append(words, "-o DIR"), " ")
}
