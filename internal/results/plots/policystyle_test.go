package plots

import (
	"fmt"
	"image/color"
	"regexp"
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// A policy has its own mark whatever else is drawn, and in whatever order, and its own colour unless another one has
// it.
func TestAPolicyLooksTheSameInEveryFigure(t *testing.T) {
	all := []records.Record{
		{Policy: "lru", Label: "lru", Kind: "online"}, {Policy: "arc", Label: "arc", Kind: "online"},
		{Policy: "sieve", Label: "mine", Kind: "online"}, {Policy: "s3fifo", Label: "s3fifo(small=0.2)", Kind: "online"},
		{Policy: "opt", Label: "opt", Kind: "offline"}, {Policy: "pfoo-l", Label: "pfoo-l", Kind: "bound"},
	}
	want := StylesOf(all, records.DimPolicy)
	slices.Reverse(all)
	for n := range all {
		for name, style := range StylesOf(all[n:], records.DimPolicy) {
			if style.look() != want[name].look() {
				t.Errorf("%s looks like %s among %d, and like %s among all",
					name, style.look(), len(all)-n, want[name].look())
			}
		}
	}
	if want["opt"].Color != ink || want["opt"].Marker != nil || len(want["opt"].Dashes) == 0 {
		t.Errorf("opt looks like %s, want a black dashed line without marks", want["opt"].look())
	}
}

// Of lines of one colour one keeps it: the policy under its own name, or the first in the order of their names.
func TestLinesOfOneColourGetOthers(t *testing.T) {
	named := func(policy string, labels ...string) (recs []records.Record) {
		for _, label := range labels {
			recs = append(recs, records.Record{Policy: policy, Label: label, Kind: "online"})
		}
		return recs
	}
	own := func(policy string) color.NRGBA { return PolicyStyle(policy, policy, "online").Color }
	optimum := records.Record{Policy: "opt", Label: "opt", Kind: "offline"}
	for _, c := range []struct {
		recs []records.Record
		keep map[string]color.NRGBA
	}{
		{named("lru", "pid", "hlem", "ppo"), map[string]color.NRGBA{"hlem": own("lru")}},
		{append(named("lru", "a", "lru"), optimum), map[string]color.NRGBA{"lru": own("lru"), "opt": ink}},
		{append(named("lru", "lru, pid", "lru, hlem"), named("arc", "arc, pid")...),
			map[string]color.NRGBA{"lru, hlem": own("lru"), "arc, pid": own("arc")}},
		{append(named("mru", "mru"), named("lru", "lru")...), map[string]color.NRGBA{"lru": own("lru")}},
	} {
		styles := StylesOf(c.recs, records.DimPolicy)
		seen := map[color.NRGBA]string{}
		for name, style := range styles {
			if other, ok := seen[style.Color]; ok {
				t.Errorf("%s and %s have one colour", name, other)
			}
			seen[style.Color] = name
			if want, ok := c.keep[name]; ok && style.Color != want {
				t.Errorf("%s has the colour %v, want %v", name, style.Color, want)
			}
		}
	}
}

// More lines than there are colours differ in dashes.
func TestLinesThatWouldLookAlikeGetOtherDashes(t *testing.T) {
	styles := Styles{}
	var names []string
	for i := range 3 * len(palette) {
		names = append(names, fmt.Sprint(i))
		styles[names[i]] = SeriesStyle(0)
	}
	styles.apart(names)
	seen, colours := map[string]bool{}, map[color.NRGBA]bool{}
	for name, style := range styles {
		if seen[style.look()] {
			t.Errorf("%s looks like another: %s", name, style.look())
		}
		seen[style.look()], colours[style.Color] = true, true
	}
	if len(colours) != len(palette) {
		t.Errorf("%d colours of %d are used", len(colours), len(palette))
	}
}

// Over time there are no marks, by which policies of the same colour differ elsewhere.
func TestLinesOverTimeDifferWithoutMarks(t *testing.T) {
	styles := Styles{"lru": PolicyStyle("lru", "lru", "online"),
		"lru-stack": PolicyStyle("lru-stack", "lru-stack", "online")}
	lru, other := styles["lru"], styles["lru-stack"]
	if lru.Color != other.Color || lru.Dashes != nil || other.Dashes != nil {
		t.Fatalf("%s and %s differ in more than their marks", lru.look(), other.look())
	}
	panels := []timePanel{{lines: []timeLine{{name: "lru"}, {name: "lru-stack"}}},
		{lines: []timeLine{{name: "lru-stack"}, {name: "job a"}, {name: "lru"}}}}
	seen := map[string]bool{}
	for name, style := range styles.unmarked(panels) {
		if style.Marker != nil || seen[style.look()] {
			t.Errorf("%s looks like another line, or has marks: %s", name, style.look())
		}
		seen[style.look()] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d looks of 3 lines", len(seen))
	}
}

// Of many lines the best and the references are in colour.
func TestFaded(t *testing.T) {
	lines := []ranked{{name: "opt", reference: true, values: map[string]float64{"1": 0.9, "2": 0.9}}}
	for i := range 20 {
		x := float64(i) / 20
		lines = append(lines, ranked{name: fmt.Sprint("p", i), values: map[string]float64{"1": x, "2": x}})
	}
	none := func(ranked) bool { return false }
	for metric, best := range map[string]string{"hit_ratio": "p19", "misses": "p1"} {
		grey := fadedOf(lines, metric, none)
		if n := len(lines) - len(grey); n != mostColoured && n != mostColoured+1 {
			t.Errorf("%s: %d lines in colour, want %d", metric, n, mostColoured)
		}
		if grey["opt"] || grey[best] || grey["p0"] || !grey["p10"] {
			t.Errorf("%s: grey are %v", metric, grey)
		}
	}
	strong := func(l ranked) bool { return l.name == "p10" }
	if grey := fadedOf(lines, "hit_ratio", strong); grey["p10"] || !grey["p9"] {
		t.Errorf("p10 is highlighted, and grey are %v", grey)
	}
	if grey := fadedOf(lines[:mostColoured], "hit_ratio", none); len(grey) > 0 {
		t.Errorf("%d lines, and grey are %v", mostColoured, grey)
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		wanted, want []vg.Length
	}{
		{[]vg.Length{90, 50, 10}, []vg.Length{90, 50, 10}},
		{[]vg.Length{50, 50, 50}, []vg.Length{50, 40, 30}},
		{[]vg.Length{5, 3, 1}, []vg.Length{20, 10, 0}},
		{[]vg.Length{200, 99}, []vg.Length{100, 90}},
	} {
		if got := spread(c.wanted, 10, 0, 100); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.wanted, got, c.want)
		}
	}
}

// A line without marks that has one point only is seen all the same.
func TestOnePointIsMarked(t *testing.T) {
	f := New("", "", "")
	f.AddLine(Line{Label: "opt", X: []float64{1}, Y: []float64{1}, Style: ReferenceStyle()})
	svg := string(must.Get(f.Draw("f", look.Options{}, canvas.SVG))(t).SVG())
	level := regexp.MustCompile(`d="M[0-9.]+,([0-9.]+)L[0-9.]+,([0-9.]+)" ` +
		`style="stroke:var\(--ink\);fill:none;stroke-width:1.6"`)
	if marks := level.FindAllStringSubmatch(svg, -1); len(marks) != 2 || marks[0][1] != marks[0][2] {
		t.Errorf("the level lines are %q, want one in the plot and one in the legend", marks)
	}
}
