package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Declared is a metric with the parts that produce it.
type Declared struct {
	Metric
	By []string // "every replay", "policy laru"
}

// registry contains every metric, in the order in which package sim/all declares them when the program starts.
var (
	registry []Declared
	index    = map[string]int{}  // indices in registry, by name
	labels   = map[string]bool{} // the kinds of labels
)

// Register declares the metrics of a part ("policy laru"). Package sim/all calls it when the program starts. Several
// parts may declare the same metric, but their declarations must be equal.
func Register(by string, metrics ...Metric) {
	for _, m := range metrics {
		if err := register(by, m); err != nil {
			panic("metric: " + by + ": " + err.Error())
		}
	}
}

func register(by string, m Metric) error {
	if err := m.check(); err != nil {
		return err
	}
	if m.Labels != "" {
		labels[m.Labels] = true
	}
	at, ok := index[m.Name]
	if !ok {
		index[m.Name] = len(registry)
		registry = append(registry, Declared{m, []string{by}})
		return nil
	}
	d := &registry[at]
	if d.Metric != m {
		return fmt.Errorf("%s is declared differently by %s: %+v there, %+v here", m.Name, d.By[0], d.Metric, m)
	}
	if !slices.Contains(d.By, by) {
		d.By = append(d.By, by)
	}
	return nil
}

// All returns every metric in the order of their declarations.
func All() []Declared { return slices.Clone(registry) }

// IsLabels reports whether name is what the labels of a metric are: IsLabels("tenant").
func IsLabels(name string) bool { return labels[name] }

func Names() []string {
	names := make([]string, len(registry))
	for i := range registry {
		names[i] = registry[i].Name
	}
	return names
}

// NamesOfMachine returns the metrics that depend on the machine. The records of an experiment do not contain them;
// figures, tables and claims get them from its timings.
func NamesOfMachine() (names []string) {
	for _, d := range registry {
		if d.OfMachine {
			names = append(names, d.Name)
		}
	}
	return names
}

// Lookup returns the metric with that name; for tenant_hit_ratio[web] it is tenant_hit_ratio, if that has values by
// tenant.
func Lookup(name string) (m Metric, ok bool) {
	if at, ok := index[name]; ok {
		return registry[at].Metric, registry[at].Labels == ""
	}
	base, label, labelled := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	at, ok := index[base]
	if !ok || !labelled || label == "" || !strings.HasSuffix(name, "]") || registry[at].Labels == "" {
		return Metric{}, false
	}
	return registry[at].Metric, true
}

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
