package lists

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Experiments lists experiments that are part of the program, or their quick versions. In a table, one column describes
// each of them.
func Experiments(names []string, quick bool) (List, error) {
	list := List{
		Noun: "experiment",
		Columns: []tabular.Head{wordHead("experiment"), textHead("title"), textHead("source"), {Name: "cells"},
			{Name: "claims"}, {Name: "minutes"}, {Name: "quick minutes"}, textHead("traces")},
		Kept: 1, Line: []int{0, 5, 6}, Below: "what it is, source, size, time, traces", NarrowAlways: true,
	}
	var machines []string
	for _, name := range names {
		l, err := newExperimentJSON(name, configs.Text(name), quick)
		if err != nil {
			return list, err
		}
		size := fmt.Sprintf("%s cells, %d claims", show.Count(int64(l.Cells)), l.Claims)
		if l.MeasuredOn != "" {
			size += fmt.Sprintf("; %s min, quick %s min", minutes(l.Seconds), minutes(l.QuickSeconds))
			machines = append(machines, l.MeasuredOn)
		}
		list.Items = append(list.Items, Item{
			Name: l.Name,
			Row: []string{l.Name, l.Title, l.Source, strconv.Itoa(l.Cells), strconv.Itoa(l.Claims),
				minutes(l.Seconds), minutes(l.QuickSeconds), l.traces()},
			Texts: []string{l.Title, l.Source, size, "traces: " + l.traces()},
			JSON:  l,
		})
	}
	slices.Sort(machines)
	if machines = slices.Compact(machines); len(machines) > 0 {
		list.Note = "minutes: the whole experiment by the clock, its quick version of processor time, on " +
			strings.Join(machines, "; ")
	}
	return list, nil
}

// minutes is a time in minutes with as many digits as a reader needs; empty if it is not known.
func minutes(seconds float64) string {
	switch m := seconds / 60; {
	case seconds == 0:
		return ""
	case m < 0.1:
		return "<0.1"
	case m < 9.95:
		return strconv.FormatFloat(m, 'f', 1, 64)
	default:
		return strconv.FormatFloat(m, 'f', 0, 64)
	}
}

type experimentJSON struct {
	Name          string   `json:"name"`
	Title         string   `json:"title"`
	Source        string   `json:"source"`
	Cells         int      `json:"cells"`
	Claims        int      `json:"claims"`
	Traces        []string `json:"traces"`                            // generated ones and those whose files exist
	MissingTraces []string `json:"missing_traces"`                    // those with a missing file
	Seconds       float64  `json:"seconds,omitempty"`                 // of the whole experiment, by the clock
	QuickSeconds  float64  `json:"quick_processor_seconds,omitempty"` // of the quick version
	MeasuredOn    string   `json:"measured_on,omitempty"`             // the machine of both
}

// outline is what a list takes from the file of an experiment. The tests of package experiment check these files, so
// that a list does not have to, and takes no time to plan cells.
type outline struct {
	Title  string             `yaml:"title"`
	Source string             `yaml:"source"`
	Traces []experiment.Trace `yaml:"traces"`
	Quick  experiment.Quick   `yaml:"quick"`
}

// items returns how many items the list of a section has.
func items(section []byte) (n int) {
	var begin []byte // of every item
	for line := range bytes.Lines(section) {
		if begin == nil {
			if at := bytes.IndexByte(line, '-'); at >= 0 && len(bytes.TrimSpace(line[:at])) == 0 {
				begin = line[:at+1]
			}
		}
		if begin != nil && bytes.HasPrefix(line, begin) {
			n++
		}
	}
	return n
}

// sections returns the sections of an experiment with these names. To parse the others takes most of the time of a
// list: claims and policies are long.
func sections(text []byte, names ...string) (chosen []byte) {
	taken := false
	for line := range bytes.Lines(text) {
		if c := line[0]; c >= 'a' && c <= 'z' {
			name, _, _ := bytes.Cut(line, []byte(":"))
			taken = slices.Contains(names, string(name))
		}
		if taken {
			chosen = append(chosen, line...)
		}
	}
	return chosen
}

func newExperimentJSON(name string, text []byte, quick bool) (experimentJSON, error) {
	var o outline
	if err := yaml.Unmarshal(sections(text, "title", "source", "traces", "quick"), &o); err != nil {
		return experimentJSON{}, fmt.Errorf("%s: %w", name, err)
	}
	l := experimentJSON{Name: name, Title: o.Title, Source: o.Source, Claims: items(sections(text, "claims")),
		Traces:        []string{},
		MissingTraces: []string{}}
	full, few := configs.Cells(name)
	if l.Cells = full; quick {
		l.Cells = few
	}
	if times, ok := configs.TimesOf(name); ok {
		l.Seconds, l.QuickSeconds, l.MeasuredOn = times.Full.Seconds(), times.Quick.Seconds(), times.Machine
	}
	for _, t := range o.Traces {
		stays := true
		if quick {
			t, stays = o.Quick.Replays(t)
		}
		switch {
		case !stays:
		case hasFiles(t.Workload()):
			l.Traces = append(l.Traces, t.Name)
		default:
			l.MissingTraces = append(l.MissingTraces, t.Name)
		}
	}
	return l, nil
}

func hasFiles(w workload.Workload) bool {
	_, err := workload.FindAll(w.Paths(), workload.Dirs(""))
	return err == nil
}

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
