// Package cost says what a cache costs in a month: its memory, and what its misses cost behind it. It finds the
// cheapest capacity and policy, and what they save.
package cost

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// Prices are what a user pays. At least the memory and one of the others have a price.
type Prices struct {
	Currency string // as the user writes it: "EUR", "$"; "" for none
	Memory   Price  // of a byte of the capacity for a month
	Miss     Price
	Egress   Price // of a byte that missed and comes from the origin
	Tiers    [numTiers]TierPrices
}

// TierPrices are the prices of one tier.
type TierPrices struct {
	Size  Price // of a byte for a month; none for the tier memory, whose price is Memory
	Write Price // of a byte that is written
	Read  Price // of a byte that is read
}

// Price is a price as it was written, and per unit. The zero value means that there is none.
type Price struct {
	Number float64 // 3.20
	Per    string  // "GiB-month"
	units  float64 // byte-months, misses or bytes that it pays for
}

// kind is one of the prices, as users name it.
type kind struct {
	name  string
	units func(name, per string) (units float64, err error)
	field func(*Prices) *Price
}

var kinds = append(append([]kind{{memory, byteMonths, func(p *Prices) *Price { return &p.Memory }}}, kindsOfTiers()...),
	kind{"miss", misses, func(p *Prices) *Price { return &p.Miss }},
	kind{"egress", bytes, func(p *Prices) *Price { return &p.Egress }})

// price returns a price by the name that users give it; the zero Price if there is none.
func (p Prices) price(name string) Price {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	return *kinds[i].field(&p)
}

const example = "memory=3.20/GiB-month,miss=0.40/M"

// Parse reads a list of prices and presets:
//
//	memory=3.20/GiB-month,miss=0.40/M,egress=0.08/GB
//	memory=3.20 EUR/GiB-month,miss=0.40/M
//	memory=3.20/GiB-month,ssd=0.10/GiB-month,ssd-write=0.09/TB,miss=0.40/M
//	elasticache,miss=0.5/M
//
// A price that is written takes the place of a preset's.
func Parse(text string) (p Prices, err error) {
	written := map[string]bool{}
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		name, price, isPrice := strings.Cut(item, "=")
		if !isPrice {
			if err = p.addPreset(item, written); err != nil {
				return Prices{}, err
			}
			continue
		}
		if written[name] {
			return Prices{}, fmt.Errorf("%q: %s has two prices; give one", text, name)
		}
		if err = p.add(name, price); err != nil {
			return Prices{}, fmt.Errorf("%q: %w", item, err)
		}
		written[name] = true
	}
	if !p.isPriced() {
		return Prices{}, fmt.Errorf("%q: memory has no price; write %s, or add a preset with one: %s", text, example,
			suggest.List(presetsOf("memory")))
	}
	return p, nil
}

// addPreset adds the prices of a preset, apart from those that are written.
func (p *Prices) addPreset(name string, written map[string]bool) error {
	i := slices.IndexFunc(Presets, func(s Preset) bool { return s.Name == name })
	if i < 0 {
		return fmt.Errorf("%w; a price is written as in %s", suggest.Unknown("preset", name, presetsOf("")), example)
	}
	for item := range strings.SplitSeq(Presets[i].Prices, ",") {
		kind, price, _ := strings.Cut(item, "=")
		if written[kind] {
			continue
		}
		if err := p.add(kind, price); err != nil {
			return fmt.Errorf("preset %s: %w", name, err)
		}
	}
	return nil
}

// highestPrice keeps costs finite, whatever the unit and the capacity.
const highestPrice = 1e15

// parts of "3.20 EUR/GiB-month" and "€3.20/GiB-month"
var priceForm = regexp.MustCompile(`^\s*([\p{L}\p{Sc}]*)\s*(\d+\.?\d*|\.\d+)\s*([\p{L}\p{Sc}]*)\s*/\s*(\S+)\s*$`)

func (p *Prices) add(name, text string) error {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		var names []string
		for _, k := range kinds {
			names = append(names, k.name)
		}
		return suggest.Unknown("price", name, names)
	}
	parts := priceForm.FindStringSubmatch(text)
	if parts == nil || parts[1] != "" && parts[3] != "" {
		return fmt.Errorf("want a number, a currency if you like, and what it is for, as in %s", example)
	}
	currency := cmp.Or(parts[1], parts[3])
	if currency != "" && p.Currency != "" && currency != p.Currency {
		return fmt.Errorf("is in %s, but another price is in %s; give all prices in one currency", currency, p.Currency)
	}
	number, err := strconv.ParseFloat(parts[2], 64)
	if err != nil || number == 0 || number >= highestPrice {
		return fmt.Errorf("%s is no price; want a number above 0 and below %.0e", parts[2], highestPrice)
	}
	units, err := kinds[i].units(name, parts[4])
	if err != nil {
		return err
	}
	p.Currency = cmp.Or(p.Currency, currency)
	*kinds[i].field(p) = Price{number, parts[4], units}
	return nil
}

// String writes the prices so that Parse reads them.
func (p Prices) String() string {
	var texts []string
	for _, k := range kinds {
		if price := *k.field(&p); price.Per != "" {
			texts = append(texts, k.name+"="+p.text(price))
		}
	}
	return strings.Join(texts, ",")
}

// text writes a price: "3.2 EUR/GiB-month".
func (p Prices) text(price Price) string {
	number := strconv.FormatFloat(price.Number, 'f', -1, 64)
	if p.Currency != "" {
		number += " " + p.Currency
	}
	return number + "/" + price.Per
}

// hoursOfMonth is a twelfth of 365 days, the month of cloud bills.
const hoursOfMonth = 730

var byteUnits = []struct {
	name  string
	bytes float64
}{
	{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
}

var spans = []struct {
	name   string
	months float64
}{{"hour", 1.0 / hoursOfMonth}, {"day", 24.0 / hoursOfMonth}, {"month", 1}, {"year", 12}}

// byteMonths reads what a price of memory, or of another tier, is for: "GiB-month".
func byteMonths(name, per string) (float64, error) {
	unit, span, ok := strings.Cut(per, "-")
	size, err := bytes(name, unit)
	if ok && err == nil {
		for _, s := range spans {
			if s.name == span {
				return size * s.months, nil
			}
		}
	}
	return 0, fmt.Errorf("%s has a price per %q; want a size and a time: GiB-month, GB-hour, MiB-year", name, per)
}

// bytes reads what a price of bytes is for: "GB".
func bytes(_, per string) (float64, error) {
	var names []string
	for _, u := range byteUnits {
		if u.name == per {
			return u.bytes, nil
		}
		names = append(names, u.name)
	}
	return 0, suggest.Unknown("unit of bytes", per, names)
}

// misses reads for how many misses a price is.
func misses(_, per string) (float64, error) {
	switch per {
	case "1":
		return 1, nil
	case "K":
		return 1e3, nil
	case "M":
		return 1e6, nil
	}
	return 0, fmt.Errorf("a miss has a price per %q; want 1, K (1,000) or M (1,000,000)", per)
}

// Preset is a public list price, for a first estimate: discounts, regions and replicas change it. Users override any
// of its prices.
type Preset struct {
	Name   string
	Prices string // as Parse reads them
	For    string // what is paid
	Source string
	Date   string // when the price was read or came into effect
}

// Presets are all of them: of memory first, then of origins.
var Presets = []Preset{
	{"elasticache", "memory=0.125 USD/GB-hour", "data in Amazon ElastiCache Serverless for Redis OSS or Memcached, " +
		"US East; its charge per request is the same for hits and misses, and is left out",
		"https://aws.amazon.com/elasticache/pricing/", "2026-06"},
	{"elasticache-valkey", "memory=0.084 USD/GB-hour", "the same with Valkey",
		"https://aws.amazon.com/elasticache/pricing/", "2026-06"},
	{"s3", "miss=0.40 USD/M", "GET requests to Amazon S3 Standard from its own region, US East",
		"https://aws.amazon.com/s3/pricing/", "2025-01"},
	{"s3-internet", "miss=0.40 USD/M,egress=0.09 USD/GB", "the same from elsewhere: the first 10 TB of a month",
		"https://aws.amazon.com/s3/pricing/", "2025-01"},
	{"dynamodb", "miss=0.125 USD/M", "strongly consistent reads of up to 4 KB from Amazon DynamoDB on demand, US East",
		"https://aws.amazon.com/dynamodb/pricing/on-demand/", "2024-11"},
}

// presetsOf returns the names of the presets with a price of that kind; of all of them for "".
func presetsOf(kind string) (names []string) {
	for _, p := range Presets {
		if kind == "" || strings.Contains(","+p.Prices, ","+kind+"=") {
			names = append(names, p.Name)
		}
	}
	return names
}

// ParseRate reads how often requests come ("1200/s", "40000/min", "2e6/h", "5e9/day"), and returns the number per
// second.
func ParseRate(text string) (float64, error) {
	number, per, _ := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	seconds := map[string]float64{"s": 1, "min": 60, "h": 3600, "day": 86400}[strings.TrimSpace(per)]
	if err != nil || !(n > 0 && n < 1e15) || seconds == 0 {
		return 0, fmt.Errorf("%q: want requests per time: 1200/s, 40000/min, 2e6/h or 5e9/day", text)
	}
	return n / seconds, nil
}
