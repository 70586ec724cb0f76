package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/tools/tables"
)

// columns are those of the table: seconds, seconds of processor time and MiB of both programs, and their hit ratios.
var columns = []string{"task", "ours, s", "ours, processor s", "ours, MiB", "libCacheSim, s", "libCacheSim, processor s",
	"libCacheSim, MiB", "our hit ratio", "its hit ratio", "run on", "machine"}

// The table of a page is between these lines.
const (
	begins = "<!-- make speeds writes this table -->"
	ends   = "<!-- until here -->"
)

// writePage replaces the table in a page.
func writePage(table, page string) error {
	rows, err := tables.Read(table, columns)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begins+"\n")
	_, after, ended := strings.Cut(rest, ends)
	if !found || !ended {
		return fmt.Errorf("%s has no lines %q and %q, want the table between them", page, begins, ends)
	}
	made, err := markdown(rows)
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	return tables.Replace(page, []byte(before+begins+"\n"+made+ends+after))
}

// markdown is the table as the page shows it.
func markdown(rows [][]string) (string, error) {
	var b strings.Builder
	b.WriteString("\n| | cachesim, with the optimum | libCacheSim | factor, clock | factor, processor | memory |\n" +
		"|---|---|---|---|---|---|\n")
	for _, row := range rows {
		var v [6]float64
		for i := range v {
			var err error
			if v[i], err = strconv.ParseFloat(row[1+i], 64); err != nil {
				return "", fmt.Errorf("row %s: %w", row[0], err)
			}
		}
		fmt.Fprintf(&b, "| %s | %s s | %s s | %s | %s | %.0f and %.0f MiB |\n", row[0], row[1], row[4], factor(v[3], v[0]),
			factor(v[4], v[1]), v[2], v[5])
	}
	b.WriteString("\n")
	return b.String(), nil
}

// factor is how many times one time is another, with two digits.
func factor(its, ours float64) string { return strconv.FormatFloat(its/ours, 'g', 2, 64) }
