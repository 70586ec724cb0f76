package plots

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// sweep makes records of n online policies and the optimum at the capacities, in objects or, with intervals, in bytes.
func sweep(trace string, n int, unit string, capacities ...int64) []records.Record {
	var recs []records.Record
	for _, capacity := range capacities {
		opt := 1 - 0.85*math.Pow(float64(capacities[0])/float64(capacity), 0.15)
		for i := range n + 1 {
			r := records.Record{
				Trace: trace, Policy: "opt", Label: "opt", Kind: "offline", Cache: "exact", Capacity: capacity, CapacityUnit: unit,
				SampleRate: 1, Optimum: "opt",
				Values: metric.ValuesOf(map[string]float64{"requests": 1_000_000, "hit_ratio": opt}),
			}
			if i < n {
				r.Policy, r.Label, r.Kind = "policy", fmt.Sprintf("policy-%d", i), "online"
				r.Set(metric.HitRatio, opt*(0.9-0.6*float64(i)/float64(n)*math.Sqrt(float64(capacities[0])/float64(capacity))))
				r.Best = i == 0
			}
			r.SetInt(metric.Misses, int64(float64(r.Int(metric.Requests))*(1-r.Float(metric.HitRatio))))
			r.SetInt(metric.Hits, r.Int(metric.Requests)-r.Int(metric.Misses))
			ratio := (1 - r.Float(metric.HitRatio)) / (1 - opt)
			r.Set(metric.CompetitiveRatio, ratio)
			if unit == records.Bytes {
				upper, byteRatio := ratio*1.15, r.Float(metric.HitRatio)*0.8
				r.Set(metric.CompetitiveRatioMax, upper)
				r.Set(metric.ByteHitRatio, byteRatio)
			}
			recs = append(recs, r)
		}
		if unit == records.Bytes {
			bound := recs[len(recs)-1]
			bound.Policy, bound.Label, bound.Kind = "pfoo-l", "pfoo-l", "bound"
			bound.Set(metric.HitRatio, min(1, opt*1.1))
			bound.Delete(metric.CompetitiveRatio)
			bound.Delete(metric.CompetitiveRatioMax)
			bound.Delete(metric.ByteHitRatio)
			recs = append(recs, bound)
		}
	}
	return recs
}

// No cache at one of several capacities is no point of a figure over capacities; where it has a line, it is drawn.
func TestNoCacheIsNoPoint(t *testing.T) {
	records.DeclareRole("idle-here", records.Role{Idle: true})
	recs := sweep("t", 2, records.Objects, 10, 20)
	drawn := func(recs []records.Record) string {
		return string(must.Get(All(t.Context(), recs, look.Options{}))(t)[0].SVG())
	}
	none := func(capacity int64) records.Record {
		r := recs[0]
		r.Policy, r.Label, r.Capacity, r.Best = "idle-here", "idle-here", capacity, false
		r.Values = metric.ValuesOf(map[string]float64{"requests": 1_000_000, "hit_ratio": 0})
		return r
	}
	one := append(slices.Clone(recs), none(10))
	if drawn(one) != drawn(recs) {
		t.Error("a lone point of no cache is drawn")
	}
	if text := drawn(append(one, none(20))); !strings.Contains(text, `data-line="idle-here"`) {
		t.Error("the line of no cache is not drawn")
	}
}

func fileNames(t *testing.T, dir string) []string {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWriteAllFigures(t *testing.T) {
	kinds := map[string][]records.Record{
		"two policies":        sweep("oltp.lis.gz", 2, records.Objects, 250, 500, 1000, 2000),
		"eight in bytes":      sweep("cdn.zst", 8, records.Bytes, 1<<20, 1<<24, 1<<28, 1<<32),
		"two in bytes":        sweep("cdn.zst", 2, records.Bytes, 48<<20, 64<<20, 96<<20),
		"thirty":              sweep("loop.gz", 30, records.Objects, 100, 1000, 10_000, 100_000),
		"one capacity":        sweep("oltp.lis.gz", 8, records.Objects, 1000),
		"thirty bars":         sweep("oltp.lis.gz", 30, records.Objects, 1000),
		"one capacity, bytes": sweep("cdn.zst", 8, records.Bytes, 64<<20),
		"one record":          sweep("x", 0, records.Objects, 1),
	}
	for _, name := range brief.Sample(4, slices.Sorted(maps.Keys(kinds))...) {
		recs := kinds[name]
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if keep := os.Getenv("KEEP_FIGURES"); keep != "" { // to look at them
				dir = filepath.Join(keep, strings.ReplaceAll(name, " ", "-"))
			}
			must.Do(t, writeAll(t, dir, recs))
			want := []string{"competitive_ratio", "hit_ratio"}
			if recs[0].Has(metric.ByteHitRatio) {
				want = []string{"byte_hit_ratio", "competitive_ratio", "hit_ratio"}
			}
			var files []string
			for _, w := range want {
				checkFigure(t, dir, w)
				files = append(files, w+".png", w+".svg")
			}
			if got := fileNames(t, dir); !slices.Equal(got, files) {
				t.Errorf("got files %v, want %v", got, files)
			}
		})
	}
}

func TestOneSetOfFiguresPerTrace(t *testing.T) {
	recs := slices.Concat(sweep("a/b c.zst", 2, records.Objects, 100, 1000),
		sweep("a/b?c.zst", 2, records.Objects, 100, 1000))
	dir := t.TempDir()
	must.Do(t, writeAll(t, dir, recs))
	want := []string{
		"competitive_ratio-a-b-c.zst-2.png",
		"competitive_ratio-a-b-c.zst-2.svg",
		"competitive_ratio-a-b-c.zst.png",
		"competitive_ratio-a-b-c.zst.svg",
		"hit_ratio-a-b-c.zst-2.png",
		"hit_ratio-a-b-c.zst-2.svg",
		"hit_ratio-a-b-c.zst.png",
		"hit_ratio-a-b-c.zst.svg",
	}
	if got := fileNames(t, dir); !slices.Equal(got, want) {
		t.Errorf("got files %v, want %v", got, want)
	}
}

// All hit ratios 0, ratios that do not exist, names that are too long or no text: still a figure.
func TestDegenerateRecords(t *testing.T) {
	recs := sweep("a&b<c>\x01\xff"+strings.Repeat("long-name+", 30), 3, records.Objects, 10, 20)
	for i := range recs {
		recs[i].Set(metric.HitRatio, 0)
		recs[i].Delete(metric.CompetitiveRatio)
		recs[i].Label = strings.Repeat("x", 200) + recs[i].Label
	}
	dir := t.TempDir()
	must.Do(t, writeAll(t, dir, recs))
	checkFigure(t, dir, "hit_ratio")
	if got := fileNames(t, dir); len(got) != 2 {
		t.Errorf("got files %v, want the hit ratio only", got)
	}
}

func TestWriteAllErrors(t *testing.T) {
	recs := sweep("oltp", 2, records.Objects, 100, 200)
	err := writeAll(t, t.TempDir(), append(recs, recs[0]))
	must.Fail(t, err, "two records of policy-0 at capacity 100 objects", "the same point twice")
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o644))
	must.Fail(t, writeAll(t, file, recs), "is a file, want a folder", "a file as folder")
}

// A chart of an experiment shows what the figures of a run show: intervals, kinds of policies and the best.
func TestChartsShowIntervals(t *testing.T) {
	dir := t.TempDir()
	c := Chart{Name: "ratio", X: records.DimCapacity, Y: metric.CompetitiveRatio.Name}
	recs := sweep("cdn.zst", 2, records.Bytes, 64<<20)
	must.Get(drawChart(dir, c, recs))(t)
	drawn := must.Get(os.ReadFile(filepath.Join(dir, "ratio.svg")))(t)
	best := metric.CompetitiveRatio.Text(recs[0].Float(metric.CompetitiveRatio)) + "-" +
		metric.CompetitiveRatioMax.Text(recs[0].Float(metric.CompetitiveRatioMax)) + " *"
	for _, want := range []string{">" + best + "<", ">opt (offline)<", ">" + metric.CompetitiveRatio.Figure.Interval + "<",
		">* lowest " + metric.CompetitiveRatio.Figure.Interval + " of the online policies<"} {
		if !strings.Contains(string(drawn), want) {
			t.Errorf("the figure has no %q", want)
		}
	}
}

// writeAll draws all figures of records into a folder.
func writeAll(t *testing.T, dir string, recs []records.Record) error {
	all, err := All(t.Context(), recs, look.Options{})
	if err != nil {
		return err
	}
	return Write(dir, all...)
}
