package curve

import (
	"strings"

	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots"
)

// Table returns the hit ratios as Print writes them, for a page.
func (c *Curve) Table() *page.Table {
	g := c.grid()
	t := &page.Table{Caption: c.title(), Rows: g.Rows, Notes: strings.Split(c.footer(), "\n")}
	for _, h := range g.Heads {
		t.Columns = append(t.Columns, page.Column{Name: h.Name, Class: page.Number})
	}
	return t
}

// Drawings draws what Figure returns.
func (c *Curve) Drawings() ([]plots.Drawing, error) {
	d, err := c.Figure().Draw("hit_ratio", plots.SVG, plots.PNG)
	return []plots.Drawing{d}, err
}
