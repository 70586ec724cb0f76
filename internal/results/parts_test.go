package results

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
)

// with returns a record that has a part of the kind, in a cache with a capacity of its own or not.
func with(k records.PartKind, part string, ownCapacity bool) records.Record {
	r := records.Record{Trace: "t", Policy: "lru", Label: "lru", Kind: "online", Cache: "exact", Capacity: 9,
		CapacityUnit: records.Objects, CapacityText: "9", SampleRate: 1}
	r.Set(metric.Requests, 10)
	r.Set(metric.HitRatio, 0.5)
	if !ownCapacity {
		r.CapacityShare = new(0.5)
	}
	*k.Field(&r) = part
	return r
}

// Two records that differ in one part alone can be told apart in tables and in figures, whichever kind it is.
func TestTablesNameEveryKindOfPart(t *testing.T) {
	for _, k := range records.PartKinds {
		for _, own := range []bool{false, true} {
			recs := []records.Record{with(k, "first(a=1)", own), with(k, "second(b=2)", own)}
			var table bytes.Buffer
			must.Do(t, Print(&table, recs, "table", PrintOptions{}))
			named := NamedByParts(recs)
			for i, part := range []string{"first(a=1)", "second(b=2)"} {
				if !strings.Contains(table.String(), part) {
					t.Errorf("%s (own capacity %v): %s is not in the table\n%s", k.Name, own, part, &table)
				}
				groups := Groups(named)
				if len(groups) == 1 && !strings.Contains(named[i].Label, part) {
					t.Errorf("%s (own capacity %v): %s is in no name of a line: %s", k.Name, own, part, named[i].Label)
				}
			}
			if parts := recs[0].Parts(); !strings.Contains(strings.Join(parts, " "), "first") {
				t.Errorf("%s: not among the parts %v", k.Name, parts)
			}
		}
	}
}

// What knows the future through a part competes nowhere: in stars, in pivot tables, and the note says so.
func TestForesightDoesNotCompete(t *testing.T) {
	t.Cleanup(func() { records.DeclareFuture(func(_, _ string) bool { return false }) })
	records.DeclareFuture(func(_, part string) bool { return part == "oracle" })
	for _, k := range records.PartKinds {
		recs := []records.Record{with(k, "", false), with(k, "oracle", false)}
		recs[1].Label = "laru"
		recs[1].Set(metric.HitRatio, 0.9)
		if !recs[0].Competes() || recs[1].Competes() {
			t.Errorf("%s: lru competes %v, with oracle %v", k.Name, recs[0].Competes(), recs[1].Competes())
		}
		if want := "laru with oracle knows the future and does not compete"; FutureNote(recs) != want {
			t.Errorf("%s: note %q", k.Name, FutureNote(recs))
		}
		recs = append(recs, with(k, "", false))
		recs[2].Label = "fifo"
		recs[2].Set(metric.HitRatio, 0.4)
		tables := must.Get(Pivot{Cells: "hit_ratio"}.Tables(recs))(t)
		for _, row := range tables.Tables[0].Rows {
			if best := row.Cells[0].Best; best != (row.Name == "lru") {
				t.Errorf("%s: %s is marked %v", k.Name, row.Name, best)
			}
		}
	}
}

// In tables of policies, each metric with a better direction is marked at its best value.
func TestTheBestOfEachMetricIsMarked(t *testing.T) {
	low, high, third := 1.155, 1.164, 1.16
	for _, metric := range []string{"throughput", "token_hit_ratio", "block_hit_ratio", "latency_mean_ms"} {
		recs := []records.Record{cell("a", "lru", 100, 0.1), cell("a", "arc", 100, 0.1), cell("a", "lfu", 100, 0.1)}
		recs[0].SetNamed(metric, low)
		recs[1].SetNamed(metric, high)
		recs[2].SetNamed(metric, third)
		tables := must.Get(Pivot{Cells: metric}.Tables(recs))(t)
		want := []bool{records.LowerIsBetter(metric), records.HigherIsBetter(metric), false}
		for i, row := range tables.Tables[0].Rows {
			if c := row.Cells[0]; c.Best != want[i] {
				t.Errorf("%s of %s: %s marked %v, want %v", metric, row.Name, c.Text, c.Best, want[i])
			}
		}
	}
}
