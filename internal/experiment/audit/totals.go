package audit

// Totals are what a server tells of itself over time.
type Totals struct{}

func (t *Totals) compare(*seen) (o Outcome) { return o }
