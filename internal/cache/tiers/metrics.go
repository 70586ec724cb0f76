package tiers

import (
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/policies"
)

// Labels of columns, in the order of tiers. A test compares them with the tiers that there are.
const (
	allTiers     = "hbm memory host flash ssd disk remote"
	storageTiers = "flash ssd disk remote"
)

// Metrics of tiers. The label is the tier's name.
var (
	Hits = metric.Metric{Name: "tier_hits", Unit: metric.Count, Labels: "tier", Better: metric.Higher,
		Doc: "hits in a tier: of requests that no tier above it could serve"}
	HitShare = metric.Metric{Name: "tier_hit_share", Unit: metric.Share, Digits: 2, Labels: "tier",
		Better: metric.Higher, Merge: metric.MeanBy(metric.Requests),
		Column: metric.Column{At: 31, Head: "hits", Labels: allTiers, Weight: 90},
		Doc:    "share of the requests that hit in a tier; together they are the hit ratio"}
	HitTokens = metric.Metric{Name: "tier_hit_tokens", Unit: metric.Count, Labels: "tier", Better: metric.Higher,
		Doc: "tokens of prompts that hit in a tier"}
	ReadBytes = metric.Metric{Name: "tier_read_bytes", Unit: metric.Bytes, Labels: "tier",
		Doc: "bytes of the hits in a tier; absent if sizes are not known"}
	Written = metric.Metric{Name: "tier_writes", Unit: metric.Count, Labels: "tier",
		Doc: "objects or blocks that were written to a tier: loaded, moved down or moved up"}
	WrittenBytes = metric.Metric{Name: "tier_written_bytes", Unit: metric.Bytes, Labels: "tier",
		Column: metric.Column{At: 32, Head: "written", Labels: storageTiers, Weight: 60},
		Doc: "bytes that were written to a tier, without the write amplification of the device; absent if sizes are not " +
			"known"}
	WrittenPerDay = metric.Metric{Name: "tier_written_bytes_day", Title: "bytes written per day", Unit: metric.Bytes,
		Fractions: true, Labels: "tier", Merge: metric.MeanBy(metric.Requests),
		Column: metric.Column{At: 32, Head: "written/day", Labels: storageTiers, Weight: 62},
		Doc:    "tier_written_bytes per day of the trace's clock; absent without times"}
	WritesPerDay = metric.Metric{Name: "tier_writes_day", Title: "writes per day", Unit: metric.Count, Fractions: true,
		Digits: 1, Labels: "tier", Merge: metric.MeanBy(metric.Requests),
		Doc: "tier_writes per day of the trace's clock; absent without times"}
	Evicted = metric.Metric{Name: "tier_evictions", Unit: metric.Count, Labels: "tier",
		Doc: "objects that left a tier, whether the next one took them or not, without those that moved up; evictions " +
			"counts those that left the last tier that had them"}
	Promoted = metric.Metric{Name: "tier_promotions", Unit: metric.Count, Labels: "tier",
		Doc: "hits in a tier that moved to the first one, or were copied there"}
	Residents = metric.Metric{Name: "tier_residents", Unit: metric.Count, Labels: "tier", Merge: metric.Apart,
		Doc: "objects in a tier at the end"}
	Prefetched = metric.Metric{Name: "tier_prefetches", Unit: metric.Count, Labels: "tier",
		Doc: "objects that a prefetcher has brought from a tier to the first one"}
	PrefetchedBytes = metric.Metric{Name: "tier_prefetched_bytes", Unit: metric.Bytes, Labels: "tier",
		Doc: "bytes of the tier_prefetches, which tier_read_bytes does not have; absent if sizes are not known"}
	Refused = metric.Metric{Name: "tier_refused", Unit: metric.Count, Labels: "tier",
		Doc: "objects that the admission kept from a tier"}
)

// metrics are all that this cache reports.
var metrics = slices.Concat([]metric.Metric{Hits, HitShare, HitTokens, ReadBytes, Written, WrittenBytes, WrittenPerDay,
	WritesPerDay, Evicted, Promoted, Residents, Refused, Prefetched, PrefetchedBytes}, prefix.Metrics)

func measure(c cache.Counts, v *metric.Values) {
	if c.Prompts > 0 {
		prefix.Measure(c, v)
	}
}

// day is in nanoseconds.
const day = 24 * 3600e9

func (h *hierarchy) Counters() (all []policies.Counter) {
	if h.nodes != nil {
		return nil // nodes report together
	}
	for _, l := range h.levels {
		all = append(all, l.counters(h, l.pool.Len())...)
	}
	return append(all, h.ofPolicies()...)
}

func (c *chains) Counters() []policies.Counter {
	return append(c.hierarchy.Counters(), c.Sharing.Counters()...)
}

// counters returns what has happened in a tier since counting began, and how many objects it has.
func (l *level) counters(h *hierarchy, residents int) (all []policies.Counter) {
	n := *l.counts
	if len(h.began) > 0 {
		n = n.minus(h.began[l.at])
	}
	add := func(m metric.Metric, x float64) { all = append(all, policies.CountOf(m, l.name, x)) }
	add(Hits, float64(n.hits))
	add(HitShare, metric.Divide(float64(n.hits), float64(h.requests)))
	if h.prompts {
		add(HitTokens, float64(n.hitTokens))
	}
	add(Written, float64(n.written))
	add(Evicted, float64(n.evicted))
	add(Promoted, float64(n.promoted))
	if l.admission != nil {
		add(Refused, float64(n.refused))
	}
	if h.prefetches && l.at > 0 {
		add(Prefetched, float64(n.fetched))
		if h.sized {
			add(PrefetchedBytes, float64(n.fetchedBytes))
		}
	}
	add(Residents, float64(residents))
	days := float64(h.until-h.from) / day
	if days > 0 {
		add(WritesPerDay, float64(n.written)/days)
	}
	if h.sized {
		add(ReadBytes, float64(n.readBytes))
		add(WrittenBytes, float64(n.writtenBytes))
		if days > 0 {
			add(WrittenPerDay, math.Round(float64(n.writtenBytes)/days))
		}
	}
	return all
}

// ofPolicies returns the counters of the policies, those with the same name combined.
func (h *hierarchy) ofPolicies() []policies.Counter {
	if len(h.levels) == 1 {
		return h.levels[0].pool.Counters()
	}
	return policies.CountAll(mergePolicies(metric.Values{}, h.levels))
}

// mergePolicies adds the counters of the policies of some tiers to a sum.
func mergePolicies(sum metric.Values, levels []*level) metric.Values {
	for _, l := range levels {
		sum = policies.MergeCounters(sum, l.pool.Counters())
	}
	return sum
}
