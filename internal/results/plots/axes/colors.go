package axes

import (
	"cmp"
	"image/color"
	"math"

	"gonum.org/v1/plot/palette/moreland"
)

// HeatColors is how many colours a heat map has for values. One more, HeatColors itself, stands for none, so that the
// index of a colour fits into a byte.
const HeatColors = 255

// HeatPalette has the colours of values from low to high: the hues of viridis, with a lightness that grows evenly.
// People with any colour vision can read it, and so can everybody on grey paper. It is the same on dark pages.
var HeatPalette = func() (all color.Palette) {
	viridis := []color.Color{
		color.NRGBA{0x44, 0x01, 0x54, 0xff}, color.NRGBA{0x48, 0x28, 0x78, 0xff}, color.NRGBA{0x3e, 0x4a, 0x89, 0xff},
		color.NRGBA{0x31, 0x68, 0x8e, 0xff}, color.NRGBA{0x26, 0x82, 0x8e, 0xff}, color.NRGBA{0x1f, 0x9e, 0x89, 0xff},
		color.NRGBA{0x35, 0xb7, 0x79, 0xff}, color.NRGBA{0x6d, 0xcd, 0x59, 0xff}, color.NRGBA{0xb4, 0xde, 0x2c, 0xff},
		color.NRGBA{0xfd, 0xe7, 0x25, 0xff},
	}
	even, err := moreland.NewLuminance(viridis)
	if err != nil {
		panic(err) // their lightness does not grow
	}
	even.SetMax(1)
	for _, c := range even.Palette(HeatColors).Colors() {
		all = append(all, color.NRGBAModel.Convert(c))
	}
	return append(all, color.NRGBA{0xff, 0xff, 0xff, 0xff})
}()

// ColorScale gives values their colours.
type ColorScale struct {
	Low, High float64
	Scale     Scale
}

// NewColorScale returns a scale for these values, of which some may be NaN.
func NewColorScale(scale Scale, values []float64) ColorScale {
	s := ColorScale{math.Inf(1), math.Inf(-1), scale}
	for _, x := range values {
		if !math.IsNaN(x) {
			s.Low, s.High = min(s.Low, x), max(s.High, x)
		}
	}
	switch {
	case s.Low < s.High:
	case scale == Log:
		s.Low, s.High = s.Low/2, s.High*2
	default:
		room := cmp.Or(math.Abs(s.Low)/10, 1)
		s.Low, s.High = s.Low-room, s.High+room
	}
	return s
}

// Norm returns where a value lies between low and high, from 0 to 1.
func (s ColorScale) Norm(x float64) float64 {
	if s.Scale == Log {
		return math.Log(x/s.Low) / math.Log(s.High/s.Low)
	}
	return (x - s.Low) / (s.High - s.Low)
}

// Index returns the colour of a value in HeatPalette.
func (s ColorScale) Index(x float64) uint8 {
	if math.IsNaN(x) {
		return HeatColors
	}
	return uint8(math.Round(min(max(s.Norm(x), 0), 1) * (HeatColors - 1)))
}
