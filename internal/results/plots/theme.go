package plots

import (
	"fmt"
	"image/color"
	"regexp"
	"slices"
	"strconv"
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

var (
	svgStyle = regexp.MustCompile(`style="[^"]*"`) // texts and names are escaped: they have no quotes
	svgColor = regexp.MustCompile(`(fill|stroke):#[0-9A-F]{6}`)
)

// themed replaces colours by properties of the page.
func themed(svg []byte) []byte {
	properties := Properties()
	return svgStyle.ReplaceAllFunc(svg, func(style []byte) []byte {
		return svgColor.ReplaceAllFunc(style, func(set []byte) []byte {
			what, value, _ := strings.Cut(string(set), ":")
			i := slices.IndexFunc(properties, func(p Property) bool { return isWritten(p.Color, value) })
			if i < 0 {
				return set
			}
			return fmt.Appendf(nil, "%s:var(%s)", what, properties[i].Name)
		})
	})
}

// isWritten reports whether an SVG has a colour as text. Translucent colours were multiplied by their opacity and
// divided by it again, which rounds them.
func isWritten(c color.NRGBA, text string) bool {
	const rounding = 3
	rgb, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 16, 32)
	if err != nil {
		return false
	}
	for i, v := range []uint8{c.R, c.G, c.B} {
		if apart := int(v) - int(rgb>>(16-8*i)&0xff); apart < -rounding || apart > rounding {
			return false
		}
	}
	return true
}

// hex writes a colour as an SVG has it.
func hex(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }
