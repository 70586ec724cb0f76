package cost

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
)

// Names of tiers that can be the first one.
const (
	hbm    = "hbm"
	memory = "memory"
)

const numTiers = 7

// tierNames are the names of all tiers, the fastest first. A test compares them with those that caches have.
var tierNames = [numTiers]string{hbm, memory, "host", "flash", "ssd", "disk", "remote"}

// TierBytes is a metric of records with prices.
var TierBytes = metric.Metric{Name: "tier_bytes", Unit: metric.Bytes, Labels: "tier", Merge: metric.Apart,
	Doc: "size of a tier, of all nodes together, for which it is paid"}

func at(tier string) int { return slices.Index(tierNames[:], tier) }

// isFirst reports whether a tier can be the first one, which is what a cache without tiers is, too.
func isFirst(tier string) bool { return tier == hbm || tier == memory }

// kindsOfTiers are the prices of tiers: ssd, ssd-write, ssd-read. What is written to memory and read there wears
// nothing.
func kindsOfTiers() (kinds []kind) {
	for i, name := range tierNames {
		if name != memory {
			kinds = append(kinds, kind{name, byteMonths, func(p *Prices) *Price { return &p.Tiers[i].Size }})
		}
	}
	for i, name := range tierNames {
		if !isFirst(name) {
			kinds = append(kinds, kind{name + "-write", bytes, func(p *Prices) *Price { return &p.Tiers[i].Write }},
				kind{name + "-read", bytes, func(p *Prices) *Price { return &p.Tiers[i].Read }})
		}
	}
	return kinds
}

// size returns the price of a tier's bytes; the zero Price for a tier without a name.
func (p Prices) size(tier string) Price {
	switch tier {
	case "":
		return Price{}
	case memory:
		return p.Memory
	}
	return p.Tiers[at(tier)].Size
}

// first returns the name under which the first tier has a price: its own or, without a price, the other name of a first
// tier, unless a tier below it has that name.
func (p Prices) first(tier string, below []string) (name string, price Price) {
	for _, name := range []string{tier, memory, hbm} {
		if price := p.size(name); price.Per != "" && !slices.Contains(below, name) {
			return name, price
		}
	}
	return tier, Price{}
}

// Check rejects prices of tiers that none of the caches has, and a first tier without one. Each cache has the names of
// its tiers, the first one "" if the trace names it, as if the cache has no tiers.
func (p Prices) Check(caches [][]string) error {
	used := map[string]bool{}
	isOne := p.Memory.Per == "" || p.size(hbm).Per == "" // otherwise the trace chooses, and one may be left over
	for _, tiers := range caches {
		first, price := p.first(tiers[0], tiers[1:])
		if tiers[0] == memory && first == hbm || price.Per == "" {
			return fmt.Errorf("%s, the first tier of a cache, has no price; add %[1]s=3.20/GiB-month", tiers[0])
		}
		used[first] = used[first] || tiers[0] != "" || isOne
		for _, name := range tiers[1:] {
			used[name] = true
		}
	}
	for _, k := range kinds {
		price := *k.field(&p)
		tier, _, _ := strings.Cut(k.name, "-")
		switch {
		case price.Per == "" || at(tier) < 0 || used[tier]:
		case isFirst(tier):
			return fmt.Errorf("memory=%s and hbm=%s are both prices of the first tier; give one of them", p.text(p.Memory),
				p.text(p.size(hbm)))
		default:
			return fmt.Errorf("%s=%s is a price of the tier %s, which no cache here has; remove it, or add the tier, as in "+
				"--cache 'tiers(%[3]s=10x)'", k.name, p.text(price), tier)
		}
	}
	return nil
}

// SetTier adds to a record how large a tier of each node is, or the one that all nodes share. The first tier may have
// no name.
func SetTier(r *records.Record, tier string, bytes int64, shared bool) {
	if nodes := nodesOf(r); !shared {
		bytes = min(bytes, math.MaxInt64/nodes) * nodes
	}
	r.SetInt(metric.Metric{Name: TierBytes.Of(cmp.Or(tier, firstOf(r)))}, bytes)
}

// firstOf returns the name of the first tier of a record, or what it would be called if there were tiers.
func firstOf(r *records.Record) string {
	if tiers := tiersOf(r); len(tiers) > 0 {
		return tiers[0]
	}
	if _, ok := r.GetInt(prompts); ok {
		return hbm
	}
	return memory
}

// tiersOf returns the names of a record's tiers, the first one first; nil if its cache has none.
func tiersOf(r *records.Record) (names []string) {
	for _, name := range tierNames {
		_, sized := r.Get(TierBytes.Of(name))
		_, counted := r.Get(tierHits + "[" + name + "]")
		if sized || counted {
			names = append(names, name)
		}
	}
	return names
}

// belowFirst returns the names of a record's tiers below the first one.
func belowFirst(r *records.Record) []string {
	tiers := tiersOf(r)
	return tiers[min(1, len(tiers)):]
}

// missed is what misses and missed bytes are part of.
const missed = "misses"

// rents returns what is paid for the capacity of a record, and for its tiers, in a month.
func (b Bill) rents(r *records.Record) (uses []use) {
	below := belowFirst(r)
	name, _ := b.first(firstOf(r), below)
	behind, _ := r.GetInt(sharedCapacity)
	uses = b.add(uses, name, name, float64(r.Taken())*float64(nodesOf(r))+float64(behind), true)
	for _, name := range below {
		bytes, _ := r.GetInt(TierBytes.Of(name))
		uses = b.add(uses, name, name, float64(bytes), true)
	}
	return uses
}

// Metrics of the bytes that tiers read and write.
const (
	writtenBytes    = "tier_written_bytes"
	readBytes       = "tier_read_bytes"
	prefetchedBytes = "tier_prefetched_bytes"
)

// moves returns what is paid for reading from tiers and writing to them in a month; the record stands for so many
// requests.
func (b Bill) moves(r *records.Record, requests float64) (uses []use) {
	_, monthly := b.requests()
	for _, name := range tierNames {
		for _, m := range []struct {
			of, price string
			metrics   []string
		}{
			{"written to " + name, name + "-write", []string{writtenBytes}},
			{"read from " + name, name + "-read", []string{readBytes, prefetchedBytes}},
		} {
			total, isKnown := 0.0, false
			for _, counter := range m.metrics {
				bytes, ok := r.Get(counter + "[" + name + "]")
				total, isKnown = total+bytes, isKnown || ok
			}
			if isKnown && !isFirst(name) {
				uses = b.add(uses, m.of, m.price, total/requests*monthly, false)
			}
		}
	}
	return uses
}

// moves reports whether it pays for bytes that tiers read or write.
func (o Offer) moves() bool {
	return slices.ContainsFunc(o.uses, func(u use) bool { return !u.isRent && u.of != missed })
}

// applied returns the prices that a record has a use for, as people read them.
func (p Prices) applied(r *records.Record) (texts []string) {
	add := func(what string, price Price) {
		if price.Per != "" {
			texts = append(texts, what+" "+p.text(price))
		}
	}
	below := belowFirst(r)
	add(p.first(firstOf(r), below))
	for _, name := range below {
		add(name, p.size(name))
		add("written to "+name, p.Tiers[at(name)].Write)
		add("read from "+name, p.Tiers[at(name)].Read)
	}
	add("a miss", p.Miss)
	add("a missed byte", p.Egress)
	return texts
}

// unpriced returns the tiers of a record whose bytes have no price.
func (p Prices) unpriced(r *records.Record) (names []string) {
	for _, name := range belowFirst(r) {
		if p.size(name).Per == "" {
			names = append(names, name)
		}
	}
	return names
}

// isPriced reports whether there are prices at all.
func (p Prices) isPriced() bool { return p.Memory.Per != "" || p.size(hbm).Per != "" }
