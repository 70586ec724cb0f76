// Package look reads what users choose for the looks of figures.
package look

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
)

// Options are what users choose for the figures of a paper, the same for all figures of a command. The zero value draws
// figures for a screen.
type Options struct {
	Width   vg.Length // of a figure with everything; 0: as wide as its legend needs beside a plot of the usual size
	Height  vg.Length // likewise, if that is enough for all names; 0: follows from the width
	Font    vg.Length // size of the letters at ticks and in legends; 0: the usual one
	Log     string    // which axes are logarithmic: "x", "y", "x+y" or "none"; "" if the values decide
	NoTitle bool
	Formats []canvas.Format // nil: those that the command writes
	// Highlight are the policies, by their names with or without parameters, that are drawn strong and above the others.
	Highlight []string
}

// Ranges of lengths, in points.
const (
	leastWidth, mostWidth = 1.5 * vg.Inch, 40 * vg.Inch
	leastFont, mostFont   = vg.Length(4), vg.Length(40)
)

const (
	usualFont = vg.Length(10) // size of the letters at ticks and in legends
	// Margin is around figures without a width, and between their parts.
	Margin = vg.Length(10)
	// paperMargin is around figures with a width: papers have margins of their own.
	paperMargin = vg.Length(2)
)

// option is one key of Parse.
type option struct {
	key, doc string
	set      func(*Options, string) error
}

var optionKeys = []option{
	{"width", "3.3in", func(o *Options, text string) (err error) {
		o.Width, err = parseLength(text, leastWidth, mostWidth)
		return err
	}},
	{"height", "2.2in", func(o *Options, text string) (err error) {
		o.Height, err = parseLength(text, leastWidth/2, mostWidth)
		return err
	}},
	{"font", "8pt", func(o *Options, text string) (err error) {
		o.Font, err = parseLength(text, leastFont, mostFont)
		return err
	}},
	{"log", "x", func(o *Options, text string) error {
		choices := []string{"x", "y", "x+y", "none"}
		if text == "y+x" {
			text = "x+y"
		}
		if o.Log = text; !slices.Contains(choices, text) {
			return suggest.Unknown("axis", text, choices)
		}
		return nil
	}},
	{"title", "off", func(o *Options, text string) error {
		if o.NoTitle = text == "off"; text != "on" && text != "off" {
			return errors.New("want on or off")
		}
		return nil
	}},
	{"format", "pdf+tex", func(o *Options, text string) error {
		o.Formats = nil
		for name := range strings.SplitSeq(text, "+") {
			i := slices.IndexFunc(canvas.Formats, func(f canvas.Format) bool { return f.Ext == "."+name })
			if i < 0 {
				return suggest.Unknown("format", name, canvas.Names())
			}
			if !slices.ContainsFunc(o.Formats, func(f canvas.Format) bool { return f.Ext == canvas.Formats[i].Ext }) {
				o.Formats = append(o.Formats, canvas.Formats[i])
			}
		}
		return nil
	}},
}

// Usage describes what Parse reads.
const Usage = "how figures look, as in width=3.3in,font=8pt,title=off: width and height with everything (in, cm, " +
	"mm, pt), font of ticks and legends (pt), log (logarithmic axes: x, y, x+y or none), title (on or off), format " +
	"(svg, png, pdf and tex for PGF/TikZ, as in pdf+tex)"

// Parse reads a list such as "width=3.3in,font=8pt,log=x,title=off,format=pdf+tex". Unknown keys, keys that
// appear twice, and impossible values are errors.
func Parse(text string) (o Options, err error) {
	seen := map[string]bool{}
	for item := range strings.SplitSeq(text, ",") {
		key, value, isPair := strings.Cut(strings.TrimSpace(item), "=")
		i := slices.IndexFunc(optionKeys, func(k option) bool { return k.key == key })
		switch {
		case i < 0:
			var keys []string
			for _, k := range optionKeys {
				keys = append(keys, k.key)
			}
			return o, suggest.Unknown("key", key, keys)
		case !isPair || value == "":
			return o, fmt.Errorf("%q: want a value, as in %s=%s", item, key, optionKeys[i].doc)
		case seen[key]:
			return o, fmt.Errorf("%q: %s appears twice; give it once", text, key)
		}
		seen[key] = true
		if err := optionKeys[i].set(&o, value); err != nil {
			return o, fmt.Errorf("%s=%s: %w", key, value, err)
		}
	}
	return o, nil
}

// lengthUnits are what lengths may be written in.
var lengthUnits = []struct {
	name string
	unit vg.Length
}{{"in", vg.Inch}, {"cm", vg.Centimeter}, {"mm", vg.Millimeter}, {"pt", vg.Points(1)}}

func parseLength(text string, least, most vg.Length) (vg.Length, error) {
	for _, u := range lengthUnits {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		l := vg.Length(x) * u.unit
		if err != nil || !(l >= least*(1-1e-9) && l <= most*(1+1e-9)) {
			return 0, fmt.Errorf("want a length from %.3g%s to %.3g%s", float64(least/u.unit), u.name, float64(most/u.unit),
				u.name)
		}
		return l, nil
	}
	return 0, errors.New("want a length with its unit: in, cm, mm or pt")
}

// ParseHighlight reads a list of policies to highlight: "mine,s3fifo(small=0.2)".
func ParseHighlight(text string) (names []string, err error) {
	items, err := params.Split(text, ',')
	if err != nil {
		return nil, err
	}
	for _, name := range items {
		if name = strings.TrimSpace(name); name == "" {
			return nil, fmt.Errorf("%q: want names of policies, separated by commas", text)
		}
		names = append(names, name)
	}
	return names, nil
}

// Over returns the options with those of base where they say nothing.
func (o Options) Over(base Options) Options {
	o.Width, o.Height, o.Font = cmp.Or(o.Width, base.Width), cmp.Or(o.Height, base.Height), cmp.Or(o.Font, base.Font)
	o.Log, o.NoTitle = cmp.Or(o.Log, base.Log), o.NoTitle || base.NoTitle
	if o.Formats == nil {
		o.Formats = base.Formats
	}
	if o.Highlight == nil {
		o.Highlight = base.Highlight
	}
	return o
}

// CheckHighlight rejects names that highlight none of some records.
func (o Options) CheckHighlight(recs []records.Record) error {
	var names []string
	for i := range recs {
		for _, name := range []string{recs[i].Policy, recs[i].Label} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range o.Highlight {
		if !slices.Contains(names, name) {
			return suggest.Unknown("policy", name, names)
		}
	}
	return nil
}

// IsStrong reports whether a line of a record is highlighted.
func (o Options) IsStrong(line string, r *records.Record) bool {
	return slices.ContainsFunc(o.Highlight, func(name string) bool {
		return name == line || r != nil && (name == r.Label || name == r.Policy || strings.HasPrefix(r.Label, name+", "))
	})
}

// InLog returns whether an axis, "x" or "y", is logarithmic, if not otherwise chosen as usual.
func (o Options) InLog(axis string, usual bool) bool {
	if o.Log == "" {
		return usual
	}
	return strings.Contains(o.Log, axis) && o.Log != "none"
}

// Scale is how large letters and lines are, where 1 is usual.
func (o Options) Scale() vg.Length { return cmp.Or(o.Font, usualFont) / usualFont }

// Margin is around a figure, in lengths that are scaled.
func (o Options) Margin() vg.Length {
	if o.Width > 0 {
		return paperMargin
	}
	return Margin
}

// Inner is the width within the margins, in lengths that are scaled; 0 if it is not fixed.
func (o Options) Inner() vg.Length {
	if o.Width == 0 {
		return 0
	}
	return o.Width/o.Scale() - 2*o.Margin()
}

// FormatsOf returns the formats to draw, of those that are usual. None stay none.
func (o Options) FormatsOf(usual []canvas.Format) []canvas.Format {
	if len(usual) == 0 || o.Formats == nil {
		return usual
	}
	return o.Formats
}

// DPI is how many pixels images have in an inch.
func (o Options) DPI() int {
	if o.Width > 0 {
		return 300
	}
	return 150
}
