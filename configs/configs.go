// Package configs holds the experiments that come with the program, one YAML file per figure or table of a paper.
// `cachesim sweep NAME` runs one; docs/experiments.md describes the form of the files.
package configs

import (
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cachesim/cachesim/internal/base/packed"
	"github.com/cachesim/cachesim/internal/base/suggest"
)

// experiments is a JSON object of the texts of all files by their names, packed: the texts are half a megabyte. Beside
// them are the files of pins, and docs/verdicts.tsv. UPDATE=1 go test ./configs -run Packed writes it, as make docs does.
//
//go:embed experiments.json.zst
var experiments []byte

var texts = sync.OnceValue(func() (of map[string]string) {
	if err := json.Unmarshal(packed.Unpack(experiments), &of); err != nil {
		panic(err) // embedded
	}
	return of
})

//go:embed cells.tsv
var cells string

//go:embed times.tsv
var times string

// PinsSuffix follows the name of an experiment in that of the file with its pins.
const PinsSuffix = ".pins.tsv"

// Names returns the names of all experiments, in alphabetical order: those of the files without .yaml. They come from
// cells.tsv, since every command that starts asks for them, and to unpack the texts takes ten times as long as the
// rest.
func Names() (names []string) {
	for line := range strings.Lines(cells) {
		name, _, _ := strings.Cut(line, "\t")
		names = append(names, name)
	}
	return names
}

// verdicts is the name of the table of verdicts among the texts.
const verdicts = "verdicts.tsv"

// Verdict is what a claim of one of Papers came to when its experiment was last run in full.
type Verdict struct {
	On, Commit    string // "" if it never was
	Mark, Claim   string // see package claims
	Measured, Why string
}

// Verdicts returns those of one of Papers, in the order of its claims.
func Verdicts(name string) (all []Verdict) {
	table := csv.NewReader(strings.NewReader(texts()[verdicts]))
	table.Comma = '\t'
	rows, err := table.ReadAll()
	if err != nil {
		panic(err) // embedded
	}
	for _, row := range rows {
		if row[0] == name {
			all = append(all, Verdict{On: row[1], Commit: row[2], Mark: row[5], Claim: row[6], Measured: row[8], Why: row[9]})
		}
	}
	return all
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

// Text returns the YAML text of one of Names; nil for a name that does not exist.
func Text(name string) []byte {
	text, ok := texts()[name]
	if !ok {
		return nil
	}
	return []byte(text)
}

// Pins returns the text of the pins of one of Names, which package pins reads; nil if it has none.
func Pins(name string) []byte { return Text(name + PinsSuffix) }

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

// Times are how long one of Papers takes.
type Times struct {
	Full    time.Duration // by the clock, on a machine that had other work as well
	Quick   time.Duration // processor time of the quick version, of all cores together
	Machine string        // where both were measured: its cores and processor
}

// TimesOf returns what times.tsv, which `make verdicts` writes, has about an experiment; false if it was never
// measured.
func TimesOf(name string) (Times, bool) {
	for line := range strings.Lines(times) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if fields[0] == name {
			return Times{Full: seconds(fields[1]), Quick: seconds(fields[2]), Machine: fields[3]}, true
		}
	}
	return Times{}, false
}

func seconds(text string) time.Duration {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err) // embedded
	}
	return time.Duration(n * float64(time.Second))
}
