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
	f, err := c.Figure()
	if err != nil {
		return nil, err
	}
	d, err := f.Draw("hit_ratio")
	return []plots.Drawing{d}, err
}
