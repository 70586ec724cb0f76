package target

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

// Logged says what the servers that wrote a log found in their own caches, and what a policy here needs for that: "the
// log itself says 71.20% hits of 79,990 requests that state it; lru here needs 3.1 GiB for that". The record must have
// what the log says. An unknown need is nil. noun is the word for an object of the record.
func Logged(r *records.Record, n *Need, noun string) string {
	sentence := "the log itself says " + hitRatio(r.Float(metric.LoggedHitRatio)) + " hits"
	if r.Has(metric.LoggedByteHitRatio) {
		sentence += " (" + hitRatio(r.Float(metric.LoggedByteHitRatio)) + " of the bytes)"
	}
	sentence += fmt.Sprintf(" of %s requests that state it", show.Count(r.Int(metric.LoggedRequests)))
	if n != nil {
		sentence += "; " + n.here(Answer{Unit: r.CapacityUnit, Noun: noun})
	}
	return show.Printable(sentence)
}

// OfReads returns the hit ratio of the requests that do not write; logs state hits only for these.
func OfReads(r *records.Record) float64 {
	if x, ok := r.Get(metric.ReadHitRatio.Name); ok {
		return x
	}
	return r.Float(metric.HitRatio)
}

// here says what a policy needs for the hit ratio of a log.
func (n Need) here(a Answer) string {
	if n.How == Never {
		return fmt.Sprintf("%s here does not reach that at any capacity: %s with everything in the cache", n.Policy,
			hitRatio(n.Below.HitRatio))
	}
	return fmt.Sprintf("%s here needs %s for that", n.Policy, a.withNoun(a.CapacityOf(n)))
}
