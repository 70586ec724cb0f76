package results

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/records"
)

// A column of something rare, such as windows without a stable load, appears once it has happened.
func TestColumnsOfRareEvents(t *testing.T) {
	unstable, ok := metric.Lookup("unstable")
	if !ok || !unstable.Column.IfAny {
		t.Fatal("unstable windows are no longer a column that appears if there are any")
	}
	recs := inObjects()
	for i := range recs {
		recs[i].Set(unstable, 0)
	}
	if text := printed(t, recs, "table", PrintOptions{}); strings.Contains(text, unstable.Column.Head) {
		t.Errorf("a column of nothing but zeros is shown:\n%s", text)
	}
	recs[len(recs)-1].Set(unstable, 1)
	if text := printed(t, recs, "table", PrintOptions{}); !strings.Contains(text, unstable.Column.Head) {
		t.Errorf("one event shows no column:\n%s", text)
	}
}

// A share of the infinite cache's hits cannot be computed for a bound; where a record has one, it is shown as it is,
// and a cell without a value stays empty.
func TestCellsOfBounds(t *testing.T) {
	m := metric.NormalizedHitRatio
	if !m.Column.OfBounds {
		t.Fatal("the normalized hit ratio is no longer a column of bounds")
	}
	bound := records.Record{Policy: "pfoo-l", Label: "pfoo-l", Kind: records.Bound}
	if got := metricCell(m, &bound); got != "" {
		t.Errorf("a bound without a value has the cell %q", got)
	}
	bound.Set(m, 0.875)
	if got := metricCell(m, &bound); !strings.Contains(got, m.Text(0.875)) {
		t.Errorf("a bound has the cell %q, want %q in it", got, m.Text(0.875))
	}
	policy := records.Record{Policy: "lru", Label: "lru", Kind: records.Online}
	if got := metricCell(m, &policy); got != "" {
		t.Errorf("a policy without a value has the cell %q", got)
	}
}

// A setting that all rows share stands above the table; one in which they differ is a column, and a default is not
// worth a word.
func TestSettingsThatAllRowsShare(t *testing.T) {
	k := records.PartKindOf("allocator") // whose divisions of the same nodes are rows of one table
	same := []records.Record{with(k, "static(r=0.4)", true), with(k, "static(r=0.4)", true)}
	if got := (Group{Name: "t", Records: same}).Setting(); got != "static(r=0.4)" {
		t.Errorf("the setting of all rows is %q, want static(r=0.4)", got)
	}
	differ := []records.Record{with(k, "static(r=0.4)", true), with(k, "pid", true)}
	if got := (Group{Name: "t", Records: differ}).Setting(); got != "" {
		t.Errorf("rows that differ share the setting %q", got)
	}
	if got := (Group{Name: "t, static(r=0.4)", Records: same}).Setting(); got != "" {
		t.Errorf("the setting %q is in the name of the group already", got)
	}
	cache := records.PartKindOf("cache")
	none := []records.Record{with(cache, cache.Default, false), with(cache, cache.Default, false)}
	if got := (Group{Name: "t", Records: none}).Setting(); got != "" {
		t.Errorf("the default %q is a setting", got)
	}
}

// An optimum under other rules is said to be none here only where the table compares with an optimum.
func TestOptimaOfOtherRules(t *testing.T) {
	records.DeclareRole("other-optimum", records.Role{Optimum: true})
	defer records.DeclareRole("other-optimum", records.Role{})
	other := records.Record{Policy: "other-optimum", Label: "other-optimum", Kind: records.Offline}
	if got := elsewhereLine([]records.Record{other}); got != "" {
		t.Errorf("a table without an optimum says %q", got)
	}
	compared := records.Record{Policy: "lru", Label: "lru", Kind: records.Online, Optimum: "opt"}
	compared.Set(metric.CompetitiveRatio, 1.5)
	if got := elsewhereLine([]records.Record{compared, other, other}); !strings.HasPrefix(got,
		"other-optimum: optimal under") {
		t.Errorf("a table that compares with another optimum says %q", got)
	}
	compared.Optimum = "other-optimum"
	if got := elsewhereLine([]records.Record{compared, other}); got != "" {
		t.Errorf("a table that compares with this optimum says %q", got)
	}
}

// The hit ratio of reads has a column where it is not the hit ratio itself, as it is where writes fill the cache.
func TestColumnUnlikeAnother(t *testing.T) {
	recs := inObjects()
	for i := range recs {
		hits, _ := recs[i].Figure("hit_ratio")
		recs[i].Set(metric.ReadHitRatio, hits)
	}
	if text := printed(t, recs, "table", PrintOptions{}); strings.Contains(text, "of reads") {
		t.Errorf("the hit ratio is shown twice:\n%s", text)
	}
	recs[0].Set(metric.ReadHitRatio, 0.123)
	if text := printed(t, recs, "table", PrintOptions{}); !strings.Contains(text, "of reads") {
		t.Errorf("another hit ratio is not shown:\n%s", text)
	}
}

// Metrics that have columns say which leave first, and none is as important as the policy.
func TestWeightsOfMetrics(t *testing.T) {
	for _, m := range columnMetrics() {
		if m.Column.Weight == 0 {
			t.Errorf("the column of %s has no weight", m.Name)
		}
	}
	hit, ns := metric.HitRatio.Column.Weight, metric.NsPerRequest.Column.Weight
	if misses := metric.Misses.Column.Weight; !(hit > misses && misses > ns) {
		t.Errorf("weights: hit ratio %d, misses %d, time %d", hit, misses, ns)
	}
}
