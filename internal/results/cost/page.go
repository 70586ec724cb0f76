package cost

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// Parts returns what a page says of answers: each in a sentence and a table with a row per policy, after the cheapest
// of several caches.
func Parts(answers []Answer) (parts []page.Part) {
	parts = page.Answers(tabular.Sentences(Caches(answers)))
	for i, sentence := range tabular.Sentences(answers) {
		parts = append(parts, page.Part{Answer: sentence}, page.Part{HTML: answers[i].calculator()},
			page.Part{Table: answers[i].table()})
	}
	return parts
}

func (a Answer) table() *page.Table {
	t := &page.Table{
		Caption: a.Name + ": the cheapest capacity of each policy",
		Columns: []page.Column{{Name: "policy"}, {Name: "capacity", Class: page.Number},
			{Name: "cost per month", Class: page.Number}, {Name: "saved by the cheapest", Class: page.Number}},
		Notes: a.Explanation(),
	}
	best := *a.Best()
	add := func(name string, o Offer) {
		capacity := ""
		if !o.isNone() {
			capacity = capacityOf(o) + capacityIn(o)
		}
		row := []string{name, capacity, a.Amount(o.Cost) + costIn(o), ""}
		if a.Offers[0].Competes && o.Competes && !o.isAt(best) {
			row[3] = saved(best, o)
		}
		t.Rows, t.Lines = append(t.Rows, row), append(t.Lines, o.Policy)
	}
	for _, o := range a.Offers {
		name := o.Policy
		if !o.Competes {
			name += " (offline)"
		}
		add(name, o)
	}
	add(a.None.name(), a.None)
	if a.Now != nil {
		add(cmp.Or(a.Now.Policy, a.Now.name())+", today", *a.Now)
	}
	return t
}

// logRatio is the ratio of the ends of the vertical axis from which it is logarithmic.
const logRatio = 8

// Draw draws for each answer what the capacities cost, with the cheapest marked. Answers of one capacity have no
// figure.
func Draw(ctx context.Context, answers []Answer, o look.Options) (drawn []plots.Drawing, err error) {
	for i, a := range answers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(a.curves, func(c curve) bool { return len(c.points) > 1 }) {
			continue
		}
		name := PerMonth.Name
		if len(answers) > 1 {
			name = fmt.Sprintf("%s-%d", name, i+1)
		}
		d, err := a.figure(o).Draw(name, o, canvas.SVG, canvas.PNG)
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, d)
	}
	return drawn, nil
}

func (a Answer) figure(o look.Options) *plots.Figure {
	label := "cost per month"
	if a.Currency != "" {
		label += " (" + a.Currency + ")"
	}
	capacity := "capacity"
	if len(belowFirst(a.curves[0].style)) > 0 {
		capacity += " of the first tier"
	}
	f := plots.New("Cost per month: "+a.Name, capacity, label)
	styles := a.styles()
	low, high := a.None.Cost, a.None.Cost
	smallest, largest := int64(math.MaxInt64), int64(0)
	var lines []plots.Line
	for _, c := range a.curves {
		l := plots.Line{Label: c.policy, Style: styles[c.policy]}
		for _, p := range c.points {
			l.X, l.Y = append(l.X, float64(p.capacity)), append(l.Y, p.cost())
			low, high = min(low, p.cost()), max(high, p.cost())
			smallest, largest = min(smallest, p.capacity), max(largest, p.capacity)
		}
		lines = append(lines, l)
	}
	none := records.NoCache()
	lines = append(lines, plots.Line{Label: none, Style: styles[none],
		X: []float64{float64(smallest), float64(largest)}, Y: []float64{a.None.Cost, a.None.Cost}})
	plots.Emphasise(o, lines)
	for _, l := range lines {
		f.AddLine(l)
	}
	if a.Offers[0].Competes {
		best, mark, at := a.Best(), plots.Style{Color: styles[a.Offers[0].Policy].Color, Marker: wideRing{}}, smallest
		if !best.isNone() {
			at = best.Capacity
		}
		f.AddLine(plots.Line{Label: "cheapest: " + a.Amount(best.Cost), Style: mark, X: []float64{float64(at)},
			Y: []float64{best.Cost}})
	}
	f.SetX(axes.Log, axes.Bytes)
	if low > 0 && high/low >= logRatio {
		f.SetY(axes.Log, axes.Number)
	} else {
		f.Plot.Y.Min = min(0, f.Plot.Y.Min)
	}
	return f
}

// styles are the looks of the curves.
func (a Answer) styles() plots.Styles {
	var all []records.Record
	for _, c := range a.curves {
		all = append(all, *c.style)
	}
	none := records.NoCache()
	all = append(all, records.Record{Policy: none, Label: none, Kind: records.Bound})
	return plots.StylesOf(all, records.DimPolicy)
}

// wideRing is a ring around the mark of a line.
type wideRing struct{}

func (wideRing) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	style.Radius *= 2.5
	draw.RingGlyph{}.DrawGlyph(c, style, at)
}

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
