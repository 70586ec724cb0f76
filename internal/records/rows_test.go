package records

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// Conditions reach every kind of part, by its name and that of its flag, with or without parameters.
func TestConditionsOnParts(t *testing.T) {
	for _, k := range PartKinds {
		plain, with := Record{Label: "lru"}, Record{Label: "lru"}
		*k.Field(&with) = "part(n=2,m=3)"
		recs := []Record{plain, with}
		for _, name := range []string{k.Name, k.Flag.Name} {
			if name == "" {
				continue
			}
			for _, test := range []struct {
				text        string
				plain, with bool
			}{
				{"=part(n=2,m=3)", false, true},
				{"=part", false, true},
				{"!=part", !k.Some || k.Default != "", false},
				{"=par", false, false},
				{"=none", k.Default == "" && !k.Some, false},
			} {
				where := must.Get(ParseConditions(name + test.text))(t)
				if got := plain.Meets(where); got != test.plain {
					t.Errorf("%s%s without the part: %t", name, test.text, got)
				}
				if got := with.Meets(where); got != test.with {
					t.Errorf("%s%s with the part: %t", name, test.text, got)
				}
			}
			must.Do(t, CheckRows(must.Get(ParseConditions(name+"=part"))(t), recs))
			err := CheckRows(must.Get(ParseConditions(name+"=trap"))(t), recs)
			if want := fmt.Sprintf("unknown %s \"trap\"", name); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		err := CheckRows([]Condition{{"place", "=", []string{"x"}}}, recs)
		if err == nil || !strings.Contains(err.Error(), k.Name) {
			t.Errorf("%v, want that it names %s", err, k.Name)
		}
	}
	axis := Record{Axes: "prefetcher=ahead", Prefetcher: "next"}
	if v, _ := axis.Place("prefetcher"); v.Text != "ahead" {
		t.Errorf("an axis of the experiment hides behind the part: %v", v)
	}
}

// Conditions on labels are about a row for each label.
func TestRowsOfLabels(t *testing.T) {
	metric.Register("rows test",
		metric.Metric{Name: "shelf_hit_ratio", Unit: metric.Share, Labels: "shelf", Doc: "of a shelf"},
		metric.Metric{Name: "label_hit_ratio", Unit: metric.Share, Labels: "label", Doc: "of a label"})
	r := Record{Label: "lru", By: "host", Values: metric.ValuesOf(map[string]float64{"hit_ratio": 0.5,
		"shelf_hit_ratio[top]": 0.7, "shelf_hit_ratio[low]": 0.3, "label_hit_ratio[a,b]": 0.1})}
	for text, want := range map[string]string{
		"policy=lru":        "hit_ratio 0.5 true; ",
		"shelf=top":         "shelf_hit_ratio 0.3 false; shelf_hit_ratio 0.7 true; ",
		"shelf!=top":        "shelf_hit_ratio 0.3 true; shelf_hit_ratio 0.7 false; ",
		"host=a;b":          "label_hit_ratio 0.1 true; ",
		"policy=no,shelf=x": "shelf_hit_ratio 0.3 false; shelf_hit_ratio 0.7 false; ",
	} {
		rows, where := r.Rows(must.Get(ParseConditions(text))(t), "hit_ratio")
		got := ""
		for _, row := range rows {
			x, _ := row.Get(row.Metric)
			got += fmt.Sprintf("%s %g %t; ", row.Metric, x, row.Meets(where))
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	other := Record{Label: "lru"}
	if rows, _ := other.Rows(must.Get(ParseConditions("shelf=top"))(t), "hit_ratio"); len(rows) != 1 ||
		rows[0].Metric != "hit_ratio" {
		t.Errorf("a record without shelves: %v", rows)
	}
}
