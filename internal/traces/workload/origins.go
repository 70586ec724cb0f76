package workload

import (
	_ "embed"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// Origin says where a trace that others publish can be had.
type Origin struct {
	What    string // "the OLTP trace of the ARC paper"
	Source  string // its address
	Licence string
	Command string // makes the file, in the folder that Env names
}

//go:embed origins.tsv
var origins string

// OriginOf returns the origin of a file of the built-in experiments, by its path below the folder that Env names.
func OriginOf(file string) (Origin, bool) {
	for line := range strings.Lines(origins) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 5 {
			continue // a comment
		}
		if ok, err := path.Match(fields[0], filepath.ToSlash(file)); ok && err == nil {
			return Origin{fields[1], fields[2], fields[3], fields[4]}, true
		}
	}
	return Origin{}, false
}

// String says what the file is and how to make it.
func (o Origin) String() string {
	return fmt.Sprintf("it is %s, from %s (licence: %s); in that folder, this makes it:\n  %s", o.What, o.Source,
		o.Licence, o.Command)
}
