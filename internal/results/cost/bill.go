package cost

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
)

// money is the unit of a metric that is in the currency of its record.
const money metric.Unit = "money"

// Metrics of records with prices.
var (
	PerMonth = metric.Metric{Name: "cost_per_month", Unit: money, Digits: 2, Better: metric.Lower, Merge: metric.Apart,
		Column: metric.Column{At: 75, Weight: 92},
		Doc: "memory of the capacity and of tiers with a price, and misses, missed bytes, and bytes that tiers read and " +
			"write in a month, at the prices of the record, in its currency; a month has 730 hours"}
	RequestRate = metric.Metric{Name: "request_rate", Unit: metric.PerSecond, Digits: 2, Merge: metric.Apart,
		Doc: "requests per second of the whole trace, by its clock or as given, from which costs follow"}
	SizedShare = metric.Metric{Name: "sized_share", Unit: metric.Share, Digits: 2, Merge: metric.Apart,
		Doc: "share of the requests that have a size; the others are not replayed, but cost as many misses; absent if all " +
			"have one"}
	RequestBytes = metric.Metric{Name: "request_bytes", Unit: metric.Bytes, Merge: metric.Apart,
		Doc: "mean size of the requests of the whole trace, of which the records are a sample; absent if it is unknown"}
)

func init() { metric.Register("prices", PerMonth, RequestRate, SizedShare, RequestBytes, TierBytes) }

// secondsOfMonth is the length of a month of bills.
const secondsOfMonth = hoursOfMonth * 3600

// Bill says what is paid, and how often requests come.
type Bill struct {
	Prices
	PerSecond float64 // requests of the whole trace
	Sized     float64 // share of them that have a size, and are replayed; 0 if all have one
	// Bytes is the mean size of the requests of a trace of which a sample was replayed; 0 if it is that of the records.
	Bytes float64
	Span  time.Duration // of the trace's clock, which gave the rate; 0 if the user did
	Today *int64        // the capacity that the user has today, in bytes, 0 for no cache; nil if it is unknown
	// TodayPolicy is what the user has today, by its name in records; "": lru or, if that was not replayed, the policy
	// that today is compared with.
	TodayPolicy string
}

// todayUnder returns under which policies today's capacity is looked for: what the user has, a baseline, and the policy
// that today is compared with.
func (b Bill) todayUnder(baseline, best string) []string {
	return []string{b.TodayPolicy, baseline, best}
}

// recorded returns the bill that records have; ok is false if they have no prices.
func recorded(recs []records.Record) (b Bill, ok bool) {
	for i := range recs {
		if r := &recs[i]; r.Prices != "" {
			prices, err := Parse(r.Prices)
			return Bill{Prices: prices, PerSecond: r.Float(RequestRate), Sized: r.Float(SizedShare),
				Bytes: r.Float(RequestBytes)}, err == nil
		}
	}
	return b, false
}

// requests returns how many requests a month has, and how many of them have a size.
func (b Bill) requests() (all, sized float64) {
	all = b.PerSecond * secondsOfMonth
	if b.Sized == 0 {
		return all, all
	}
	return all, all * b.Sized
}

// use is what is paid for in a month: so many units of one price.
type use struct {
	of     string  // "ssd", "written to ssd", missed
	price  string  // as users name it: "memory", "ssd-write", "miss"
	units  float64 // of the price: GiB-months, millions of misses
	isRent bool    // grows with the capacity, whatever is requested
}

// add adds an amount of something that has a price.
func (b Bill) add(uses []use, of, name string, amount float64, isRent bool) []use {
	if p := b.price(name); p.Per != "" {
		uses = append(uses, use{of, name, amount / p.units, isRent})
	}
	return uses
}

// cost is the one place that turns amounts into money.
func (b Bill) cost(u use) float64 { return float64(b.price(u.price).Number * u.units) }

// point is what a capacity costs.
type point struct {
	capacity int64
	uses     []use     // with the same prices in the same order at all capacities of a curve
	memory   float64   // what all tiers cost in a month
	misses   float64   // and what is missed, read and written in it
	origin   load      // in a month
	sampled  bool      // the misses are an estimate from a sample
	holdsAll bool      // everything that the trace requests fits, so that more memory saves nothing
	drawn    []float64 // misses of each draw of blocks; nil if they are unknown
}

// newPoint adds up what is used.
func (b Bill) newPoint(capacity int64, uses []use, origin load) point {
	p := point{capacity: capacity, uses: uses, origin: origin}
	for _, u := range uses {
		if u.isRent {
			p.memory += b.cost(u)
		} else {
			p.misses += b.cost(u)
		}
	}
	return p
}

func (p point) cost() float64 { return p.memory + p.misses }

// moved returns what tiers read and write for a point.
func (b Bill) moved(p point) (sum float64) {
	for _, u := range p.uses {
		if !u.isRent && u.of != missed {
			sum += b.cost(u)
		}
	}
	return sum
}

// point returns the costs of a record. ok is false for bounds, which have no misses of their own, and for caches
// without limit, whose memory is not their capacity.
func (b Bill) point(r *records.Record) (p point, ok bool) {
	role, _ := records.RoleOf(r.Policy)
	switch {
	case r.CapacityUnit != records.Bytes || r.Kind == records.Bound || role.Unlimited ||
		r.Contents == records.ContentsUnknown:
		return p, false
	case isNone(r):
		return b.none(r), true
	}
	s := sharesOf(r)
	origin := b.load(s.missed, s.missedBytes)
	p = b.newPoint(r.Capacity, b.missing(append(b.rents(r), b.moves(r, s.requests)...), origin), origin)
	p.sampled = r.IsSample()
	p.holdsAll = r.CapacityShare != nil && *r.CapacityShare >= 1 && r.Int(metric.Evictions) == 0
	return p, true
}

// none returns what the requests of a record cost without a cache: all of them miss, and nothing else is paid.
func (b Bill) none(r *records.Record) point {
	origin := b.load(1, b.bytesPerRequest(r))
	return b.newPoint(0, b.missing(nil, origin), origin)
}

// bytesPerRequest returns the mean size of the requests of a record. On a sample it is that of the whole trace, if that
// is known.
func (b Bill) bytesPerRequest(r *records.Record) float64 {
	if b.Bytes > 0 {
		return b.Bytes
	}
	return metric.Divide(r.Float(metric.RequestedBytes), r.Float(metric.Requests))
}

// Misses returns what a share of the requests costs in a month if they miss. bytes is the mean size of a request,
// unless the bill knows that of the whole trace.
func (b Bill) Misses(share, bytes float64) (sum float64) {
	if b.Bytes > 0 {
		bytes = b.Bytes
	}
	for _, u := range b.missing(nil, b.load(share, share*bytes)) {
		sum += b.cost(u)
	}
	return sum
}

// isNone reports whether a record is of no cache: its policy loads nothing.
func isNone(r *records.Record) bool {
	role, _ := records.RoleOf(r.Policy)
	return role.Idle && r.Int(metric.Hits) == 0
}

// missing adds what reaches the origin.
func (b Bill) missing(uses []use, origin load) []use {
	return b.add(b.add(uses, missed, "miss", origin.requests, false), missed, "egress", origin.bytes, false)
}

// Names of metrics of what a record replayed.
const (
	nodeCount      = "node_count"      // nodes, each with a cache of the capacity
	sharedCapacity = "shared_capacity" // of a second level that they share
	tierHits       = "tier_hits"       // of tiers, of which the first has the capacity
	prompts        = "prompts"         // whose blocks are the requests
)

// nodesOf returns how many caches of its capacity a record has: the most nodes at any time, since all have to be paid.
func nodesOf(r *records.Record) int64 {
	n, _ := r.GetInt(nodeCount)
	return max(1, n)
}

// counted explains the memory and the requests of a record, in a line each, if they are not obvious.
func (p Prices) counted(r *records.Record) (lines []string) {
	if n := nodesOf(r); n > 1 {
		line := fmt.Sprintf("memory: that of all %s nodes", show.Count(n))
		if _, shared := r.GetInt(sharedCapacity); shared {
			line += ", and of the second level that they share"
		}
		if len(belowFirst(r)) > 0 {
			line += "; tiers that they share count once"
		}
		lines = append(lines, line)
	}
	if free := p.unpriced(r); len(free) > 0 {
		lines = append(lines, fmt.Sprintf("the size of tiers without a price is left out: %s; add %s=0.10/GiB-month",
			strings.Join(free, ", "), free[len(free)-1]))
	}
	if isOfPrompts(r) {
		lines = append(lines, "requests and misses: blocks of prompts")
	}
	return lines
}

func isOfPrompts(r *records.Record) bool {
	_, ok := r.GetInt(prompts)
	return ok
}

// drawn returns the cost of a record's misses in each draw of blocks; nil if unknown. Blocks do not know what tiers
// move, so that cost is the same in all.
func (b Bill) drawn(r *records.Record, set *blocks.Set, moved float64) (misses []float64) {
	v, ok := set.Drawn(r)
	if !ok {
		return nil
	}
	var uses [2]use
	scale := 1.0 // of the bytes of no cache
	if s := sharesOf(r); isNone(r) && s.missedBytes > 0 {
		scale = b.bytesPerRequest(r) / s.missedBytes
	}
	for k := range v.HitRatios {
		cost := moved
		for _, u := range b.missing(uses[:0], b.load(1-v.HitRatios[k], scale*v.MissedBytes[k])) {
			cost += b.cost(u)
		}
		misses = append(misses, cost)
	}
	return misses
}

// Charge adds the prices and what they come to to the records of a trace whose capacities count bytes.
func (b Bill) Charge(recs []records.Record) {
	if !b.isPriced() {
		return
	}
	for i := range recs {
		r := &recs[i]
		if p, ok := b.point(r); ok {
			r.Prices, r.Currency = b.Prices.String(), b.Currency
			r.Set(PerMonth, p.cost())
			if b.PerSecond > 0 {
				r.Set(RequestRate, b.PerSecond)
			}
			if b.Sized > 0 {
				r.Set(SizedShare, b.Sized)
			}
			if b.Bytes > 0 {
				r.Set(RequestBytes, b.Bytes)
			}
		}
	}
}

// load is what reaches the origin behind a cache.
type load struct{ requests, bytes float64 }

// shares are the parts of a record's requests that reach the origin. On a sample they are estimates for the whole
// trace.
type shares struct {
	requests    float64 // that the record stands for
	missed      float64 // share of them
	missedBytes float64 // per request
}

func sharesOf(r *records.Record) shares {
	s := shares{requests: r.Float(metric.Requests), missed: 1 - r.Float(metric.HitRatio)}
	if misses := r.Float(metric.Misses); s.missed > 0 && misses > 0 {
		s.requests = misses / s.missed // those of a sample have an expected number
	}
	if s.requests == 0 { // nothing misses, and no byte is moved
		return shares{requests: 1}
	}
	s.missedBytes = (r.Float(metric.RequestedBytes) - r.Float(metric.HitBytes)) / s.requests
	return s
}

// load returns what reaches the origin in a month, given the share of the requests and the bytes per request that miss.
func (b Bill) load(missed, missedBytes float64) load {
	all, sized := b.requests()
	return load{missed * all, missedBytes * sized}
}

// text says what reaches the origin: "23.4 M requests and 812 GB"; nouns are what requests are called.
func (l load) text(nouns string) string {
	text := scaled(l.requests, []string{"", " k", " M", " G", " T"}) + " " + nouns
	if l.bytes > 0 {
		text += " and " + bytesText(l.bytes)
	}
	return text
}

// bytesText writes an amount of data with three digits, as origins and networks bill it: "812 GB".
func bytesText(x float64) string {
	return scaled(x, []string{" B", " kB", " MB", " GB", " TB", " PB"})
}

// scaled writes a number with three digits in the largest unit, each a thousand times the one before, that keeps it
// above 1.
func scaled(x float64, units []string) string {
	x, i := significant(x), 0
	for ; x >= 1000 && i+1 < len(units); i++ {
		x = significant(x / 1000)
	}
	return strconv.FormatFloat(x, 'f', -1, 64) + units[i]
}

// significant rounds to three digits, halves up as the page's script does, and what is below a hundredth to none.
func significant(x float64) float64 {
	const up = 1 + 1e-14
	if math.Abs(x) < 0.005 {
		return 0
	}
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x*up, 'e', 2, 64), 64)
	return x
}
