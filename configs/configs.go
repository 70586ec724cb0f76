// Package configs holds the experiments that come with the program, one YAML file per figure or table of a paper.
// `cachesim sweep NAME` runs one; docs/experiments.md describes the form of the files.
package configs

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

//go:embed *.yaml
var files embed.FS

//go:embed cells.tsv
var cells string

// Names returns the names of all experiments, in alphabetical order: those of the files without .yaml.
func Names() (names []string) {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // embedded
	}
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".yaml"))
	}
	return names
}

// Papers returns the names of those that reproduce figures and tables: all but the examples to copy from.
func Papers() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return strings.HasPrefix(name, "example") })
}

// All stands for all of Papers.
const All = "all"

// Choose returns the names, which must be of Papers, or all of Papers for All or without names.
func Choose(names []string) ([]string, error) {
	known := Papers()
	if len(names) == 0 || slices.Contains(names, All) {
		return known, nil
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, suggest.Unknown("experiment", name, append([]string{All}, known...))
		}
	}
	return names, nil
}

// Text returns the YAML text of one of Names; nil for any other name.
func Text(name string) []byte {
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil
	}
	return text
}

// Cells returns how many cells one of Names has, and its quick version; 0 for any other name. The numbers are in
// cells.tsv, which package experiment tests, so that a list of experiments need not plan them.
func Cells(name string) (full, quick int) {
	for line := range strings.Lines(cells) {
		if numbers, ok := strings.CutPrefix(line, name+"\t"); ok {
			if _, err := fmt.Sscan(numbers, &full, &quick); err != nil {
				panic(err) // embedded
			}
		}
	}
	return full, quick
}
