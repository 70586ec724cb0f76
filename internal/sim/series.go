package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim/windows"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// checkSeries rejects a series that a replay of t cannot have, or that would be too long.
func checkSeries(c Cell, t *traces.Trace) error {
	if !c.Series.IsSet() {
		return nil
	}
	if cache.ServesHeads(c.Cache) {
		return checkSeriesOfHeads(c.Series, attention.Of(t.Kind).Shape)
	}
	if c.Allocator != nil && t.Tenants != nil {
		if n := len(t.Tenants.Names); n > windows.MostTenants {
			return fmt.Errorf("series %s: %s has %d tenants, more than %d; remove the series, or use a column or prefix with "+
				"fewer values", c.Series, t.Name, n, windows.MostTenants)
		}
	}
	if err := checkOrigin(c, t); err != nil {
		return err
	}
	switch {
	case c.Series.Span == 0:
		return c.Series.CheckRequests(int64(len(t.Objects)))
	case hasClock(c.Model): // how long the run takes is known at its end
		return nil
	case c.Model != nil:
		return fmt.Errorf("series %s: the model %s has its own clock; give a number of requests instead", c.Series,
			c.Model.Name())
	case t.Times == nil:
		return fmt.Errorf("series %s: %s has no times; give a number of requests instead", c.Series, t.Name)
	}
	for _, part := range t.Parts() {
		if err := c.Series.CheckSpan(time.Duration(slices.Max(part.Times) - part.Times[0])); err != nil {
			return err
		}
	}
	return nil
}

// checkOrigin rejects misses per second where time is unknown.
func checkOrigin(c Cell, t *traces.Trace) error {
	window := c.Series
	switch {
	case !windows.SeesOrigin(window):
		return nil
	case c.Model != nil:
		return fmt.Errorf("series %s: the model %s has its own clock, so the misses per second of the trace's are unknown; "+
			"remove the model", window, c.Model.Name())
	case window.Span == 0:
		return fmt.Errorf("series %s: misses per second need windows of time, such as 1m", window)
	case t.Times == nil:
		return fmt.Errorf("%s has no times, so the misses per second are unknown", t.Name)
	case len(t.Starts) > 0:
		return fmt.Errorf("series %s: each file has a clock of its own, so misses per second of all are unknown; replay "+
			"one file at a time", window)
	}
	return checkMinutes(window, t)
}

// checkMinutes rejects more minutes than a series may have, of which --origin makes one.
func checkMinutes(window series.Window, t *traces.Trace) error {
	if window.Span != time.Minute {
		return nil // whatever is wrong with other windows is said of them
	}
	lasts := time.Duration(slices.Max(t.Times) - t.Times[0])
	if window.CheckSpan(lasts) == nil {
		return nil
	}
	const day = 24 * time.Hour
	return fmt.Errorf("%s lasts %.0f days, but misses per minute are limited to %d days; use --limit, or longer "+
		"windows, such as --series 1h:%s", t.Name, float64(lasts)/float64(day),
		series.MaxWindows*time.Minute/day, window.Names)
}
