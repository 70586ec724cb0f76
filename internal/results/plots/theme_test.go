package plots

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// A page chooses every colour of a drawing; the file has its own.
func TestPagesChooseTheColours(t *testing.T) {
	f := New(`fill:#000000 "title"`, "capacity", "hit ratio")
	for i, name := range []string{"lru", `style="fill:#000000"`} {
		l := Line{Label: name, X: []float64{1, 2}, Y: []float64{0.25, 0.5}, High: []float64{0.3, 0.6}, Style: SeriesStyle(i)}
		f.AddLine(l)
	}
	f.AddLine(Line{Label: "grey", X: []float64{1, 2}, Y: []float64{0.2, 0.3}, Style: fadedStyle(0)})
	d := must.Get(f.Draw("f", look.Options{}, canvas.SVG))(t)
	at := slices.IndexFunc(d.Files, func(f File) bool { return strings.HasSuffix(f.Name, ".svg") })
	file, svg := d.Files[at].Data, d.SVG()
	for i := range 2 {
		own := bytes.Count(file, []byte("stroke:"+canvas.Hex(palette[i])))
		if n := bytes.Count(svg, fmt.Appendf(nil, "stroke:var(--hue-%d)", i+1)); n == 0 || n != own {
			t.Errorf("line %d has its colour %d times on the page and %d times in the file", i, n, own)
		}
	}
	for _, p := range Properties() {
		absent := p.Name == "--bound" || strings.HasPrefix(p.Name, "--hue-") && p.Name > "--hue-2" || p.Name == "--hue-10"
		if !absent && !bytes.Contains(svg, []byte("var("+p.Name+")")) {
			t.Errorf("the page cannot choose %s", p.Name)
		}
	}
	for _, style := range regexp.MustCompile(`style="([^"]*)"`).FindAllSubmatch(svg, -1) {
		for _, c := range regexp.MustCompile(`#[0-9A-F]{6}`).FindAll(style[1], -1) {
			t.Errorf("a page cannot change %s", c)
		}
	}
	if !bytes.Contains(svg, []byte(">fill:#000000 &#34;title&#34;<")) {
		t.Error("a text was changed")
	}
	if bytes.Contains(file, []byte("var(")) {
		t.Error("the file needs a page")
	}
}
