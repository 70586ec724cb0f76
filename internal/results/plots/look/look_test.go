package look

import (
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestParse(t *testing.T) {
	o := must.Get(Parse("width=3.3in, font=8pt,log=y+x,title=off,format=pdf+tex+pdf,height=5cm"))(t)
	if o.Width != 3.3*vg.Inch || o.Font != 8 || o.Height != 5*vg.Centimeter || o.Log != "x+y" || !o.NoTitle ||
		len(o.Formats) != 2 || o.Formats[0].Ext != ".pdf" || o.Formats[1].Ext != ".tex" {
		t.Errorf("%+v", o)
	}
	for text, want := range map[string]string{
		"":                     `unknown key ""`,
		"widht=3in":            `unknown key "widht"; did you mean "width"?`,
		"width":                `"width": want a value, as in width=3.3in`,
		"width=3.3":            "width=3.3: want a length with its unit: in, cm, mm or pt",
		"width=-1in":           "width=-1in: want a length from 1.5in to 40in",
		"width=NaNin":          "want a length from 1.5in to 40in",
		"font=1mm":             "font=1mm: want a length from 1.41mm to 14.1mm",
		"log=z":                `log=z: unknown axis "z"`,
		"title=maybe":          "title=maybe: want on or off",
		"format=pgn":           `format=pgn: unknown format "pgn"; did you mean "png"? (exists: svg, png, pdf, tex)`,
		"width=3in,width=4in":  "width appears twice; give it once",
		"width=3in,height=1pt": "height=1pt: want a length from 54pt to 2.88e+03pt",
	} {
		_, err := Parse(text)
		must.Fail(t, err, want, text)
	}
	if names := must.Get(ParseHighlight("mine, s3fifo(small=0.1,ghost=0.9)"))(t); !slices.Equal(names,
		[]string{"mine", "s3fifo(small=0.1,ghost=0.9)"}) {
		t.Errorf("highlighted are %q", names)
	}
	must.NotGet(ParseHighlight("a,,b"))(t, "want names of policies", "an empty name")
	must.NotGet(ParseHighlight("a(b"))(t, "unbalanced", "a parenthesis")
}
