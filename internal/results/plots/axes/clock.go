package axes

import (
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"

	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
)

// Clock is what the horizontal axis of a figure over time counts: requests, steps, a unit of time since the first
// request, or dates.
type Clock struct {
	Label string
	Unit  float64    // of what the rows count
	steps []float64  // round distances of ticks, in units; nil for those of any number
	From  *time.Time // the first request; nil unless the axis has dates
}

// timeUnits are the units of spans of time, the longest first, with what a span has at least of each.
var timeUnits = []struct {
	name  string
	unit  float64 // seconds
	least float64 // of them in a span
	steps []float64
}{
	{"days", 86400, 2, nil},
	{"hours", 3600, 2, []float64{0.5, 1, 2, 3, 6, 12, 24}},
	{"minutes", 60, 2, []float64{0.5, 1, 2, 5, 10, 15, 20, 30, 60}},
	{"seconds", 1, 0, []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 60}},
}

// ClockOf returns the clock of the series of some records that extend up to a time, as their rows count it.
func ClockOf(recs []records.Record, last float64) Clock {
	window, err := series.ParseWindow(recs[0].Series)
	switch {
	case strings.HasPrefix(recs[0].Cache, "attention"):
		return Clock{Label: "decode steps", Unit: 1}
	case err != nil || window.Span == 0:
		return Clock{Label: "requests", Unit: 1}
	}
	if from, ok := beginOf(recs); ok {
		return Clock{Label: dateLabel(from, last), Unit: 1, From: &from}
	}
	for _, u := range timeUnits {
		if last >= u.least*u.unit {
			return Clock{Label: "time since the start (" + u.name + ")", Unit: u.unit, steps: u.steps}
		}
	}
	panic("the last unit has no least span")
}

// beginOf returns the time of the first request, if all records have the same one.
func beginOf(recs []records.Record) (time.Time, bool) {
	begin, ok := recs[0].Get(series.Begins)
	same := func(r records.Record) bool { other, _ := r.Get(series.Begins); return other == begin }
	if !ok || slices.ContainsFunc(recs, func(r records.Record) bool { return !same(r) }) {
		return time.Time{}, false
	}
	whole, fraction := math.Modf(begin)
	return time.Unix(int64(whole), int64(fraction*1e9)).UTC(), true
}

// dateLabel names an axis of dates by what its ticks leave out: the day or the year.
func dateLabel(from time.Time, seconds float64) string {
	to := from.Add(time.Duration(seconds * float64(time.Second)))
	switch {
	case from.YearDay() == to.YearDay() && from.Year() == to.Year():
		return "time on " + from.Format("2 January 2006") + " (UTC)"
	case from.Year() == to.Year():
		return "time in " + from.Format("2006") + " (UTC)"
	}
	return "time (UTC)"
}

// Ticker places the ticks of the clock's axis, of which so many labels fit; 0 for MaxLabels.
func (c Clock) Ticker(labels int) Ticker {
	t := Ticker{Unit: Number, Most: labels, Steps: c.steps}
	if c.From != nil {
		t.From = *c.From
	} else if c.Unit == 1 && c.steps != nil {
		t.Unit = Plain
	}
	return t
}

// Distances of ticks on an axis of dates. Longer ones are whole days.
var (
	dateSteps = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second,
		30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute,
		30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour}
	daySteps   = []int{1, 2, 5, 7, 14}
	monthSteps = []int{1, 2, 3, 6, 12, 24, 60, 120}
)

const day = 24 * time.Hour

// dateTicks returns ticks at round times of the day, or at midnight, of an axis that counts seconds from a time.
func dateTicks(from time.Time, low, high float64, most int) (ticks []plot.Tick) {
	seconds := func(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
	first, last := from.Add(seconds(low)), from.Add(seconds(high))
	least := last.Sub(first) / time.Duration(max(most, 1))
	add := func(at time.Time, format string) {
		if !at.Before(first) && !at.After(last) {
			ticks = append(ticks, plot.Tick{Value: at.Sub(from).Seconds(), Label: at.Format(format)})
		}
	}
	for _, step := range dateSteps {
		if step >= least {
			addTimes(first.Truncate(step), last, step, add)
			return ticks
		}
	}
	if i := slices.IndexFunc(daySteps, func(n int) bool { return time.Duration(n)*day >= least }); i >= 0 {
		for at := first.Truncate(day); !at.After(last); at = at.AddDate(0, 0, daySteps[i]) {
			add(at, "2 Jan")
		}
		return ticks
	}
	step := monthSteps[len(monthSteps)-1]
	if i := slices.IndexFunc(monthSteps, func(n int) bool { return time.Duration(n)*30*day >= least }); i >= 0 {
		step = monthSteps[i]
	}
	month := first.Year()*12 + int(first.Month()) - 1
	for at := time.Date(0, time.Month(month/step*step+1), 1, 0, 0, 0, 0, time.UTC); !at.After(last); {
		add(at, "Jan 2006")
		at = at.AddDate(0, step, 0)
	}
	return ticks
}

// addTimes adds the times of the day that are a step apart. Where there are several days, midnight is called by its
// date.
func addTimes(from, to time.Time, step time.Duration, add func(at time.Time, format string)) {
	format := "15:04"
	if step < time.Minute {
		format = "15:04:05"
	}
	for at := from; !at.After(to); at = at.Add(step) {
		if at.Equal(at.Truncate(day)) && at.After(from) {
			add(at, "2 Jan")
		} else {
			add(at, format)
		}
	}
}
