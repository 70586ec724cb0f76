package report

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/records"
)

// labelled has two policies with hit ratios of the tenants a and b.
func labelled() []records.Record {
	record := func(label string, a, b float64) records.Record {
		return records.Record{Trace: "t", Label: label, Kind: "online", CapacityText: "10", Capacity: 10,
			Values: metric.ValuesOf(map[string]float64{
				"hit_ratio": 0.5, "tenant_hit_ratio[a]": a, "tenant_hit_ratio[b]": b,
			})}
	}
	return []records.Record{record("lru", 0.25, 0.75), record("arc", 0.5, 0.5)}
}

func TestLabelsAreADimensionOfClaims(t *testing.T) {
	f := &experiment.File{Name: "labelled", Claims: []experiment.Claim{
		{Claim: "tenant_hit_ratio(arc) > tenant_hit_ratio(lru) where tenant = a"},
		{Claim: "tenant_hit_ratio(arc) > tenant_hit_ratio(lru)"},
		{Claim: "mean over tenant of tenant_hit_ratio(lru) == hit_ratio(lru)"},
	}}
	judged := must.Get(judge(f, labelled()))(t)
	for i, want := range []string{"reproduced", "refuted", "reproduced"} {
		if got := string(judged[i].Verdict); got != want {
			t.Errorf("%s: %s (%s%s), want %s", judged[i].Claim, got, judged[i].Measured, judged[i].Reason, want)
		}
	}
}

func TestLabelsAreADimensionOfTablesAndFigures(t *testing.T) {
	f := &experiment.File{Name: "labelled",
		Tables: []experiment.Table{{Name: "tenants", Cells: "tenant_hit_ratio", Rows: "tenant", Columns: "policy",
			Only: map[string]experiment.Values{"tenant": {"b"}}}},
		Figures: []experiment.Figure{{Name: "tenants", X: "tenant", Y: "tenant_hit_ratio"}}}
	in := Input{File: f, Records: labelled()}
	tables, notes := pivots(in)
	if len(notes) > 0 {
		t.Fatal(notes)
	}
	rows := tables[0].Tables[0].Rows
	if len(rows) != 1 || rows[0].Name != "tenant=b" || rows[0].Cells[0].Text != "75.00%" {
		t.Errorf("got %+v", rows)
	}
	if s, err := Summarize("", in); err != nil || len(s.Notes) > 0 {
		t.Errorf("figure over tenants: %v %v", s.Notes, err)
	}
}
