package cost

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots"
)

// calculation is what the page's script needs to compute an answer again at other prices: what each capacity uses, in
// units of the prices. A cost is the sum of prices times units.
type calculation struct {
	Currency string    `json:"currency"`
	Prices   []field   `json:"prices"`
	Rate     float64   `json:"rate"`   // requests per second, to which all flows refer
	Blocks   bool      `json:"blocks"` // requests are blocks of prompts
	Today    bool      `json:"today"`  // it is known what there is today; null in a curve then means no cache
	Curves   []useLine `json:"curves"`
	None     usePoint  `json:"none"`
}

// field is a price that the reader may change.
type field struct {
	Name  string  `json:"name"`
	Per   string  `json:"per"`
	Value float64 `json:"value"`
}

// useLine is a policy. Today is the curve and the point of today's capacity if the policy is the cheapest.
type useLine struct {
	Policy   string     `json:"policy"`
	Color    string     `json:"color"`
	Competes bool       `json:"competes"`
	Points   []usePoint `json:"points"`
	Today    *[2]int    `json:"today"`
}

// usePoint is a capacity: the units that are paid for each price, whatever is requested and at the rate, and what
// reaches the origin in a month.
type usePoint struct {
	Capacity int64     `json:"c"`
	Sampled  bool      `json:"s,omitempty"`
	Rents    []float64 `json:"r"`
	Flows    []float64 `json:"f"`
	Requests float64   `json:"q"`
	Bytes    float64   `json:"b"`
}

// pageDefaults are the units of prices that a page offers where the user gives none.
var pageDefaults = []struct {
	name, per string
	of        func(load) float64
}{
	{"miss", "M", func(l load) float64 { return l.requests / 1e6 }},
	{"egress", "GB", func(l load) float64 { return l.bytes / 1e9 }},
}

// calculator is a part of a page in which its reader changes prices and the capacity. Without a script it is empty.
func (a Answer) calculator() page.HTML {
	c := calculation{Currency: a.Currency, Rate: a.PerSecond, Blocks: isOfPrompts(a.curves[0].style),
		Today: a.Now != nil}
	all := slices.Clone(a.none.uses) // what all capacities are paid for
	for _, curve := range a.curves {
		all = append(all, curve.points[0].uses...)
	}
	for _, k := range kinds {
		if a.price(k.name).Per != "" && slices.ContainsFunc(all, func(u use) bool { return u.price == k.name }) {
			c.Prices = append(c.Prices, field{k.name, a.price(k.name).Per, a.price(k.name).Number})
		}
	}
	var more []int // of pageDefaults
	for i, d := range pageDefaults {
		if a.price(d.name).Per == "" && d.of(a.None.origin) > 0 && !(c.Blocks && d.name == "egress") {
			c.Prices = append(c.Prices, field{d.name, d.per, 0})
			more = append(more, i)
		}
	}
	pointOf := func(p point) usePoint {
		u := usePoint{Capacity: p.capacity, Sampled: p.sampled, Requests: p.origin.requests, Bytes: p.origin.bytes,
			Rents: make([]float64, len(c.Prices)), Flows: make([]float64, len(c.Prices))}
		for i, f := range c.Prices {
			for _, used := range p.uses {
				switch {
				case used.price != f.Name:
				case used.isRent:
					u.Rents[i] += used.units
				default:
					u.Flows[i] += used.units
				}
			}
		}
		for k, i := range more {
			u.Flows[len(c.Prices)-len(more)+k] = pageDefaults[i].of(p.origin)
		}
		return u
	}
	c.None = pointOf(a.none)
	styles := a.styles()
	for _, line := range a.curves {
		l := useLine{Policy: show.Printable(line.policy), Competes: line.competes,
			Color: plots.PropertyOf(styles[line.policy].Color)}
		for _, p := range line.points {
			l.Points = append(l.Points, pointOf(p))
		}
		if a.Today != nil {
			if now := a.nowFor(line.policy); now != nil && !now.isNone() {
				at := slices.IndexFunc(a.curves, func(c curve) bool { return c.policy == now.Policy })
				l.Today = &[2]int{at, slices.IndexFunc(a.curves[at].points, func(p point) bool {
					return p.capacity == now.Capacity
				})}
			}
		}
		c.Curves = append(c.Curves, l)
	}
	data, err := jsonlines.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("costs as JSON: %v", err)) // all numbers are finite
	}
	var w page.Writer
	w.Element("div", page.Attributes{"class", "calculator", "data-costs", string(data)}, func() {})
	w.Line()
	return w.Written()
}
