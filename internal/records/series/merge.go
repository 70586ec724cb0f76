package series

import (
	"math"
	"slices"
	"time"
)

// together are how many windows become one: round numbers of seconds, minutes, hours and days where a window is one of
// these.
var together = []int64{1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 10080, 20160, 43200}

// mostOfOrigin is how many windows the series of what the origin sees have, at most: as many as a figure shows.
const mostOfOrigin = 400

// OfOrigin returns the window of what the origin behind a cache sees, with the sizes of the misses if bytes count.
func OfOrigin(bytes bool) Window {
	w := Window{Span: time.Minute, Most: mostOfOrigin, Names: MissesPerSecond}
	if bytes {
		w.Names += "," + MissedBytes
	}
	return w
}

// Merged returns the rows of one replay, in the order of their times, with at most w.Most windows: where there are
// more, each row stands for several consecutive windows. Its value is their mean, and its time the end of the last one.
func (w Window) Merged(rows []Row) []Row {
	if w.Most == 0 || w.Span == 0 || len(rows) == 0 {
		return rows
	}
	span := w.Span.Seconds()
	last := slices.MaxFunc(rows, func(a, b Row) int { return int(a.Time/span+0.5) - int(b.Time/span+0.5) })
	n := perWindow(int64(math.Round(last.Time/span)), int64(w.Most))
	if n == 1 {
		return rows
	}
	type key struct {
		name, label string
		window      int64
	}
	at, counts := map[key]int{}, []float64{}
	var merged []Row
	for _, r := range rows {
		k := key{r.Name, r.Label, (int64(math.Round(r.Time/span)) - 1) / n}
		i, begun := at[k]
		if !begun {
			i = len(merged)
			at[k] = i
			merged, counts = append(merged, Row{Cell: r.Cell, Name: r.Name, Label: r.Label}), append(counts, 0)
		}
		m := &merged[i]
		counts[i]++
		m.Time, m.Value = r.Time, m.Value+(r.Value-m.Value)/counts[i]
	}
	return merged
}

// perWindow returns how many windows become one, so that at most some remain.
func perWindow(windows, most int64) int64 {
	for _, n := range together {
		if (windows+n-1)/n <= most {
			return n
		}
	}
	longest := together[len(together)-1]
	return ((windows+most-1)/most + longest - 1) / longest * longest
}
