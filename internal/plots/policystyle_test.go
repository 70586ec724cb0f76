package plots

import (
	"fmt"
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/internal/records"
)

// A policy has its own colour and mark whatever else is drawn, and in whatever order.
func TestAPolicyLooksTheSameInEveryFigure(t *testing.T) {
	all := []records.Record{
		{Policy: "lru", Label: "lru", Kind: "online"}, {Policy: "arc", Label: "arc", Kind: "online"},
		{Policy: "arc", Label: "arc(int=true)", Kind: "online"}, {Policy: "mine", Label: "mine", Kind: "online"},
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
	if a, b := want["arc"], want["arc(int=true)"]; a.Color != b.Color || a.look() == b.look() {
		t.Errorf("arc looks like %s and arc(int=true) like %s, want one colour and two looks", a.look(), b.look())
	}
	if want["opt"].Color != black || want["opt"].Marker != nil || len(want["opt"].Dashes) == 0 {
		t.Errorf("opt looks like %s, want a black dashed line without marks", want["opt"].look())
	}
}

// Lines of one policy that are named after something else have colours of their own.
func TestLinesOfOnePolicyUnderOtherNamesDifferInColour(t *testing.T) {
	named := func(labels ...string) (recs []records.Record) {
		for _, label := range labels {
			recs = append(recs, records.Record{Policy: "lru", Label: label, Kind: "online"})
		}
		return recs
	}
	styles := StylesOf(named("pid", "hlem", "pid", "ppo"), records.DimPolicy)
	if a, b, c := styles["pid"].Color, styles["hlem"].Color, styles["ppo"].Color; a == b || b == c || a == c {
		t.Errorf("pid, hlem and ppo have the colours %v, %v and %v", a, b, c)
	}
	optimum := records.Record{Policy: "opt", Label: "opt", Kind: "offline"}
	styles = StylesOf(append(named("lru, pid", "lru, hlem", "lru, ppo"), optimum), records.DimPolicy)
	a, b, c := styles["lru, pid"].Color, styles["lru, hlem"].Color, styles["lru, ppo"].Color
	if a == b || b == c || a == c {
		t.Errorf("lru with pid, hlem and ppo has the colours %v, %v and %v", a, b, c)
	}
	arc := records.Record{Policy: "arc", Label: "arc, pid", Kind: "online"}
	styles = StylesOf(append(named("lru, pid", "lru, hlem"), arc), records.DimPolicy)
	if a, b := styles["lru, pid"].Color, styles["lru, hlem"].Color; a != b || a == styles["arc, pid"].Color {
		t.Errorf("beside arc, lru with pid and hlem has the colours %v and %v", a, b)
	}
	styles = StylesOf(named("lru", "hlem"), records.DimPolicy)
	if styles["lru"].Color != styles["hlem"].Color {
		t.Error("lru under another name has another colour, beside lru")
	}
}

func TestLinesThatWouldLookAlikeGetOtherDashes(t *testing.T) {
	styles := Styles{"a": SeriesStyle(0), "b": SeriesStyle(0), "c": SeriesStyle(0)}
	styles.apart([]string{"a", "b", "c"})
	seen := map[string]bool{}
	for name, style := range styles {
		if seen[style.look()] || style.Color != SeriesStyle(0).Color {
			t.Errorf("%s looks like %s", name, style.look())
		}
		seen[style.look()] = true
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
	lines := []ranked{{"opt", true, map[string]float64{"1": 0.9, "2": 0.9}}}
	for i := range 20 {
		x := float64(i) / 20
		lines = append(lines, ranked{fmt.Sprint("p", i), false, map[string]float64{"1": x, "2": x}})
	}
	for metric, best := range map[string]string{"hit_ratio": "p19", "misses": "p0"} {
		grey := faded(lines, metric)
		if n := len(lines) - len(grey); n != mostColoured {
			t.Errorf("%s: %d lines in colour, want %d", metric, n, mostColoured)
		}
		if grey["opt"] || grey[best] || !grey["p10"] {
			t.Errorf("%s: grey are %v", metric, grey)
		}
	}
	if grey := faded(lines[:mostColoured], "hit_ratio"); len(grey) > 0 {
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
	if err := f.AddLine(Line{Label: "opt", X: []float64{1}, Y: []float64{1}, Style: ReferenceStyle()}); err != nil {
		t.Fatal(err)
	}
	if n := len(f.legend.entries[0].thumbs); n != 2 {
		t.Errorf("%d parts in the legend, want a line and a mark", n)
	}
}
