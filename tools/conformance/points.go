package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// pair is a row of points.tsv: a policy of a program, and ours that is held to it. README.md explains the columns.
type pair struct {
	program, version, from string
	policy, ours, rule     string
	kinds                  []string
	expect                 string
	band                   float64 // in points of the hit ratio, of expect "band"
	why                    string
}

// pairColumns are the names of the columns in the order of the fields.
var pairColumns = []string{"program", "version", "from", "policy", "ours", "rule", "kinds", "expect", "why"}

// The kinds of points.
const (
	objects  = "objects"  // capacities count objects
	sizes    = "bytes"    // capacities count bytes, and every object has one size
	changing = "changing" // capacities count bytes, and objects change their sizes
	removals = "removals" // capacities count objects, and some are removed
)

var kinds = []string{objects, sizes, changing, removals}

// What is expected of a row, and what is found.
const (
	equal   = "equal"
	seeds   = "seeds"
	band    = "band"
	differs = "differs"
)

// readPoints reads the points.tsv of a driver.
func readPoints(path string) (rows []pair, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	header := false
	for n, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if !header {
			if header = true; !slices.Equal(fields, pairColumns) {
				return nil, fmt.Errorf("%s:%d: the columns are %q, want %q", path, n+1, fields, pairColumns)
			}
			continue
		}
		p, err := parsePair(fields)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n+1, err)
		}
		rows = append(rows, p)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s has no rows", path)
	}
	return rows, nil
}

func parsePair(fields []string) (p pair, err error) {
	if len(fields) != len(pairColumns) {
		return p, fmt.Errorf("%d fields, want %d", len(fields), len(pairColumns))
	}
	p = pair{program: fields[0], version: fields[1], from: fields[2], policy: fields[3], ours: fields[4], rule: fields[5],
		kinds: strings.Split(fields[6], ","), why: fields[8]}
	for _, kind := range p.kinds {
		if !slices.Contains(kinds, kind) {
			return p, fmt.Errorf("kind of points %q, want some of %s", kind, strings.Join(kinds, ", "))
		}
	}
	for i, name := range []string{"program", "version", "from", "policy", "ours"} {
		if fields[i] == "" {
			return p, fmt.Errorf("the column %s is empty", name)
		}
	}
	var width string
	p.expect, width, _ = strings.Cut(fields[7], " ")
	switch p.expect {
	case band:
		if p.band, err = strconv.ParseFloat(width, 64); err != nil || p.band <= 0 {
			return p, fmt.Errorf("expectation %q, want a band in points above 0, as in \"band 0.5\"", fields[7])
		}
	case equal, seeds, differs:
		if width != "" {
			return p, fmt.Errorf("expectation %q, want %q alone", fields[7], p.expect)
		}
	default:
		return p, fmt.Errorf("expectation %q, want equal, seeds, differs or a band, as in \"band 0.5\"", fields[7])
	}
	if (p.expect == band || p.expect == differs) != (p.why != "") {
		return p, fmt.Errorf("expectation %q and reason %q, want a reason for a band or a difference, and for no other",
			fields[7], p.why)
	}
	return p, nil
}

// ruled is our policy with the parameters of the program's rule.
func (p *pair) ruled() string {
	switch {
	case p.rule == "":
		return p.ours
	case strings.HasSuffix(p.ours, ")"):
		return strings.TrimSuffix(p.ours, ")") + "," + p.rule + ")"
	}
	return p.ours + "(" + p.rule + ")"
}

// expected is the expectation as the table has it.
func (p *pair) expected() string {
	if p.expect == band {
		return fmt.Sprintf("%s %g", band, p.band)
	}
	return p.expect
}
