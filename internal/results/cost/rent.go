package cost

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/target"
)

// Rent says, where misses have no price, what the memory costs with which each policy reaches a target.
type Rent struct {
	target.Answer
	Bill
	Offers []Offer // the cheapest first
	Now    *Offer  // today's capacity; nil if it is unknown, or was not replayed
}

// Rents prices the capacities that answers name, of policies that compete; nothing if misses have a price, as Answers
// weighs them then. recs are the records that were replayed.
func (b Bill) Rents(answers []target.Answer, recs []records.Record) (rents []Rent) {
	if !b.isPriced() || b.pricesMisses() {
		return nil
	}
	for _, a := range answers {
		rent := Rent{Answer: a, Bill: b}
		for _, n := range a.Needs {
			if n.How == target.Found && n.Online {
				offer := b.rented(n.Record, n.Policy, n.Capacity)
				// Capacities that tie cost the same only where nothing is taken beyond them.
				offer.Tied = n.Tied && (n.Record == nil || !n.Record.Has(metric.Taken))
				rent.Offers = append(rent.Offers, offer)
			}
		}
		slices.SortStableFunc(rent.Offers, func(x, y Offer) int { return cmp.Compare(x.Cost, y.Cost) })
		if len(rent.Offers) == 0 {
			continue
		}
		if b.Today != nil && *b.Today > 0 {
			rent.Now = b.rentedToday(rent.Offers[0].Policy, recs)
		}
		rents = append(rents, rent)
	}
	return rents
}

// rented is what a capacity costs: that of a record, which knows what is taken beyond it and what tiers move, or the
// capacity alone.
func (b Bill) rented(r *records.Record, policy string, capacity int64) Offer {
	p := b.newPoint(capacity, b.rents(&records.Record{Capacity: capacity, CapacityUnit: records.Bytes}), load{})
	if r != nil {
		p, _ = b.point(r)
	}
	return Offer{Policy: policy, Competes: true, Capacity: capacity, Cost: p.cost()}
}

// rentedToday prices today's capacity under what the user has, lru or, if that was not replayed, another policy; nil if
// none was.
func (b Bill) rentedToday(policy string, recs []records.Record) *Offer {
	for _, name := range b.todayUnder(baseline, policy) {
		if r := find(recs, name, *b.Today); r != nil {
			now := b.rented(r, name, *b.Today)
			return &now
		}
	}
	return nil
}

// NeedRate reports whether anything that a request does costs something, so that costs depend on how often they come.
func (p Prices) NeedRate() bool {
	return p.pricesMisses() ||
		slices.ContainsFunc(p.Tiers[:], func(t TierPrices) bool { return t.Write.Per != "" || t.Read.Per != "" })
}

// pricesMisses reports whether what reaches the origin costs something, so that there is a cheapest capacity.
func (p Prices) pricesMisses() bool { return p.Miss.Per != "" || p.Egress.Per != "" }

// Group returns the name of the group of records.
func (r Rent) Group() string { return r.Name }

// Sentence is "cheapest for 90% of the largest hit ratio: 27.50 USD a month, redis at 220 MiB; memcached at 300 MiB:
// 37.50 USD, 26.7% saved".
func (r Rent) Sentence() string {
	best := r.Offers[0]
	texts := []string{"cheapest for " + r.Subject() + ": " + r.Amount(best.Cost) + " a month, " + best.name()}
	if now := r.Now; now != nil {
		texts = append(texts, "today ("+now.name()+") "+r.Amount(now.Cost))
	}
	for _, o := range r.Offers[1:] {
		texts = append(texts, o.name()+": "+r.Amount(o.Cost)+", "+saved(best, o))
	}
	return show.Printable(strings.Join(texts, "; "))
}

// Explanation says which prices these are, and what would weigh memory against misses.
func (r Rent) Explanation() []string {
	return []string{"prices: " + r.Prices.String() + "; misses have none: with miss=0.40/M or egress=0.08/GB the " +
		"answer is the capacity at which memory and misses together cost least"}
}
