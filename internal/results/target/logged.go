package target

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/results/records"
)

// Logged compares what the servers that wrote the logs found in their own caches with the records, in a sentence for
// each group of records whose log says so: "the log itself says 71.20% hits of 79,990 requests that state it; lru here
// needs ~3.1 GiB for that". noun says what an object of a record is.
func Logged(recs []records.Record, noun func(*records.Record) string) (sentences []string) {
	groups := records.Groups(records.NamedByParts(recs))
	for _, g := range groups {
		first := &g.Records[0]
		if !first.Has(metric.LoggedHitRatio) {
			continue
		}
		sentence := "the log itself says " + hitRatio(first.Float(metric.LoggedHitRatio)) + " hits"
		if first.Has(metric.LoggedByteHitRatio) {
			sentence += " (" + hitRatio(first.Float(metric.LoggedByteHitRatio)) + " of the bytes)"
		}
		sentence += fmt.Sprintf(" of %s requests that state it", records.Count(first.Int(metric.LoggedRequests)))
		if here := reaches(g.Records, first.Float(metric.LoggedHitRatio), noun(first)); here != "" {
			sentence += "; " + here
		}
		if len(groups) > 1 {
			sentence = g.Name + ": " + sentence
		}
		sentences = append(sentences, records.Printable(sentence))
	}
	return sentences
}

// ofReads returns the hit ratio of the requests that do not write, which are those of which logs say what was found.
func ofReads(r *records.Record) float64 {
	if x, ok := r.Get(metric.ReadHitRatio.Name); ok {
		return x
	}
	return r.Float(metric.HitRatio)
}

// reaches says at which capacity lru, or the first online policy without it, has a hit ratio; "" if none is replayed.
func reaches(recs []records.Record, level float64, noun string) string {
	curves := slices.DeleteFunc(curvesOf(recs, nil, ofReads), func(c Curve) bool { return !c.Online })
	if len(curves) == 0 {
		return ""
	}
	lru := max(0, slices.IndexFunc(curves, func(c Curve) bool { return c.Policy == "lru" }))
	c := curves[lru]
	a := Answer{Unit: cmp.Or(recs[0].CapacityUnit, records.Objects), Noun: noun}
	n := c.need(level)
	switch n.How {
	case AtMost, MoreThan:
		which := "smallest"
		if n.How == MoreThan {
			which = "largest"
		}
		return fmt.Sprintf("%s here has %s at %s, the %s capacity replayed", c.Policy, hitRatio(n.Above.HitRatio),
			a.withNoun(a.capacity(n.Capacity)), which)
	}
	return fmt.Sprintf("%s here needs %s for that", c.Policy, a.withNoun(a.CapacityOf(n)))
}
