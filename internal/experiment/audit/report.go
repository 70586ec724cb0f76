package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cachesim/cachesim/internal/base/tabular"
)

// Report is a finding as it is printed and stored.
type Report struct {
	Trace    string `json:"trace"`
	Settings string `json:"settings"`
	Units    string `json:"units"` // "requests", "tokens"
	Counted  int64  `json:"counted"`
	Items    int    `json:"items"`

	LogRatio   float64 `json:"log_hit_ratio,omitempty"` // what the whole log says, if that is not what is compared
	LogCounted int64   `json:"log_counted,omitempty"`

	HitRatio    float64 `json:"hit_ratio"`          // of the server
	Replayed    float64 `json:"replayed_hit_ratio"` // with the settings as stated
	Gap         float64 `json:"gap_points"`
	GapMoney    float64 `json:"gap_cost_month,omitempty"`
	Agreement   float64 `json:"agreement"`
	Explained   float64 `json:"explained_points"`
	Unexplained float64 `json:"unexplained_points"`
	Agreed      float64 `json:"explained_agreement"` // with all causes that explain something

	Replays    int        `json:"replays"`
	SampleRate float64    `json:"sample_rate"`
	Version    string     `json:"version"`
	Sentences  []string   `json:"sentences"`
	Causes     []RowCause `json:"causes"` // those that explain something first, then by how near they come alone
}

// RowCause is a cause in a report.
type RowCause struct {
	Name      string  `json:"cause"`
	Says      string  `json:"says,omitempty"` // "" if it does not apply
	Step      int     `json:"step,omitempty"` // its place among those that explain something, from 1
	Explained float64 `json:"explained_points"`
	Replayed  float64 `json:"replayed_hit_ratio"` // alone, as what follows
	Points    float64 `json:"points"`
	Money     float64 `json:"cost_month,omitempty"`
	Agreement float64 `json:"agreement"`
	Failed    string  `json:"failed,omitempty"`
	WithOther bool    `json:"with_others_only,omitempty"` // it does not apply alone
}

// Report returns what is printed and stored of a finding. money says what a share of the requests costs in a month as
// misses; it is nil without prices.
func (f Finding) Report(w Words, money func(share float64) float64) Report {
	s := f.Stated
	r := Report{Settings: w.Settings, Units: w.Units, Counted: s.Units, Items: s.Items, HitRatio: s.HitRatio(),
		Replayed: s.ReplayedRatio(), Gap: 100 * s.Gap(), Agreement: s.Agreement(), Unexplained: f.Unexplained(),
		Agreed: f.Last().Agreement(), Replays: f.Replays, SampleRate: 1, Sentences: f.Sentences(w)}
	if money != nil {
		r.GapMoney = money(-s.Gap())
	}
	if w.Log != nil {
		r.LogRatio, r.LogCounted = w.Log.HitRatio(), w.Log.Units
	}
	for i := range f.Steps {
		r.Explained += f.Points(i)
	}
	for _, t := range f.Alone {
		row := RowCause{Name: t.Name, Says: t.Says, Failed: t.Failed}
		if t.applies() {
			row.Replayed, row.Points = t.Outcome.ReplayedRatio(), f.PointsAlone(t)
			row.Agreement = t.Outcome.Agreement()
			if money != nil {
				row.Money = money(t.Outcome.ReplayedRatio() - s.ReplayedRatio())
			}
		}
		if i := slices.IndexFunc(f.Steps, func(step Tried) bool { return step.Name == t.Name }); i >= 0 {
			row.Step, row.Explained, row.Says = i+1, f.Points(i), f.Steps[i].Says
			row.WithOther, row.Failed = !t.applies(), ""
		}
		r.Causes = append(r.Causes, row)
	}
	slices.SortStableFunc(r.Causes, func(a, b RowCause) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(r.distance(a), r.distance(b)))
	})
	return r
}

// rank orders what explains something before what was tried in vain, and that before what does not apply.
func (c RowCause) rank() int {
	switch {
	case c.Step > 0:
		return c.Step
	case c.Failed != "":
		return mostSteps + 2
	case c.Says == "":
		return mostSteps + 3
	}
	return mostSteps + 1
}

// mostRows is how many causes a table shows that explain nothing.
const mostRows = 6

// Table returns the causes that explain something, and those that come nearest by themselves. priced adds money.
func (r Report) Table(priced bool) (g tabular.Grid, left int) {
	stated := r.distance(RowCause{Replayed: r.Replayed, Agreement: r.Agreement})
	var rows []RowCause
	for _, c := range r.Causes {
		switch {
		case c.Says == "" || c.Failed != "":
		case c.Step == 0 && (len(rows) >= mostRows || r.distance(c) >= stated):
			left++
		default:
			rows = append(rows, c)
		}
	}
	alone := func(name string, cell func(RowCause) string) tabular.Column[RowCause] {
		return tabular.Column[RowCause]{Head: tabular.Head{Name: name}, Cell: func(c RowCause) string {
			if c.WithOther {
				return ""
			}
			return cell(c)
		}}
	}
	columns := []tabular.Column[RowCause]{
		{Head: tabular.Head{Name: "cause", IsText: true, Weight: tabular.Key, Wrap: 12},
			Cell: func(c RowCause) string { return c.Name }},
		alone("hit ratio", func(c RowCause) string { return percent(c.Replayed) }),
		alone("points", func(c RowCause) string { return number(c.Points) }),
		alone("agrees", func(c RowCause) string { return percent(c.Agreement) }),
		{Head: tabular.Head{Name: "explains"}, Cell: func(c RowCause) string {
			if c.Step == 0 {
				return ""
			}
			return number(c.Explained)
		}},
	}
	if priced {
		columns = append(columns, alone("cost/month", func(c RowCause) string { return fmt.Sprintf("%+.2f", c.Money) }))
	}
	columns = append(columns, tabular.Column[RowCause]{Head: tabular.Head{Name: "what the server would do", IsText: true,
		Weight: tabular.Key, Wrap: 14}, Cell: func(c RowCause) string { return c.Says }})
	return tabular.GridOf(columns, rows), left
}

// distance is how far a replay is from the server.
func (r Report) distance(c RowCause) float64 {
	return 1 - c.Agreement + math.Abs(r.HitRatio-c.Replayed)
}
