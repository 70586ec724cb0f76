package cost

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
)

// Comparison says which of several caches costs the least, each with its cheapest capacity and policy.
type Comparison struct {
	Name    string
	answers []Answer // the cheapest first
	free    []string // tiers that some of the caches have, and that have no price
	sizes   bool     // blocks of prompts have different sizes, so that their misses have other prices
}

// Caches compares answers that differ in their caches alone.
func Caches(answers []Answer) (comparisons []Comparison) {
	var styles []records.Record
	for _, a := range answers {
		styles = append(styles, *a.curves[0].style)
	}
	names := results.WithoutCache(styles)
	for i, name := range names {
		if slices.Index(names, name) < i {
			continue
		}
		c := Comparison{Name: name}
		for k := i; k < len(answers); k++ {
			if names[k] == name && answers[k].Offers[0].Competes {
				c.add(answers[k])
			}
		}
		if len(c.answers) > 1 {
			slices.SortStableFunc(c.answers, func(x, y Answer) int { return cmp.Compare(x.Offers[0].Cost, y.Offers[0].Cost) })
			comparisons = append(comparisons, c)
		}
	}
	return comparisons
}

func (c *Comparison) add(a Answer) {
	style := a.curves[0].style
	for _, tier := range a.unpriced(style) {
		if !slices.Contains(c.free, tier) {
			c.free = append(c.free, tier)
		}
	}
	c.sizes = c.sizes || len(c.answers) > 0 && style.BlockBytes != c.answers[0].curves[0].style.BlockBytes
	c.answers = append(c.answers, a)
}

// Group returns the name of the group of caches.
func (c Comparison) Group() string { return c.Name }

// Sentence names the cheapest: "cheapest cache: tiers(host=4x), 41.30 EUR a month with lru at 64 MiB; prefix with lru
// at 128 MiB: 45.10 EUR, 8.4% saved".
func (c Comparison) Sentence() string {
	switch {
	case len(c.free) > 0:
		return fmt.Sprintf("cheapest cache: unknown, because tiers have no price: %s; add %s=0.10/GiB-month",
			strings.Join(c.free, ", "), c.free[len(c.free)-1])
	case c.sizes:
		return "cheapest cache: unknown, because a miss is a block, and the blocks of the caches have different sizes"
	}
	best := c.answers[0]
	offer := best.Offers[0]
	parts := []string{fmt.Sprintf("cheapest cache: %s, %s a month%s with %s at %s", best.cache(), best.Amount(offer.Cost),
		costIn(offer), offer.Policy, capacityOf(offer))}
	for _, a := range c.answers[1:] {
		other := a.Offers[0]
		other.Tied = !isLess(offer.Cost, other.Cost) ||
			other.drawn != nil && offer.drawn != nil && isTied(other.drawn, offer.drawn)
		parts = append(parts, fmt.Sprintf("%s with %s at %s: %s, %s", a.cache(), other.Policy, capacityOf(other),
			a.Amount(other.Cost), saved(offer, other)))
	}
	none := "without a cache: " + best.Amount(best.None.Cost) + ", "
	if isLess(best.None.Cost, offer.Cost) {
		none += "less than any of them"
	} else {
		none += saved(offer, best.None)
	}
	return show.Printable(strings.Join(append(parts, none), "; "))
}

// Explanation says nothing: that of each cache does.
func (c Comparison) Explanation() []string { return nil }

func (a Answer) cache() string { return a.curves[0].style.Cache }
