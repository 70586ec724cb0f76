package plots

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
)

func TestOverTimeOfSomeLabels(t *testing.T) {
	recs := []records.Record{{Trace: "t", Label: "lru", CapacityText: "10", Cell: "c", Series: "10"}}
	var rows []series.Row
	for _, label := range []string{"", "web", "batch"} {
		for _, at := range []float64{10, 20} {
			rows = append(rows, series.Row{Cell: "c", Time: at, Name: "hit_ratio", Label: label, Value: 0.5})
		}
	}
	for _, c := range []struct {
		labels []string
		lines  int
	}{{nil, 3}, {[]string{"web"}, 1}, {[]string{"", "batch"}, 2}, {[]string{"other"}, 0}} {
		f := OverTime{Name: "hit_ratio", File: "f", Title: "T", Labels: c.labels, Rows: series.ByCell(rows)}
		lines := len(f.linesOf(rows))
		if lines != c.lines {
			t.Errorf("%q: %d lines, want %d", c.labels, lines, c.lines)
		}
		if _, err := f.Draw(recs); (err != nil) != (c.lines == 0) {
			t.Errorf("%q: %v", c.labels, err)
		}
	}
}

// The line of the only node equals the line of all nodes, and is drawn once. A label that is named is drawn.
func TestOverTimeDrawsTheOnlyNodeOnce(t *testing.T) {
	rows := func(node float64) []series.Row {
		return []series.Row{{Cell: "c", Time: 10, Name: "ratio", Value: 0.4},
			{Cell: "c", Time: 10, Name: "ratio", Label: "node 0", Value: node}}
	}
	if lines := (OverTime{Name: "ratio"}).linesOf(rows(0.4)); len(lines) != 1 || lines[0].name != "" {
		t.Errorf("of the only node: %+v, want one line", lines)
	}
	if lines := (OverTime{Name: "ratio"}).linesOf(rows(0.5)); len(lines) != 2 {
		t.Errorf("of another node: %+v, want two lines", lines)
	}
	if lines := (OverTime{Name: "ratio", Labels: []string{"", "node 0"}}).linesOf(rows(0.4)); len(lines) != 2 {
		t.Errorf("named: %+v, want two lines", lines)
	}
}

func TestOverTimeLeavesOutTheWarmup(t *testing.T) {
	r := records.Record{Trace: "t", Label: "lru", CapacityText: "10", Cell: "c", Series: "10"}
	var rows []series.Row
	for _, at := range []float64{10, 20, 30} {
		rows = append(rows, series.Row{Cell: "c", Time: at, Name: "hit_ratio", Value: at})
	}
	for from, want := range map[float64]int{0: 3, 10: 2, 25: 1} {
		lines := OverTime{Name: "hit_ratio", From: from}.linesOf(rows)
		if len(lines) != 1 || len(lines[0].x) != want || lines[0].x[want-1] != 30 {
			t.Errorf("from %v: %+v, want %d points", from, lines, want)
		}
	}
	if lines := (OverTime{Name: "hit_ratio", From: 30}).linesOf(rows); len(lines) != 0 {
		t.Errorf("nothing is left, but there are %d lines", len(lines))
	}
	_, err := OverTime{Name: "hit_ratio", From: 30, Rows: series.ByCell(rows)}.Draw([]records.Record{r})
	must.Fail(t, err, "no record has a series of hit_ratio after from: 30", "nothing is left")
}

// TestLinesOverTimeAreNamedByWhatDiffers: an axis on which all records are at the same place is not in the names.
func TestLinesOverTimeAreNamedByWhatDiffers(t *testing.T) {
	var recs []records.Record
	var rows []series.Row
	for cell, axes := range map[string]string{"a": "nodes=4,refill=off", "b": "nodes=4,refill=naive", "c": "nodes=4"} {
		recs = append(recs, records.Record{Trace: "t", Label: "lru", CapacityText: "10", Cell: cell, Axes: axes})
		rows = append(rows, series.Row{Cell: cell, Time: 10, Name: "hit_ratio", Value: 0.5})
	}
	panels := OverTime{Name: "hit_ratio"}.panels(recs, series.ByCell(rows))
	var names []string
	for _, line := range panels[0].lines {
		names = append(names, line.name)
	}
	slices.Sort(names)
	if want := []string{"lru", "lru, refill=naive", "lru, refill=off"}; !slices.Equal(names, want) {
		t.Errorf("lines %q, want %q", names, want)
	}
}

// Two tenants with the same values are two lines: neither is that of everything together.
func TestOverTimeKeepsTwoEqualTenants(t *testing.T) {
	rows := []series.Row{{Cell: "c", Time: 10, Name: "quota", Label: "db", Value: 5},
		{Cell: "c", Time: 10, Name: "quota", Label: "web", Value: 5}}
	if lines := (OverTime{Name: "quota"}).linesOf(rows); len(lines) != 2 {
		t.Errorf("%+v, want two lines", lines)
	}
}

// Requests in a window are the same for every policy and capacity, and are one line; equal hit ratios stay apart.
func TestOverTimeDrawsRequestsOnce(t *testing.T) {
	var recs []records.Record
	var rows []series.Row
	for _, cell := range []string{"lru,10", "arc,10", "lru,20", "arc,20"} {
		recs = append(recs, records.Record{Trace: "t", Label: cell[:3], CapacityText: cell[4:], Cell: cell, Series: "1h"})
		for _, name := range []string{series.Requests, "hit_ratio"} {
			rows = append(rows, series.Row{Cell: cell, Time: 10, Name: name, Value: 7},
				series.Row{Cell: cell, Time: 20, Name: name, Value: 8})
		}
	}
	for name, want := range map[string]int{series.Requests: 1, "hit_ratio": 4} {
		lines := 0
		for _, p := range (OverTime{Name: name}).panels(recs, series.ByCell(rows)) {
			lines += len(p.lines)
		}
		if lines != want {
			t.Errorf("%s: %d lines, want %d", name, lines, want)
		}
	}
}

// Where all rows are medians, lines are named by their policies alone, and the axis says times as people do.
func TestOverTimeOfMedians(t *testing.T) {
	recs := []records.Record{{Trace: "t", Label: "lru", CapacityText: "10", Cell: "a"},
		{Trace: "t", Label: "arc", CapacityText: "10", Cell: "b"}}
	rows := []series.Row{{Cell: "a", Time: 10, Name: "evicted_age_s", Label: "p50", Value: 7200},
		{Cell: "b", Time: 10, Name: "evicted_age_s", Label: "p50", Value: 3600}}
	s := must.Get(OverTime{Name: "evicted_age_s", Rows: series.ByCell(rows)}.sheet(recs))(t)
	var names []string
	for _, entry := range s.legend().entries {
		names = append(names, entry.label)
	}
	if want := []string{"lru", "arc"}; !slices.Equal(names, want) || s.note != "medians" {
		t.Errorf("lines %q with the note %q, want %q and medians", names, s.note, want)
	}
}
