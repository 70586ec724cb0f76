package plots

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// everyPolicy returns records of all policies of the program at some capacities, of which the user named the worst
// one first.
func everyPolicy(capacities ...int64) (recs []records.Record) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, name := range policies.Registry.Names() {
		e, _ := policies.Registry.Find(name)
		x := random.Float64()
		for _, capacity := range capacities {
			r := records.Record{Trace: "t", Policy: name, Label: name, Kind: e.Kind.String(), Capacity: capacity,
				CapacityUnit: records.Objects, Cell: name + fmt.Sprint(capacity), Series: "10"}
			r.Set(metric.HitRatio, min(1, x/2+float64(capacity)/10_000))
			r.SetInt(metric.Requests, 1000)
			r.SetInt(metric.Misses, int64(1000*(1-x/2)))
			recs = append(recs, r)
		}
	}
	isOnline := func(r records.Record) bool { return r.Kind == records.Online && !roleOf(r.Policy).Unlimited }
	worst := recs[slices.IndexFunc(recs, isOnline)]
	for _, r := range recs {
		if isOnline(r) && r.Float(metric.HitRatio) < worst.Float(metric.HitRatio) {
			worst = r
		}
	}
	isWorst := func(r records.Record) bool { return r.Policy == worst.Policy }
	return append(slices.DeleteFunc(slices.Clone(recs), func(r records.Record) bool { return !isWorst(r) }),
		slices.DeleteFunc(recs, isWorst)...)
}

// differ fails if two of the looks of lines are equal, or if more lines than necessary share a colour.
func differ(t *testing.T, figure string, looks map[string]Style) {
	t.Helper()
	seen := map[string]string{}
	for name, s := range looks {
		if other, ok := seen[s.look()]; ok {
			t.Errorf("%s: %s and %s look alike: %s", figure, name, other, s.look())
		}
		seen[s.look()] = name
	}
}

// In a figure of all policies no two lines look alike, and the one that the user named first is not grey. The marks
// that distinguish lines are drawn.
func TestAllPoliciesInOneFigureLookDifferent(t *testing.T) {
	many := make([]int64, maxMarkers+1)
	for i := range many {
		many[i] = int64(100 + i)
	}
	for figure, capacities := range map[string][]int64{"lines": {100, 1000}, "lines without marks": many} {
		recs := everyPolicy(capacities...)
		d := drawingOf(t, Chart{Name: "f", X: records.DimCapacity, Y: "hit_ratio", Styles: StylesOf(recs, "policy")}, recs)
		looks := map[string]Style{}
		for _, s := range d.panels[0].Lines {
			l := d.line(s)
			looks[s.Name] = l.Style
			if l.Style.Marker != nil && !l.hasMarkers() {
				t.Errorf("%s: the marks of %s are not drawn", figure, s.Name)
			}
		}
		if len(looks) < 60 {
			t.Fatalf("%s: only %d lines", figure, len(looks))
		}
		differ(t, figure, looks)
		if first := recs[0].Label; looks[first].Grey {
			t.Errorf("%s: %s, which is named first, is grey", figure, first)
		}
	}
}

func TestAllPoliciesOverTimeLookDifferent(t *testing.T) {
	recs := everyPolicy(100)
	var rows []series.Row
	for _, r := range recs {
		rows = append(rows, series.Row{Cell: r.Cell, Time: 10, Name: "hit_ratio", Value: 0.5})
	}
	f := OverTime{Name: "hit_ratio", Rows: series.ByCell(rows), Styles: StylesOf(recs, records.DimPolicy)}
	looks := map[string]Style{}
	for name, s := range f.Styles.unmarked(f.panels(recs, f.Rows)) {
		looks[name] = s
	}
	differ(t, "over time", looks)
}

// Up to as many policies as there are colours have one each, whichever they are, in every kind of figure.
func TestFewPoliciesHaveColoursOfTheirOwn(t *testing.T) {
	all := everyPolicy(100, 1000)
	random := rand.New(rand.NewPCG(1, 2))
	names := records.Distinct(all, func(r records.Record) string { return r.Policy })
	for range 50 {
		random.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
		chosen := names[:mostColoured]
		var recs []records.Record
		var each []*records.Record
		for _, r := range all {
			if slices.Contains(chosen, r.Policy) && r.Kind == records.Online && !roleOf(r.Policy).Unlimited {
				recs = append(recs, r)
				if r.Capacity == 100 {
					each = append(each, &r)
				}
			}
		}
		if len(each) == 0 {
			continue
		}
		d := drawingOf(t, Chart{Name: "f", X: records.DimCapacity, Y: "hit_ratio", Styles: StylesOf(all, "policy")}, recs)
		seen := map[string]string{}
		for _, s := range d.panels[0].Lines {
			color := canvas.Hex(d.color(s.Name))
			if other, ok := seen[color]; ok {
				t.Errorf("of %v, %s and %s have the same colour", chosen, s.Name, other)
			}
			seen[color] = s.Name
		}
		boxes := map[string]bool{}
		for _, c := range Colors(look.Options{}, each) {
			boxes[canvas.Hex(c)] = true
		}
		if len(boxes) != len(each) {
			t.Errorf("%d boxes of %v have %d colours", len(each), chosen, len(boxes))
		}
	}
}

// Bars beside each other in a group differ in colour or in their filling, also those of two optima, which are black.
// Bars on rows have names.
func TestBarsDiffer(t *testing.T) {
	recs := everyPolicy(100)
	var grouped []records.Record
	for _, name := range []string{"lru", "opt", "belady-size", "pfoo-l", "no-cache", "arc"} {
		for _, job := range []string{"a", "b"} {
			i := slices.IndexFunc(recs, func(r records.Record) bool { return r.Policy == name })
			if i < 0 {
				t.Fatalf("no policy %s", name)
			}
			r := recs[i]
			r.Axes = "job=" + job
			grouped = append(grouped, r)
		}
	}
	d := drawingOf(t, Chart{Name: "f", X: "job", Y: "hit_ratio"}, grouped)
	p, seen := d.panels[0], map[string]string{}
	filled := d.fillingsOf(p.Lines)
	for _, s := range p.Lines {
		look := fmt.Sprint(d.color(s.Name), filled[s.Name])
		if other, ok := seen[look]; ok {
			t.Errorf("the bars of %s and %s look alike", s.Name, other)
		}
		seen[look] = s.Name
	}
	svg := drawnSVG(t, Chart{Name: "f", X: records.DimCapacity, Y: "hit_ratio"}, recs)
	for _, r := range recs {
		if !strings.Contains(svg, ">"+r.Label+"<") && !strings.Contains(svg, ">"+r.Label+" (") {
			t.Errorf("no bar is called %s", r.Label)
		}
	}
}

// A highlighted policy is strong, in its colour, above the others and first in the legend. The others are muted, and
// still differ.
func TestHighlight(t *testing.T) {
	var recs []records.Record
	for _, r := range everyPolicy(100, 1000) {
		if slices.Contains([]string{"lru", "arc", "s3fifo", "sieve", "opt"}, r.Policy) {
			recs = append(recs, r)
		}
	}
	c := Chart{Name: "f", X: records.DimCapacity, Y: "hit_ratio", Options: look.Options{Highlight: []string{"sieve"}}}
	d := drawingOf(t, c, recs)
	f := d.draw(d.panels[0])
	if first := f.legend.entries[0]; first.label != "sieve" || !first.strong {
		t.Errorf("the legend begins with %q", first.label)
	}
	if last := f.spots.lines[len(f.spots.lines)-1]; last.name != "sieve" {
		t.Errorf("%s is above all others", last.name)
	}
	looks := map[string]Style{}
	for _, s := range d.panels[0].Lines {
		looks[s.Name] = d.line(s).Style
	}
	differ(t, "highlight", looks)
	plain := drawingOf(t, Chart{Name: "f", X: records.DimCapacity, Y: "hit_ratio"}, recs)
	for name, look := range looks {
		own := plain.styles[name]
		switch muted := look.Color.A < 0xff && look.Width < own.Width; {
		case name == "sieve" && (look.Color != own.Color || look.Width <= own.Width):
			t.Errorf("sieve is drawn as %s, %v wide", look.look(), look.Width)
		case name != "sieve" && !muted:
			t.Errorf("%s is drawn as %s, %v wide", name, look.look(), look.Width)
		}
	}
	svg := drawnSVG(t, c, recs)
	if n := len(regexp.MustCompile(`stroke-width:2\.4`).FindAllString(svg, -1)); n != 2 {
		t.Errorf("%d strong strokes, want the line and its sample in the legend", n)
	}
	must.Fail(t, look.Options{Highlight: []string{"siev"}}.CheckHighlight(recs),
		`unknown policy "siev"; did you mean "sieve"?`, "a policy that is not there")
}

// What users write is strong and above the others, even if these are better, and never grey like the worst of them.
func TestPoliciesOfUsersAreNeverGrey(t *testing.T) {
	recs := everyPolicy(100, 1000)
	written := map[string]string{"rank": "rank(file=my.expr)", "wasm": "wasm(file=my.wasm)",
		"exec": "exec(command=my.py)"}
	for i, r := range recs {
		if label, ok := written[r.Policy]; ok {
			recs[i].Label = label
			recs[i].Set(metric.HitRatio, 0)
		}
	}
	d := drawingOf(t, Chart{Name: "f", X: records.DimCapacity, Y: "hit_ratio"}, recs)
	lines, grey := d.draw(d.panels[0]).spots.lines, 0
	for i, l := range lines {
		style, above := d.styles[l.name], i >= len(lines)-len(written)
		if style.Grey {
			grey++
		}
		if own := strings.Contains(l.name, "my."); own != style.Strong || own != above || own && style.Grey {
			t.Errorf("%s is line %d of %d: grey %v, strong %v", l.name, i+1, len(lines), style.Grey, style.Strong)
		}
	}
	if grey == 0 {
		t.Errorf("none of %d lines is grey", len(lines))
	}
}
