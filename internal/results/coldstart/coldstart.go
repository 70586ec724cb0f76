// Package coldstart says what the beginning of a trace, when the cache is still empty, does to a result: how many
// requests hit once the cache has filled, and how much longer the log should be.
package coldstart

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
	"github.com/cachesim/cachesim/internal/results"
)

// Metrics of runs that ask for them.
var (
	filledAt = metric.Metric{Name: "filled_at", Unit: metric.Count, Merge: metric.Apart,
		Column: metric.Column{At: 16, Weight: 52, Head: "filled at"},
		Doc: "number of the first request at which everything requested so far no longer fits into the cache; absent if " +
			"it always does"}
	filledHitRatio = metric.Metric{Name: "filled_hit_ratio", Unit: metric.Share, Digits: 2, Better: metric.Higher,
		Merge: metric.Apart, Column: metric.Column{At: 17, Weight: 54, Head: "filled"},
		Doc: "hits / requests from the request filled_at on; on a sample, the estimate for the whole trace"}
	coldMisses = metric.Metric{Name: "cold_misses", Unit: metric.Count, Merge: metric.Apart,
		Column: metric.Column{At: 81, Weight: 50},
		Doc: "requests that are the first to their object, which miss in every cache; part of misses; absent where they " +
			"may hit, because similar objects answer or objects are loaded ahead"}
)

func init() { metric.Register("run --filled", filledAt, filledHitRatio, coldMisses) }

// Measure adds the metrics to records whose blocks are known.
func Measure(recs []records.Record, set *blocks.Set) {
	for i := range recs {
		b := set.Of(&recs[i])
		if b == nil || b.Restarts {
			continue
		}
		if !b.FirstsHit {
			recs[i].SetInt(coldMisses, b.Cold)
		}
		if b.Filled.At > 0 {
			recs[i].SetInt(filledAt, b.Filled.At)
			recs[i].Set(filledHitRatio, b.FilledHitRatio(&recs[i]))
		}
	}
}

// Lines says in up to two sentences per group of records what a short log hides. noun is the word for an object of a
// record.
func Lines(recs []records.Record, set *blocks.Set, noun func(*records.Record) string) (lines []string) {
	groups := results.Groups(results.NamedByParts(recs))
	for _, g := range groups {
		s := start{noun: noun(&g.Records[0])}
		for _, r := range g.Records {
			if b := set.Of(&r); r.Competes() && b != nil && !b.Restarts && len(b.Each) == blocks.Count {
				s.cells = append(s.cells, cell{r, b})
			}
		}
		slices.SortStableFunc(s.cells, func(a, b cell) int {
			return int(min(1, max(-1, a.Capacity-b.Capacity)))
		})
		for _, line := range []string{s.filled(), cmp.Or(s.neverRepeats(), s.neverFilled(), s.coldMisses())} {
			if line != "" && len(groups) > 1 {
				line = g.Name + ": " + line
			}
			lines = append(lines, show.Printable(line))
		}
	}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// cell is a record with its blocks.
type cell struct {
	records.Record
	blocks *blocks.Blocks
}

// start is the cells of a group whose policies compete, by capacity.
type start struct {
	cells []cell
	noun  string
}

// neverRepeats says that the log cannot hit, whatever the capacity.
func (s start) neverRepeats() string {
	if len(s.cells) == 0 {
		return ""
	}
	all := s.cells[0].blocks.Sum()
	if s.cells[0].blocks.Cold != all.Requests {
		return ""
	}
	return fmt.Sprintf("each of the %s requests is the first to its %s: nothing repeats in this log, so that no cache "+
		"hits, however large", show.Count(all.Requests), strings.TrimSuffix(s.noun, "s"))
}

func (s start) capacity(c cell) string {
	text := show.Capacity(c.Capacity, c.CapacityUnit)
	switch {
	case c.CapacityUnit != records.Objects:
		return text
	case c.Capacity == 1:
		return text + " " + strings.TrimSuffix(s.noun, "s")
	}
	return text + " " + s.noun
}

// leastDifference is from which difference on hit ratios are worth a sentence.
const leastDifference = 0.01

// filled compares the hit ratio after the cache has filled with that of all requests, for the best policy at the
// largest capacity that is full for half of them.
func (s start) filled() string {
	at := -1
	for i, c := range s.cells {
		if c.blocks.Filled.At <= c.Warmup+1 || 2*c.blocks.Filled.Requests < c.blocks.Sum().Requests {
			continue
		}
		if at < 0 || c.Capacity > s.cells[at].Capacity || c.Float(metric.HitRatio) > s.cells[at].Float(metric.HitRatio) {
			at = i
		}
	}
	if at < 0 {
		return ""
	}
	c := s.cells[at]
	before, after := c.Float(metric.HitRatio), c.blocks.FilledHitRatio(&c.Record)
	if math.Abs(after-before) < leastDifference {
		return ""
	}
	ofSample := ""
	if c.IsSample() {
		ofSample = " of the sample"
	}
	return fmt.Sprintf("%s at %s: %s of all requests hit, %s once the cache has filled (at request %s%s)", c.Label,
		s.capacity(c), records.MetricText(metric.HitRatio.Name, before),
		records.MetricText(metric.HitRatio.Name, after), show.Count(c.blocks.Filled.At), ofSample)
}

// farthest is the longest log of an estimate, as a multiple of the log. least is the power of growth below which a log
// of that length would not even request twice as much.
const (
	farthest = 100
	least    = 0.15
)

// neverFilled says how long the log would have to be to fill a capacity that the user has given as a size.
func (s start) neverFilled() string {
	for _, c := range s.cells {
		if strings.HasSuffix(c.CapacityText, "%") {
			continue
		}
		footprint, power := c.footprint()
		if c.Capacity <= footprint {
			continue
		}
		text := fmt.Sprintf("%s never fills: the trace requests %s", s.capacity(c),
			show.Capacity(footprint, c.CapacityUnit))
		times := math.Pow(float64(c.Capacity)/float64(footprint), 1/power)
		switch {
		case !(power >= least):
			return text + ", which hardly grows"
		case !(times <= farthest):
			return text + fmt.Sprintf("; if that grows as so far, not even a log %d times as long fills it (an estimate)",
				farthest)
		}
		return text + fmt.Sprintf("; if that grows as so far, a log %s times as long fills it (an estimate)", about(times))
	}
	return ""
}

// footprint returns how much the trace requests, in the unit of the capacity, and the power of its growth.
func (c cell) footprint() (size int64, power float64) {
	if c.CapacityUnit == records.Bytes {
		size, power = growth(c, c.blocks.BytesBefore, c.blocks.NewBytes)
	} else {
		size, power = growth(c, c.blocks.Before, c.blocks.New)
	}
	if c.IsSample() {
		size = int64(float64(size) / c.SampleRate)
	}
	return size, power
}

// coldMisses says from which capacity on most misses are first requests, and how many these are in a longer log. That
// follows from the log alone, so that all commands say the same.
func (s start) coldMisses() string {
	for i := 0; i < len(s.cells); {
		best := i
		for ; i < len(s.cells) && s.cells[i].Capacity == s.cells[best].Capacity; i++ {
			if s.cells[i].Float(metric.HitRatio) > s.cells[best].Float(metric.HitRatio) {
				best = i
			}
		}
		c := s.cells[best]
		if misses := c.blocks.Sum().Misses; 2*c.blocks.Cold > misses {
			return s.mostlyCold(c, misses)
		}
	}
	return ""
}

func (s start) mostlyCold(c cell, misses int64) string {
	cold := c.blocks.Cold
	text := fmt.Sprintf("at %s or more, most misses are first requests (%s of %s with %s)", s.capacity(c),
		show.Count(cold), show.Count(misses), c.Label)
	_, power := growth(c, c.blocks.Before, c.blocks.New)
	share := float64(cold) / float64(c.blocks.Sum().Requests)
	text += ", " + records.MetricText(metric.HitRatio.Name, share) + " of all requests"
	if power >= steady {
		return text + ": new " + s.noun + " keep coming, so a longer log changes little"
	}
	// First requests grow with that power of the length of the log, all requests with the length.
	return text + fmt.Sprintf("; %s%% in a log twice as long (an estimate)",
		about(100*share*math.Pow(2, power-1)))
}

// steady is the power of growth from which on new objects come about as often at the end of a log as before.
const steady = 0.9

// growth returns how much the trace requests, and with which power of its length that has grown over its second half:
// Heaps' law.
func growth(c cell, before int64, added [2]int64) (footprint int64, power float64) {
	halfway := before + added[0]
	requests, requestsHalfway := float64(c.Warmup), 0.
	for i, b := range c.blocks.Each {
		if i == len(c.blocks.Each)/2 {
			requestsHalfway = requests
		}
		requests += float64(b.Requests)
	}
	footprint = halfway + added[1]
	return footprint, math.Log(float64(footprint)/float64(halfway)) / math.Log(requests/requestsHalfway)
}

// about writes an estimate with two digits: "~1.9", "~34".
func about(x float64) string {
	if x < 9.95 {
		return fmt.Sprintf("~%.1f", x)
	}
	return fmt.Sprintf("~%.0f", x)
}

// Print writes lines below a table, for a terminal of that width or in Markdown.
func Print(w io.Writer, lines []string, markdown bool, width int) error {
	if len(lines) == 0 {
		return nil
	}
	return tabular.PrintLines(w, markdown, width, lines)
}
