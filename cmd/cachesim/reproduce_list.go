package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/jsonlines"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/terminal"
	"github.com/cachesim/cachesim/internal/workload"
)

// nameWidth is what the first column of the list of experiments takes on a terminal, with the gaps.
const nameWidth = 24

// experimentListing is what the list of experiments says of one.
type experimentListing struct {
	Name          string   `json:"name"`
	Title         string   `json:"title"`
	Source        string   `json:"source"`
	Cells         int      `json:"cells"`
	Claims        int      `json:"claims"`
	Traces        []string `json:"traces"`         // generated ones and those whose files are here
	MissingTraces []string `json:"missing_traces"` // those of which a file is not
}

func newExperimentListing(f *experiment.File) (experimentListing, error) {
	l := experimentListing{Name: f.Name, Title: f.Title, Source: f.Source, Claims: len(f.Claims), Traces: []string{},
		MissingTraces: []string{}}
	extent, err := f.Extent()
	if err != nil {
		return l, err
	}
	l.Cells = extent.Cells
	seen := map[string]bool{}
	for _, w := range extent.Workloads {
		if seen[w.Name] {
			continue
		}
		seen[w.Name] = true
		if hasFiles(w, f.Dirs()) {
			l.Traces = append(l.Traces, w.Name)
		} else {
			l.MissingTraces = append(l.MissingTraces, w.Name)
		}
	}
	return l, nil
}

// hasFiles reports whether every file of the workload is there.
func hasFiles(w workload.Workload, dirs []string) bool {
	for _, path := range w.Paths() {
		if _, err := workload.Find(path, dirs); err != nil {
			return false
		}
	}
	return true
}

// traces says which traces are here and which are missing.
func (l experimentListing) traces() string {
	text := strings.Join(l.Traces, ", ")
	if len(l.MissingTraces) == 0 {
		return text
	}
	if text != "" {
		text += "; "
	}
	return text + "missing: " + strings.Join(l.MissingTraces, ", ")
}

// printExperiments prints the list in one of outputFormats. In a table what is said of each stands in one column.
func printExperiments(w io.Writer, files []*experiment.File, format string) error {
	var all []experimentListing
	for _, file := range files {
		l, err := newExperimentListing(file)
		if err != nil {
			return err
		}
		all = append(all, l)
	}
	if format == "json" {
		return printExperimentsJSON(w, all)
	}
	t := records.NewTable()
	narrow := format == "table"
	if narrow {
		t.AppendHeader(table.Row{"experiment", "what it is, source, size, traces"})
	} else {
		t.AppendHeader(table.Row{"experiment", "title", "source", "cells", "claims", "traces"})
	}
	for _, l := range all {
		if narrow {
			size := fmt.Sprintf("%s cells, %d claims", records.Count(int64(l.Cells)), l.Claims)
			t.AppendRow(table.Row{l.Name, terminal.WrapLines(max(terminal.TextWidth(w)-nameWidth, 40), l.Title, l.Source, size,
				"traces: "+l.traces())})
			continue
		}
		t.AppendRow(table.Row{l.Name, l.Title, l.Source, strconv.Itoa(l.Cells), strconv.Itoa(l.Claims), l.traces()})
	}
	return printListing(w, t, format)
}

func printExperimentsJSON(w io.Writer, all []experimentListing) error {
	return jsonlines.Write(w, all)
}
