package baseline

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// swept returns the records of an experiment with axes and seeds, and the folder of its trace.
func swept(t *testing.T) ([]records.Record, string) {
	t.Helper()
	dir := t.TempDir()
	var keys strings.Builder
	for i := range 2000 {
		fmt.Fprintln(&keys, i*i%97)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	write("keys.txt", keys.String())
	file := must.Get(experiment.Load(write("sweep.yaml", `
name: sweep
title: Axes and seeds
source: none
traces:
  - {name: squares, file: keys.txt}
  - {name: skewed, generate: "zipf(objects=300,requests=4000)", with: {alpha: [0.8, 1.2]}}
policies:
  - lru
  - {policy: random, as: at-random}
  - {policy: s3fifo, with: {small: [0.1, 0.3]}}
capacities: [10%, 20]
seeds: 2
`)))(t)
	cells := must.Get(file.Cells(experiment.CellOptions{Version: "1", Checksum: func(w workload.Workload) (string, error) {
		return w.ReadChecksum(t.Context(), []string{dir})
	}}))(t)
	store := must.Get(sweep.OpenStore(dir, cells))(t)
	must.Do(t, experiment.Execute(t.Context(), cells, experiment.Options{Dirs: []string{dir},
		Finished: store.Put}))
	finished := must.Get(sweep.ReadFinished(cells, dir))(t)
	all := must.Get(sweep.Collect(cells, finished))(t)
	return all.Records, dir
}

func check(t *testing.T, recs []records.Record, dir string, rules ...string) *Report {
	t.Helper()
	options := Options{Dirs: []string{dir}, Version: "2"}
	for _, text := range rules {
		r := must.Get(ParseRule(text))(t)
		options.Rules = append(options.Rules, r)
	}
	return must.Get(Check(t.Context(), "base", recs, options))(t)
}

func TestRecordsOfASweep(t *testing.T) {
	recs, dir := swept(t)
	if report := check(t, recs, dir); !report.Passed() || report.Outdated() {
		t.Fatalf("as recorded: %s", report.Summary())
	}
	at := slices.IndexFunc(recs, func(r records.Record) bool {
		return r.Label == "at-random" && r.Seed == 1 && strings.Contains(r.Axes, "alpha=1.2")
	})
	moved := slices.Clone(recs)
	moved[at].SetInt(metric.Misses, moved[at].Int(metric.Misses)+1)
	moved[at].SetInt(metric.Hits, moved[at].Int(metric.Hits)-1)
	moved[at].Set(metric.HitRatio, float64(moved[at].Int(metric.Hits))/float64(moved[at].Int(metric.Requests)))
	report := check(t, moved, dir)
	if report.Passed() || report.OnlyMissing() || report.Count(Moved) != 1 || report.Results[at].Status != Moved {
		t.Errorf("one moved: %s", report.Summary())
	}
	if report := check(t, moved, dir, "policy=at-random,alpha=1.2,seed=1:0.1pp"); !report.Passed() ||
		report.Results[at].Status != Within {
		t.Errorf("tolerated: %s", report.Summary())
	}
	if report := check(t, moved, dir, "policy=at-random,alpha=0.8:0.1pp"); report.Passed() {
		t.Errorf("another cell tolerated: %s", report.Summary())
	}

	updated := must.Get(report.Updated())(t)
	want := slices.Clone(recs)
	want[at].Version = "2"
	for i := range want {
		if !reflect.DeepEqual(updated[i], want[i]) {
			t.Errorf("updated record %d\n got %+v\nwant %+v", i+1, updated[i], want[i])
		}
	}
}

func TestNothingIsUpdatedWhereATraceIsMissing(t *testing.T) {
	recs, _ := swept(t)
	report := check(t, recs, t.TempDir())
	if report.Passed() || !report.OnlyMissing() {
		t.Errorf("%s", report.Summary())
	}
	if _, err := report.Updated(); err == nil {
		t.Error("updated")
	}
}

func TestLRUAtManyCapacitiesIsOnePass(t *testing.T) {
	var recs []records.Record
	for capacity := range int64(manyCapacities) {
		recs = append(recs, records.Record{Origin: records.Origin{TraceFiles: "keys.txt"}, Policy: "lru", Label: "lru",
			Cache:        "exact",
			CapacityUnit: records.Objects, Capacity: capacity + 1, SampleRate: 1})
	}
	shares := func(recs []records.Record) bool {
		all := must.Get(plan(recs, "1"))(t)
		return all[0].cell.OnePass
	}
	if !shares(recs) {
		t.Errorf("%d capacities do not share a pass", len(recs))
	}
	if shares(recs[1:]) {
		t.Errorf("%d capacities share a pass", len(recs)-1)
	}
}

// Hostile names reach CI systems as text, whatever they contain.
func TestNamesCannotBreakTheFormats(t *testing.T) {
	t.Setenv("GITHUB_STEP_SUMMARY", "")
	const name = "a\x1b[31m<b>&\"]]>\n::error::x,y:z%0A|\x00"
	was := records.Record{Trace: name, Label: name, Axes: name, Capacity: 1, CapacityUnit: records.Objects,
		CapacityText: "1%", SampleRate: 1, Values: metric.ValuesOf(map[string]float64{"requests": 10, "misses": 3})}
	is := was
	is.SetInt(metric.Misses, 4)
	report := &Report{Baseline: name, Results: []Result{
		{Was: was, Is: &is, Status: Moved, Differences: compare(&was, &is, tolerances{})},
		{Was: was, Is: &is, Status: Within, Tolerance: Tolerance{Points: 20}, Differences: compare(&was, &is, tolerances{})},
		{Was: was, Status: NotReplayable, Problem: errors.New(name)},
	}}
	printed := func(format string) string {
		var out strings.Builder
		must.Do(t, report.Print(&out, format, 0))
		return out.String()
	}
	if lines := strings.Split(strings.TrimSpace(printed("github")), "\n"); len(lines) != 4 ||
		!strings.HasPrefix(lines[2], "::error file=a") || strings.HasPrefix(lines[3], "::") {
		t.Errorf("workflow commands are %q", lines)
	}
	if out := printed("table"); strings.ContainsAny(out, "\x1b\x00") {
		t.Errorf("the table has control characters: %q", out)
	}
	d := xml.NewDecoder(strings.NewReader(printed("junit")))
	cases := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "testcase" {
			cases++
		}
	}
	if cases != 3 {
		t.Errorf("%d test cases, want 3", cases)
	}
}

// An update marks the same records as best as the sweep did, separately for each place on the axes and each seed.
func TestAnUpdateMarksTheBestOfASweepAgain(t *testing.T) {
	recs, dir := swept(t)
	moved := slices.Clone(recs)
	for i := range moved {
		moved[i].SetInt(metric.Misses, moved[i].Int(metric.Misses)+1)
		moved[i].SetInt(metric.Hits, moved[i].Int(metric.Hits)-1)
		moved[i].Set(metric.HitRatio, float64(moved[i].Int(metric.Hits))/float64(moved[i].Int(metric.Requests)))
		moved[i].Best = true // others were the best
	}
	updated := must.Get(check(t, moved, dir).Updated())(t)
	for i, r := range updated {
		if r.Best != recs[i].Best || r.Int(metric.Misses) != recs[i].Int(metric.Misses) {
			t.Errorf("%s at %s on %s, %s, seed %d: best is %t, %d misses; want %t, %d", r.Label, r.CapacityText,
				r.Trace, r.Axes, r.Seed, r.Best, r.Int(metric.Misses), recs[i].Best, recs[i].Int(metric.Misses))
		}
	}
}

func TestATableThatDoesNotFitIsWrittenInLines(t *testing.T) {
	was := records.Record{Trace: "oltp", Policy: "lru", Label: "lru", Capacity: 1000, CapacityUnit: records.Objects,
		CapacityText: "1%", SampleRate: 1, Values: metric.ValuesOf(map[string]float64{"requests": 10000, "misses": 3000})}
	is := was
	is.SetInt(metric.Misses, 4000)
	is.SetInt(metric.Evictions, 7)
	report := &Report{Baseline: "b", Results: []Result{{Was: was, Is: &is, Status: Moved,
		Differences: compare(&was, &is, tolerances{})}}}
	for _, width := range []int{0, 40, 80, 1000} {
		var out strings.Builder
		must.Do(t, report.Print(&out, "table", width))
		if longest := text.LongestLineLen(out.String()); width == 40 && longest > width || width == 80 && longest > width {
			t.Errorf("%d columns, the terminal has %d:\n%s", longest, width, &out)
		}
		if inLines := strings.Contains(out.String(), "moved: lru at 1% (1,000) on oltp\n"); inLines != (width == 40 ||
			width == 80) {
			t.Errorf("at %d columns:\n%s", width, &out)
		}
	}
}

// A trace that was rewritten with the same requests has another checksum, which an update accepts even if nothing
// changed.
func TestAnUpdateTakesNewChecksums(t *testing.T) {
	recs, dir := swept(t)
	path := filepath.Join(dir, "keys.txt")
	keys, err := os.ReadFile(path)
	must.Do(t, err)
	must.Do(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(keys), "\n", "\r\n")), 0o644))
	if report := check(t, recs, dir); report.Passed() || report.Count(TraceChanged) == 0 {
		t.Errorf("with the recorded checksum: %s", report.Summary())
	}
	report, err := Check(t.Context(), "base", recs, Options{Dirs: []string{dir}, Version: "2", NewTraces: true})
	if err != nil || !report.Passed() || !report.Outdated() || !slices.Equal(report.NewTraces, []string{"squares"}) {
		t.Fatalf("with that of the new file: %s, new traces %q, %v", report.Summary(), report.NewTraces, err)
	}
	updated, err := report.Updated()
	must.Do(t, err)
	for i, r := range updated {
		want := recs[i]
		if r.Trace == "squares" {
			if want.TraceChecksum == r.TraceChecksum {
				t.Errorf("%s at %s keeps the checksum of the old file", r.Label, r.CapacityText)
			}
			want.TraceChecksum = r.TraceChecksum
		}
		if !reflect.DeepEqual(r, want) {
			t.Errorf("got %+v\nwant %+v", r, want)
		}
	}
}
