// Package letters writes the texts of figures so that they fit: in smaller letters, in several lines, or cut. Lengths
// are those of the figure, in points. It is a package of its own since it knows nothing of figures.
package letters

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/internal/base/show"
)

// Sans is the font of all figures, in a size.
func Sans(size vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
}

// Style is how texts of a size look.
func Style(size vg.Length) text.Style {
	return text.Style{Color: color.NRGBA{A: 0xff}, Font: Sans(size), Handler: plot.DefaultTextHandler}
}

// leastText is the size of the smallest letters.
const leastText = vg.Length(8)

// Fitted returns s in letters so small that it fits into width, and cuts it if even the smallest are too large.
func Fitted(s string, style text.Style, width vg.Length) (string, text.Style) {
	for style.Font.Size > leastText && style.Width(s) > width {
		style.Font.Size -= 0.5
	}
	return Shorten(s, style, width), style
}

// mostLines is how many lines a text has that is too long for one.
const mostLines = 4

// Wrapped breaks s between words into lines that fit into width. What has no room in mostLines is cut.
func Wrapped(s string, style text.Style, width vg.Length) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		longer := strings.TrimSpace(line + " " + word)
		if line == "" || len(lines) == mostLines-1 || style.Width(drawable(longer, style)) <= width {
			line = longer
			continue
		}
		lines, line = append(lines, line), word
	}
	lines = append(lines, line)
	for i := range lines {
		lines[i] = Shorten(lines[i], style, width)
	}
	return strings.Join(lines, "\n")
}

// Shorten cuts s so that it fits into width, and replaces what cannot be drawn.
func Shorten(s string, style text.Style, width vg.Length) string {
	s = drawable(s, style)
	if style.Width(s) <= width {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && style.Width(string(r)+"...") > width {
		r = r[:len(r)-1]
	}
	return string(r) + "..."
}

// drawable replaces what cannot be drawn.
func drawable(s string, style text.Style) string {
	face := font.DefaultCache.Lookup(style.Font, style.Font.Size).Face
	return strings.Map(func(r rune) rune {
		if glyph, err := face.GlyphIndex(nil, r); err != nil || glyph == 0 {
			return '?'
		}
		return r
	}, show.Printable(s))
}
