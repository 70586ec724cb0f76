package cost

import (
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/records"
)

// Parts returns what a page says of answers: each in a sentence and a table with a row per policy, after the cheapest
// of several caches.
func Parts(answers []Answer) (parts []page.Part) {
	for _, sentence := range records.Sentences(Caches(answers)) {
		parts = append(parts, page.Part{Answer: sentence})
	}
	for i, sentence := range records.Sentences(answers) {
		parts = append(parts, page.Part{Answer: sentence}, page.Part{Table: answers[i].table()})
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
	best := a.Offers[0]
	add := func(name string, o Offer) {
		row := []string{name, capacityOf(o) + capacityIn(o), a.Amount(o.Cost) + costIn(o), ""}
		if best.Competes && o.Competes && !o.isAt(best) {
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
	if a.Now != nil {
		add(a.Now.Policy+", today", *a.Now)
	}
	return t
}
