package cost

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
	"github.com/cachesim/cachesim/internal/results/target"
)

// Reach says without prices how much of a trace reaches the origin behind the recommended cache, today, and without a
// cache.
type Reach struct {
	Name string // of the group of records

	best    records.Record
	now     *records.Record // of today's capacity; nil if it is unknown
	noToday bool            // there is no cache today
	none    *records.Record // of no cache, if it was replayed
}

// Names of metrics of what the origin sees over the time of the trace's clock.
const (
	originMean = "origin_misses"
	originPeak = "origin_misses_peak"
)

// Reaches returns for each group what reaches the origin at the recommended capacity: the first that reaches the
// target. If the user has asked, a group without such a capacity gets the one with the most hits.
func (b Bill) Reaches(answers []target.Answer, recs []records.Record, isAsked bool) (reaches []Reach) {
	for _, g := range results.Groups(results.NamedByParts(recs)) {
		r := recommended(answers, g)
		if r == nil && isAsked {
			r = mostHits(g.Records)
		}
		if r != nil && r.Contents != records.ContentsUnknown {
			reaches = append(reaches, b.reachOf(g, r))
		}
	}
	return reaches
}

// recommended returns the record at the capacity that an answer recommends; nil if there is none.
func recommended(answers []target.Answer, g results.Group) *records.Record {
	at := slices.IndexFunc(answers, func(a target.Answer) bool { return a.Name == g.Name })
	if at < 0 || len(answers[at].Needs) == 0 {
		return nil
	}
	need, level := answers[at].Needs[0], answers[at].Level
	if !need.Online || level == 0 || need.Above.HitRatio < level {
		return nil
	}
	if need.Record != nil {
		return need.Record
	}
	return find(g.Records, need.Policy, need.Above.Capacity)
}

// mostHits returns the record with the most hits of those that compete; nil if there are none.
func mostHits(recs []records.Record) (most *records.Record) {
	for i := range recs {
		r := &recs[i]
		if r.Competes() && (most == nil || r.Float(metric.HitRatio) > most.Float(metric.HitRatio)) {
			most = r
		}
	}
	return most
}

// Reaching says what reaches the origin with the cheapest of priced records.
func (b Bill) Reaching(answers []Answer, recs []records.Record) (reaches []Reach) {
	for _, g := range results.Groups(results.NamedByParts(recs)) {
		for _, a := range answers {
			if best := a.Best(); a.Name == g.Name && !best.isNone() {
				if r := find(g.Records, best.Policy, best.Capacity); r != nil {
					reaches = append(reaches, b.reachOf(g, r))
				}
			}
		}
	}
	return reaches
}

func find(recs []records.Record, label string, capacity int64) *records.Record {
	i := slices.IndexFunc(recs, func(r records.Record) bool { return r.Label == label && r.Capacity == capacity })
	if i < 0 {
		return nil
	}
	return &recs[i]
}

func (b Bill) reachOf(g results.Group, best *records.Record) Reach {
	reach := Reach{Name: g.Name, best: *best, noToday: b.Today != nil && *b.Today == 0}
	if i := slices.IndexFunc(g.Records, func(r records.Record) bool { return isNone(&r) }); i >= 0 {
		reach.none = &g.Records[i]
	}
	if b.Today == nil || *b.Today == 0 {
		return reach
	}
	for _, policy := range b.todayUnder(baseline, best.Label) {
		if reach.now == nil {
			reach.now = find(g.Records, policy, *b.Today)
		}
	}
	return reach
}

// Group returns the name of the group of records.
func (r Reach) Group() string { return r.Name }

// Explanation says nothing: the sentence says all.
func (r Reach) Explanation() []string { return nil }

// Sentence says what reaches the origin: "lru at 64 MiB: 38.6% of the requests (44,331 of 115,000) and 41.2% of the
// bytes (1.02 of 2.66 GB) reach the origin, today (lru at 16 MiB) 58.9% and 60.1%, without a cache all of them".
func (r Reach) Sentence() string {
	s := sharesOf(&r.best)
	rate := r.best.SampleRate
	if rate == 0 {
		rate = 1
	}
	nouns, reach := "requests", " reach the origin"
	if isOfPrompts(&r.best) {
		nouns, reach = "blocks of prompts", " are computed"
	}
	all := s.requests / rate
	text := fmt.Sprintf("%s: %s of the %s (%s of %s)", nameOf(&r.best), share(s.missed), nouns,
		show.Count(int64(s.missed*all+0.5)), show.Count(int64(all+0.5)))
	bytes, sized := missedOfBytes(&r.best)
	if sized {
		total := metric.Divide(r.best.Float(metric.RequestedBytes)-r.best.Float(metric.HitBytes), rate*bytes)
		if bytes == 0 {
			total = r.best.Float(metric.RequestedBytes) / rate
		}
		text += fmt.Sprintf(" and %s of the bytes (%s of %s)", share(bytes), bytesText(bytes*total), bytesText(total))
	}
	text += reach
	switch {
	case r.noToday:
		return show.Printable(text + ", today, without a cache, all of them" + r.overTime())
	case r.now != nil && r.now.Capacity == r.best.Capacity && r.now.Label == r.best.Label:
		text += " as today"
	case r.now != nil:
		text += fmt.Sprintf(", today (%s) %s", nameOf(r.now), share(sharesOf(r.now).missed))
		if today, ok := missedOfBytes(r.now); ok && sized {
			text += " and " + share(today)
		}
	}
	return show.Printable(text + ", without a cache all of them" + r.overTime())
}

// nameOf is what a record is called in a sentence: "lru at 64 MiB", "lru at 300 objects".
func nameOf(r *records.Record) string {
	text := r.Label + " at " + show.Capacity(r.Capacity, r.CapacityUnit)
	switch {
	case r.CapacityUnit == records.Bytes:
	case isOfPrompts(r):
		text += " blocks"
	default:
		text += " " + r.CapacityUnit
	}
	if r.Capacity == 1 {
		text = strings.TrimSuffix(text, "s")
	}
	return text
}

// missedOfBytes returns which share of the requested bytes misses; ok is false if there are no bytes, or only those of
// keys and values, which nobody sends.
func missedOfBytes(r *records.Record) (missed float64, ok bool) {
	requested := r.Float(metric.RequestedBytes)
	if requested == 0 || isOfPrompts(r) {
		return 0, false
	}
	if r.IsSample() && r.Has(metric.ByteHitRatio) { // an estimate for the whole trace
		return 1 - r.Float(metric.ByteHitRatio), true
	}
	return 1 - r.Float(metric.HitBytes)/requested, true
}

// overTime says what the origin sees per second; "" if that is unknown.
func (r Reach) overTime() string {
	of := func(rec *records.Record) (text string, ok bool) {
		mean, ok := rec.Get(originMean)
		peak, _ := rec.Get(originPeak)
		return fmt.Sprintf("%s misses/s on average and %s at the peak", RequestRate.Text(mean), RequestRate.Text(peak)), ok
	}
	best, ok := of(&r.best)
	if !ok {
		return ""
	}
	texts := []string{"; " + best}
	if now := r.now; now != nil {
		text, _ := of(now)
		texts = append(texts, "today "+text)
	}
	if r.none != nil {
		text, _ := of(r.none)
		texts = append(texts, "without a cache "+text)
	}
	return strings.Join(texts, ", ")
}
