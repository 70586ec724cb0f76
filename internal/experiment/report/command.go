package report

import (
	"cmp"
	"strings"

	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/experiment"
)

// Command returns the command that repeats the sweep in the folder of its file, wherever the first one ran.
func Command(file *experiment.File) string {
	words := []string{"cachesim sweep", terminal.Shell(cmp.Or(file.Origin, file.Name))}
	for _, change := range file.Changes {
		flag, value, _ := strings.Cut(change, " ")
		words = append(words, flagOf(flag, value))
	}
	for _, only := range file.Only {
		words = append(words, flagOf("--only", only))
	}
	return strings.Join(words, " ")
}

// flagOf quotes a flag for a shell.
func flagOf(flag, value string) string {
	if value == "" {
		return flag
	}
	return flag + " " + terminal.Shell(value)
}
