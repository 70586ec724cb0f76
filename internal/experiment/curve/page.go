package curve

import (
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/records"
)

// Table returns the hit ratios as Print writes them, for a page.
func (c *Curve) Table() *page.Table {
	t := &page.Table{
		Caption: fmt.Sprintf("%s: %s requests, hit ratios", c.Trace, records.Count(c.requests())),
		Columns: []page.Column{{Name: "capacity", Class: page.Number}, {Name: policies.Recency(), Class: page.Number}},
		Notes:   strings.Split(c.footer(), "\n"),
	}
	more := []string{}
	if c.Rate > 0 {
		more = append(more, policies.Recency()+" sampled", "error")
	}
	for _, s := range c.Specs {
		more = append(more, c.heading(s))
	}
	for _, name := range more {
		t.Columns = append(t.Columns, page.Column{Name: name, Class: page.Number})
	}
	for _, capacity := range c.Capacities {
		t.Rows = append(t.Rows, c.row(capacity))
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
