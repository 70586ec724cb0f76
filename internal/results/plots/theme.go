package plots

import (
	"fmt"
	"image/color"
	"strings"
)

// The colours of what is no line.
var (
	ink       = color.NRGBA{A: 0xff} // text, axes and references
	paper     = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	grid      = color.NRGBA{0xe6, 0xe6, 0xe6, 0xff}
	bound     = color.NRGBA{0x70, 0x70, 0x70, 0xff}
	faded     = color.NRGBA{0x94, 0x94, 0x94, 0xff} // lines that are only the background of others
	fadedText = color.NRGBA{0x60, 0x60, 0x60, 0xff} // their names, which are read and need more contrast than lines
)

// Property is a colour that a page chooses: the name of a property of its style sheet, and the colour on paper.
type Property struct {
	Name  string
	Color color.NRGBA
}

// Properties are what a page chooses: all colours. Those of lines come last, in the order of LineColors; a page keeps
// their hue.
func Properties() []Property {
	all := []Property{{"--ink", ink}, {"--paper", paper}, {"--grid", grid}, {"--bound", bound}, {"--faded", faded},
		{"--faded-text", fadedText}}
	for i, c := range palette {
		all = append(all, Property{fmt.Sprintf("--hue-%d", i+1), c})
	}
	return all
}

// PropertyOf returns the name of the property that a page has for a colour; that of text for any other.
func PropertyOf(c color.NRGBA) string {
	for _, p := range Properties() {
		if p.Color == c {
			return p.Name
		}
	}
	return Properties()[0].Name
}

// LineColors returns the colours that lines may have.
func LineColors() []color.NRGBA { return palette }

// themed replaces colours by properties of the page. Only styles have quotes: texts and names are escaped.
func themed(svg []byte) []byte {
	var replaced []string
	for _, p := range Properties() {
		for _, set := range []string{`style="fill:`, `style="stroke:`} {
			replaced = append(replaced, set+hex(p.Color), set+"var("+p.Name+")")
		}
	}
	return []byte(strings.NewReplacer(replaced...).Replace(string(svg)))
}

// hex writes a colour as an SVG has it.
func hex(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }
