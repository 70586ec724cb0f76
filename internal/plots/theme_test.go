package plots

import (
	"bytes"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// hue returns the hue of a colour in OKLCH, in degrees.
func hue(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	r, g, b := linear(c.R), linear(c.G), linear(c.B)
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	return math.Atan2(0.0259040371*l+0.7827717662*m-0.8086757660*s, 1.9779984951*l-2.4285922050*m+0.4505937099*s) *
		180 / math.Pi
}

// Two colours of lines never have the same hue.
func TestColoursDifferInHue(t *testing.T) {
	for i, a := range palette {
		for _, b := range palette[:i] {
			apart := math.Abs(math.Remainder(hue(a)-hue(b), 360))
			if apart < 25 {
				t.Errorf("%s and %s are %.0f degrees apart, want 25", hex(a), hex(b), apart)
			}
		}
	}
}

// The lines of a drawing have the same colours on every page, which chooses all others.
func TestPagesChooseTheColoursAroundLines(t *testing.T) {
	f := New(`fill:#000000 "title"`, "capacity", "hit ratio")
	for i, name := range []string{"lru", `style="fill:#000000"`} {
		l := Line{Label: name, X: []float64{1, 2}, Y: []float64{0.25, 0.5}, High: []float64{0.3, 0.6}, Style: SeriesStyle(i)}
		if err := f.AddLine(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.AddLine(Line{Label: "grey", X: []float64{1, 2}, Y: []float64{0.2, 0.3}, Faded: true}); err != nil {
		t.Fatal(err)
	}
	d, err := f.Draw("f")
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(d.Files, func(f File) bool { return strings.HasSuffix(f.Name, ".svg") })
	file, svg := d.Files[at].Data, d.SVG()
	for i := range 2 {
		set := []byte("stroke:" + hex(palette[i]))
		if n := bytes.Count(svg, set); n == 0 || n != bytes.Count(file, set) {
			t.Errorf("%s is %d times on the page and %d times in the file", set, n, bytes.Count(file, set))
		}
	}
	for _, p := range Properties() {
		if p.Name != "--bound" && !bytes.Contains(svg, []byte("var("+p.Name+")")) {
			t.Errorf("the page cannot choose %s", p.Name)
		}
	}
	for _, style := range regexp.MustCompile(`style="([^"]*)"`).FindAllSubmatch(svg, -1) {
		for _, c := range regexp.MustCompile(`#[0-9A-F]{6}`).FindAll(style[1], -1) {
			if !slices.ContainsFunc(palette, func(p color.NRGBA) bool { return near(hex(p), string(c)) }) {
				t.Errorf("a page cannot change %s", c)
			}
		}
	}
	if !bytes.Contains(svg, []byte(">fill:#000000 &#34;title&#34;<")) {
		t.Error("a text was changed")
	}
	if bytes.Contains(file, []byte("var(")) {
		t.Error("the file needs a page")
	}
}

// near reports whether two colours are the same but for the rounding of translucent ones.
func near(a, b string) bool {
	for i := 1; i < 7; i += 2 {
		x, _ := strconv.ParseInt(a[i:i+2], 16, 64)
		y, _ := strconv.ParseInt(b[i:i+2], 16, 64)
		if x-y > 3 || y-x > 3 {
			return false
		}
	}
	return true
}
