package cost

import (
	"cmp"

	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/results/page"
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
