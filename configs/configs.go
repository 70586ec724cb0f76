// Package configs holds the experiments that come with the program, one YAML file per figure or table of a paper.
// `cachesim sweep NAME` runs one; docs/experiments.md describes the form of the files.
package configs

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.yaml
var files embed.FS

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

// Text returns the YAML text of one of Names; nil for any other name.
func Text(name string) []byte {
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil
	}
	return text
}
