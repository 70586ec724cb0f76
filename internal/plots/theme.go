package plots

import (
	"bytes"
	"fmt"
	"image/color"
	"regexp"
	"strings"
)

// The colours of what is no line: figures on dark pages have others in their place.
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

// Properties are what a page chooses. The colours of lines are not among them: they are the same on every page.
func Properties() []Property {
	return []Property{{"--ink", ink}, {"--paper", paper}, {"--grid", grid}, {"--bound", bound}, {"--faded", faded},
		{"--faded-text", fadedText}}
}

// LineColors returns the colours that lines may have.
func LineColors() []color.NRGBA { return palette }

var (
	svgStyle = regexp.MustCompile(`style="[^"]*"`) // texts and names are escaped: they have no quotes
	svgColor = regexp.MustCompile(`(fill|stroke):#[0-9A-F]{6}`)
)

// themed replaces the colours of what is no line by properties of the page.
func themed(svg []byte) []byte {
	names := map[string]string{}
	for _, p := range Properties() {
		names[hex(p.Color)] = p.Name
	}
	return svgStyle.ReplaceAllFunc(svg, func(style []byte) []byte {
		return svgColor.ReplaceAllFunc(style, func(set []byte) []byte {
			what, value, _ := strings.Cut(string(bytes.TrimSpace(set)), ":")
			name, ok := names[value]
			if !ok {
				return set
			}
			return fmt.Appendf(nil, "%s:var(%s)", what, name)
		})
	})
}

// hex writes a colour as an SVG has it.
func hex(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }
