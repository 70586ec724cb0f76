package curve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
)

// Checkpoints returns, in ascending order, the capacities at which the other policies are replayed on the whole trace,
// too, to know their errors. They are where LRU on the samples is furthest off, and the middle one of the table.
func (c *Curve) Checkpoints() (at []capacity.Capacity) {
	known, errors := c.errorsOfLRU()
	worst := 0
	for i, e := range errors {
		if math.Abs(e) > math.Abs(errors[worst]) {
			worst = i
		}
	}
	for i, capacity := range known {
		if i == worst || i == len(known)/2 {
			at = append(at, capacity)
		}
	}
	return at
}

// errorsOfLRU returns the errors of LRU on the samples, and the capacities of the table at which they are known.
func (c *Curve) errorsOfLRU() (known []capacity.Capacity, errors []float64) {
	for _, capacity := range c.Capacities {
		if e, ok := c.errorOf(policies.Recency(), capacity.Amount); ok {
			known, errors = append(known, capacity), append(errors, e)
		}
	}
	return known, errors
}

// errorOf returns the difference of a policy's hit ratio on the samples from that on the whole trace, if known.
func (c *Curve) errorOf(label string, capacity int64) (float64, bool) {
	exact, ok := c.exactAt(label, capacity)
	sampled, found := c.sampledAt(label, capacity)
	return sampled.mean - exact, ok && found
}

// errorLines say how far off the samples are, for each policy by its own error.
func (c *Curve) errorLines() (lines []string) {
	_, ofLRU := c.errorsOfLRU()
	if len(ofLRU) == 0 {
		return nil
	}
	var sum, largest float64
	for _, e := range ofLRU {
		sum, largest = sum+math.Abs(e), max(largest, math.Abs(e))
	}
	lines = []string{fmt.Sprintf("error: of lru on the samples, %.2f on average and %.2f at most",
		100*sum/float64(len(ofLRU)), 100*largest)}
	for _, at := range c.Checkpoints() {
		var errors []string
		for _, s := range c.Specs {
			if e, ok := c.errorOf(s.String(), at.Amount); ok {
				errors = append(errors, fmt.Sprintf("%s %+.2f", s, 100*e))
			}
		}
		if len(errors) > 0 {
			lines = append(lines, fmt.Sprintf("errors at %s, where the others were replayed on the whole trace, too: %s",
				show.Capacity(at.Amount, at.Unit()), strings.Join(errors, ", ")))
		}
	}
	return append(lines, c.orderLines()...)
}

// offAt returns how far off a policy is at the nearest of the checkpoints at or below a capacity, as errors shrink with
// the capacity, or at the lowest one.
func (c *Curve) offAt(label string, amount int64, checkpoints []capacity.Capacity) (off float64) {
	for i, at := range checkpoints {
		if e, ok := c.errorOf(label, at.Amount); ok && (i == 0 || at.Amount <= amount) {
			off = math.Abs(e)
		}
	}
	return off
}

// mostUnsure limits the capacities that a warning about the order of policies lists.
const mostUnsure = 5

// orderLines warn where the order of the online policies may be another on the whole trace.
func (c *Curve) orderLines() []string {
	checkpoints := c.Checkpoints()
	var unsure []string
	compared := 0
	for _, capacity := range c.Capacities {
		hits := c.online(capacity.Amount, checkpoints)
		if len(hits) < 2 {
			continue
		}
		compared++
		if labels := unsureOf(hits); len(labels) > 0 {
			unsure = append(unsure, fmt.Sprintf("%s (%s)", show.Capacity(capacity.Amount, capacity.Unit()),
				strings.Join(labels, ", ")))
		}
	}
	if len(unsure) == 0 {
		return nil
	}
	shown := strings.Join(unsure[:min(len(unsure), mostUnsure)], ", ")
	if more := len(unsure) - mostUnsure; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return []string{fmt.Sprintf("warning: at %d of %d capacities hit ratios are closer than their errors, so that the "+
		"order of these policies may be another: %s", len(unsure), compared, shown)}
}

// within is a hit ratio, and how far off it may be.
type within struct {
	label          string
	mean, farthest float64
}

// online returns the hit ratios of the online policies at a capacity. An estimate may be off by two standard errors,
// and by the error that was measured.
func (c *Curve) online(amount int64, checkpoints []capacity.Capacity) (hits []within) {
	if exact, ok := c.exactAt(policies.Recency(), amount); ok {
		hits = append(hits, within{policies.Recency(), exact, 0})
	}
	for _, s := range c.Specs {
		e, ok := c.sampledAt(s.String(), amount)
		if !ok || s.Entry.Kind != policies.Online || s.Entry.Unbounded {
			continue
		}
		hits = append(hits, within{s.String(), e.mean, 2*e.stdErr + c.offAt(s.String(), amount, checkpoints)})
	}
	return hits
}

// unsureOf returns the policies whose order with another one is uncertain.
func unsureOf(hits []within) (labels []string) {
	hits = slices.SortedStableFunc(slices.Values(hits), func(a, b within) int { return cmp.Compare(b.mean, a.mean) })
	for i, a := range hits {
		for j, b := range hits {
			if i != j && math.Abs(a.mean-b.mean) < a.farthest+b.farthest {
				labels = append(labels, a.label)
				break
			}
		}
	}
	return labels
}
