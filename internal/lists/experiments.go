package lists

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/workload"
)

// Experiments lists experiments. In a table, one column describes each of them.
func Experiments(files []*experiment.File) (List, error) {
	list := List{
		Noun: "experiment",
		Columns: []records.Head{wordHead("experiment"), textHead("title"), textHead("source"), {Name: "cells"},
			{Name: "claims"}, textHead("traces")},
		Narrow:       []records.Head{wordHead("experiment"), textHead("what it is, source, size, traces")},
		NarrowAlways: true,
	}
	for _, file := range files {
		l, err := newExperimentJSON(file)
		if err != nil {
			return list, err
		}
		size := fmt.Sprintf("%s cells, %d claims", records.Count(int64(l.Cells)), l.Claims)
		list.Items = append(list.Items, Item{
			Name:   l.Name,
			Row:    []string{l.Name, l.Title, l.Source, strconv.Itoa(l.Cells), strconv.Itoa(l.Claims), l.traces()},
			Narrow: []string{l.Name},
			Texts:  []string{l.Title, l.Source, size, "traces: " + l.traces()},
			JSON:   l,
		})
	}
	return list, nil
}

// experimentJSON is an experiment as JSON has it.
type experimentJSON struct {
	Name          string   `json:"name"`
	Title         string   `json:"title"`
	Source        string   `json:"source"`
	Cells         int      `json:"cells"`
	Claims        int      `json:"claims"`
	Traces        []string `json:"traces"`         // generated ones and those whose files exist
	MissingTraces []string `json:"missing_traces"` // those with a missing file
}

func newExperimentJSON(f *experiment.File) (experimentJSON, error) {
	l := experimentJSON{Name: f.Name, Title: f.Title, Source: f.Source, Claims: len(f.Claims), Traces: []string{},
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

// hasFiles reports whether every file of the workload exists.
func hasFiles(w workload.Workload, dirs []string) bool {
	for _, path := range w.Paths() {
		if _, err := workload.Find(path, dirs); err != nil {
			return false
		}
	}
	return true
}

// traces says which traces exist and which are missing.
func (l experimentJSON) traces() string {
	text := strings.Join(l.Traces, ", ")
	if len(l.MissingTraces) == 0 {
		return text
	}
	if text != "" {
		text += "; "
	}
	return text + "missing: " + strings.Join(l.MissingTraces, ", ")
}
