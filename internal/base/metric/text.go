package metric

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

var english = message.NewPrinter(language.English)

// Label is the name for people: "hit ratio".
func (m Metric) Label() string {
	if m.Title != "" {
		return m.Title
	}
	return strings.ReplaceAll(m.Name, "_", " ")
}

// AxisLabel names an axis of a figure: the metric with its unit, unless the ticks show that.
func (m Metric) AxisLabel() string {
	label, unit := cmp.Or(m.Figure.Axis, m.Label()), string(m.Unit)
	switch {
	case m.Unit == Count || m.Unit == Bytes || m.Unit == Share || m.Unit == Ratio:
		return label
	case strings.Contains(label, "("+unit+")") || strings.HasPrefix(label, unit+"/"):
		return label
	case m.Unit == PerSecond && strings.Contains(label, "per second"):
		return label
	}
	return strings.TrimSuffix(label, " "+unit) + " (" + unit + ")"
}

// Text formats a value for people: 47.12%, 914,145, 1.204, 12,345.678. Small numbers keep three significant digits:
// 0.00123. Ratios that round to 0 do not: they are usually a 0 with a rounding error.
func (m Metric) Text(x float64) string {
	none := m.Unit == Ratio && math.Abs(x) < 0.5*math.Pow10(-m.Digits)
	if m.Digits > 0 && m.Unit != Share && x != 0 && !none {
		leading := int(math.Floor(math.Log10(math.Abs(x)))) // place of the first digit; 0 is the last before the point
		m.Digits = max(m.Digits, 2-leading)
	}
	return m.text(x)
}

// text formats x with the digits of the metric.
func (m Metric) text(x float64) string {
	if m.Unit == Share {
		return strconv.FormatFloat(x*100, 'f', m.Digits, 64) + "%"
	}
	return english.Sprintf("%.*f", m.Digits, x)
}

// DifferenceText formats the difference between two values, with its sign; for ratios in percentage points. Values that
// look equal differ by "0".
func (m Metric) DifferenceText(x float64) string {
	text := strings.TrimSuffix(m.text(math.Abs(x)), "%")
	switch {
	case strings.Trim(text, "0.") == "":
		return "0"
	case x > 0:
		return "+" + text
	}
	return "−" + text
}
