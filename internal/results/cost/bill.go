package cost

import (
	"fmt"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/results/blocks"
	"github.com/cachesim/cachesim/internal/results/records"
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
)

func init() { metric.Register("prices", PerMonth, RequestRate, TierBytes) }

// secondsOfMonth is the length of a month of bills.
const secondsOfMonth = hoursOfMonth * 3600

// Bill says what is paid, and how often requests come.
type Bill struct {
	Prices
	PerSecond float64       // requests of the whole trace
	Span      time.Duration // of the trace's clock, which gave the rate; 0 if the user did
	Today     int64         // the capacity that the user has today, in bytes; 0 if unknown
}

// recorded returns the bill that records have; ok is false if they have no prices.
func recorded(recs []records.Record) (b Bill, ok bool) {
	for i := range recs {
		if r := &recs[i]; r.Prices != "" {
			prices, err := Parse(r.Prices)
			return Bill{Prices: prices, PerSecond: r.Float(RequestRate)}, err == nil
		}
	}
	return b, false
}

// point is what a capacity costs.
type point struct {
	capacity int64
	memory   float64   // of all tiers, for a month
	misses   float64   // and what is missed, read and written in it
	shares   []share   // of both, in the same order at all capacities of a curve
	sampled  bool      // the misses are an estimate from a sample
	holdsAll bool      // everything that the trace requests fits, so that more memory saves nothing
	drawn    []float64 // misses of each draw of blocks; nil if they are unknown
}

func (p point) cost() float64 { return p.memory + p.misses }

// point returns the costs of a record; ok is false if it has none: a bound has no misses of its own, and a cache
// without limit needs another memory than its capacity.
func (b Bill) point(r *records.Record) (p point, ok bool) {
	if r.CapacityUnit != records.Bytes || r.Kind == records.Bound || isUnlimited(r) {
		return p, false
	}
	missRatio := 1 - r.Float(metric.HitRatio)
	requests := r.Float(metric.Requests)
	if misses := r.Float(metric.Misses); missRatio > 0 && misses > 0 {
		requests = misses / missRatio // those of a sample have an expected number
	}
	if requests == 0 { // nothing misses, and no byte is moved
		missRatio, requests = 0, 1
	}
	missedBytes := (r.Float(metric.RequestedBytes) - r.Float(metric.HitBytes)) / requests
	p = point{capacity: r.Capacity, sampled: r.IsSample(),
		holdsAll: r.CapacityShare != nil && *r.CapacityShare >= 1 && r.Int(metric.Evictions) == 0}
	p.shares = append(b.rents(r), b.moves(r, requests)...)
	p.shares = append(p.shares, share{missed, b.monthly(missRatio, missedBytes), false})
	for _, s := range p.shares {
		if s.isRent {
			p.memory += s.cost
		} else {
			p.misses += s.cost
		}
	}
	return p, true
}

// Names of metrics of what a record replayed.
const (
	nodeCount = "node_count" // nodes, each with a cache of the capacity
	tierHits  = "tier_hits"  // of tiers, of which the first has the capacity
	prompts   = "prompts"    // whose blocks are the requests
)

// nodesOf returns how many caches of its capacity a record has: the most nodes at any time, since all have to be paid.
func nodesOf(r *records.Record) int64 {
	n, _ := r.GetInt(nodeCount)
	return max(1, n)
}

// counted says what the memory and the requests of a record are, in a line each, where that is not plain.
func (p Prices) counted(r *records.Record) (lines []string) {
	if n := nodesOf(r); n > 1 {
		line := fmt.Sprintf("memory: that of all %s nodes", records.Count(n))
		if len(belowFirst(r)) > 0 {
			line += "; tiers that they share count once"
		}
		lines = append(lines, line)
	}
	if free := p.unpriced(r); len(free) > 0 {
		lines = append(lines, fmt.Sprintf("the size of tiers without a price is left out: %s; add %s=0.10/GiB-month",
			strings.Join(free, ", "), free[len(free)-1]))
	}
	if _, ok := r.GetInt(prompts); ok {
		lines = append(lines, "requests and misses: blocks of prompts")
	}
	return lines
}

// monthly returns what misses cost in a month, given the share of the requests and the bytes per request that miss.
func (b Bill) monthly(missRatio, missedBytes float64) float64 {
	return b.PerSecond * secondsOfMonth * (b.Miss.of(missRatio) + b.Egress.of(missedBytes))
}

// moved returns what tiers read and write for a point.
func (p point) moved() (sum float64) {
	for _, s := range p.shares {
		if !s.isRent && s.of != missed {
			sum += s.cost
		}
	}
	return sum
}

// drawn returns what the misses of a record cost in each draw of blocks, with what tiers move, of which blocks know
// nothing; nil if that is unknown.
func (b Bill) drawn(r *records.Record, set *blocks.Set, moved float64) (misses []float64) {
	v, ok := set.Drawn(r)
	if !ok {
		return nil
	}
	for k := range v.HitRatios {
		misses = append(misses, moved+b.monthly(1-v.HitRatios[k], v.MissedBytes[k]))
	}
	return misses
}

func isUnlimited(r *records.Record) bool {
	role, _ := records.RoleOf(r.Policy)
	return role.Unlimited
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
			r.Set(RequestRate, b.PerSecond)
		}
	}
}
