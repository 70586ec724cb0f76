// Package axes places ticks at round values of units: numbers, bytes, shares, times and dates.
package axes

import (
	"cmp"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

// Scale is how values are spread along an axis.
type Scale int

const (
	Linear Scale = iota
	Log
)

// Unit is what the values of an axis are, which fixes its ticks and their labels.
type Unit int

const (
	Number  Unit = iota // 0.5, 200, 10k, 3M
	Bytes               // 512 B, 64 MiB
	Percent             // 0.25 is labelled 25%
	Seconds             // 10 ms, 5 min, 1 d
	Plain               // 0.5, 200, 53,000: of a unit that the axis names, as in ms, to which no k or M is added
)

// MaxLabels is the number of labels that fit along an axis of a single plot.
const MaxLabels = 8

// Ticker places ticks at round values of its unit. It implements plot.Ticker.
type Ticker struct {
	Scale Scale
	Unit  Unit
	Most  int       // labels that fit; 0 for MaxLabels
	Steps []float64 // round distances of ticks, if not those of any number
	From  time.Time // at which the axis, which counts seconds, has 0; zero unless it has dates
}

func (t Ticker) Ticks(low, high float64) []plot.Tick {
	switch {
	case !t.From.IsZero():
		return dateTicks(t.From, low, high, t.room())
	case t.Scale == Linear:
		return t.linearTicks(low, high)
	}
	// The densest level that fits has the labels. With fewer than three, a reader cannot tell that it is logarithmic.
	levels := t.logLevels(low, high)
	for _, major := range levels {
		if len(major) > t.room() {
			continue
		}
		if len(major) < min(3, t.room()-2) {
			break
		}
		return t.label(major, levels[0])
	}
	return t.linearTicks(low, high) // too narrow for the round values of a logarithmic axis
}

func (t Ticker) room() int { return cmp.Or(t.Most, MaxLabels) }

func (t Ticker) linearTicks(low, high float64) []plot.Tick {
	least := (high - low) / float64(t.room()-2)
	unit, format := 1.0, t.Unit.Format
	if t.Unit == Seconds { // all labels in one unit: 20 min, 40 min, 60 min
		u := clockUnitOf(least)
		unit, format = u.seconds, u.format
	}
	step := t.step(least/unit) * unit
	if math.Floor(high/step)-math.Ceil(low/step) < 1 { // a single label shows no scale
		step = t.step(least/2/unit) * unit
	}
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9; i++ {
		v := i*step + 0 // no negative zero
		if t.Scale == Log && v <= 0 {
			continue
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: format(v)})
	}
	return ticks
}

// step returns the smallest round distance of ticks that is at least least.
func (t Ticker) step(least float64) float64 {
	if t.Unit == Bytes {
		return math.Exp2(math.Ceil(math.Log2(max(least, 1))))
	}
	for _, step := range t.Steps {
		if step >= least*(1-1e-9) {
			return step
		}
	}
	return decimalStep(least)
}

// decimalStep returns the smallest of 1, 2, 2.5 and 5 times a power of ten that is at least least.
func decimalStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*power >= least {
			return m * power
		}
	}
	return 10 * power
}

// logLevels returns sets of round values between low and high, from the densest to the sparsest.
func (t Ticker) logLevels(low, high float64) [][]float64 {
	switch t.Unit {
	case Bytes:
		var levels [][]float64
		for _, every := range []float64{1, 2, 3, 5, 10, 20} {
			levels = append(levels, powers(2, every, []float64{1}, low, high))
		}
		return levels
	case Seconds:
		return [][]float64{between(fineDurations, low, high), between(durations, low, high),
			between(wholeDurations, low, high)}
	}
	levels := [][]float64{powers(10, 1, []float64{1, 2, 5}, low, high)}
	for _, every := range []float64{1, 2, 3, 4, 5, 6, 7, 8, 10, 20, 50, 100} {
		levels = append(levels, powers(10, every, []float64{1}, low, high))
	}
	return levels
}

var (
	durations = []float64{1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 60, 600, 3600, 6 * 3600, 86400,
		7 * 86400, 30 * 86400, 365 * 86400}
	// for an axis of few of those
	fineDurations = []float64{1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300,
		600, 1200, 3600, 2 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 14 * 86400, 30 * 86400, 90 * 86400,
		365 * 86400}
	wholeDurations = []float64{1e-9, 1e-6, 1e-3, 1, 60, 3600, 86400, 30 * 86400, 365 * 86400}
)

// powers returns m * base^k for every k that is a multiple of every and every m of multiples, within [low, high].
func powers(base, every float64, multiples []float64, low, high float64) []float64 {
	var at []float64
	first := math.Floor(math.Log(low)/math.Log(base)/every) * every
	for k := first; math.Pow(base, k) <= high; k += every {
		for _, m := range multiples {
			at = append(at, m*math.Pow(base, k))
		}
	}
	return between(at, low, high)
}

// between keeps the values within [low, high]; a value that equals an end but for rounding is within.
func between(values []float64, low, high float64) []float64 {
	var in []float64
	for _, v := range values {
		if v >= low*(1-1e-9) && v <= high*(1+1e-9) {
			in = append(in, v)
		}
	}
	return in
}

// label returns labelled ticks at major and bare ones at minor.
func (t Ticker) label(major, minor []float64) []plot.Tick {
	var ticks []plot.Tick
	for _, v := range major {
		ticks = append(ticks, plot.Tick{Value: v, Label: t.Unit.Format(v)})
	}
	for _, v := range minor {
		ticks = append(ticks, plot.Tick{Value: v})
	}
	return ticks
}

// Format writes a value for people: short, with a unit.
func (u Unit) Format(v float64) string {
	switch u {
	case Percent:
		return Short(v*100) + "%"
	case Bytes:
		return scaled(v, 1024, []string{" B", " KiB", " MiB", " GiB", " TiB", " PiB"})
	case Seconds:
		return clockUnitOf(v).format(v)
	case Plain:
		if math.Abs(v) < 1000 {
			return Short(v)
		}
		return show.Count(int64(math.Round(v)))
	}
	return scaled(v, 1000, []string{"", "k", "M", "G", "T"})
}

type clockUnit struct {
	seconds float64
	name    string
}

var clockUnits = []clockUnit{{365 * 86400, "y"}, {86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"},
	{1e-6, "us"}, {1e-9, "ns"}}

// clockUnitOf returns the largest unit in which v seconds are at least 1.
func clockUnitOf(v float64) clockUnit {
	for _, u := range clockUnits {
		if v >= u.seconds*(1-1e-9) {
			return u
		}
	}
	return clockUnits[len(clockUnits)-1]
}

func (u clockUnit) format(v float64) string {
	if v == 0 {
		return "0"
	}
	return Short(v/u.seconds) + " " + u.name
}

// scaled divides v by base until it is short and adds the suffix of that power.
func scaled(v, base float64, suffixes []string) string {
	i := 0
	for math.Abs(v) >= base && i < len(suffixes)-1 {
		v /= base
		i++
	}
	return Short(v) + suffixes[i]
}

// Short writes at most four significant digits, without an exponent.
func Short(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 3, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Exact writes a value with more digits than the labels of an axis have.
func (u Unit) Exact(v float64) string {
	switch u {
	case Percent:
		return strconv.FormatFloat(v*100, 'f', 2, 64) + "%"
	case Bytes:
		return show.Capacity(int64(math.Round(v)), records.Bytes)
	case Seconds:
		return u.Format(v)
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return show.Count(int64(v))
	}
	return Short(v)
}
