package plots

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/records"
)

// experiment returns records of policies on traces at capacities, from seeds, at places on an axis "noise", which the first policy does
// not have.
type experiment struct {
	policies, traces int
	capacities       []int64
	seeds            int
	noise            []string
	unit             string
}

func (e experiment) records() (recs []records.Record) {
	random := rand.New(rand.NewPCG(1, 2))
	for trace := range max(e.traces, 1) {
		for policy := range e.policies {
			noise := e.noise
			if policy == 0 || noise == nil {
				noise = []string{""}
			}
			for _, capacity := range e.capacities {
				for at, place := range noise {
					for seed := range max(e.seeds, 1) {
						ratio := 0.05*float64(trace+1) + 0.1*math.Log10(float64(capacity)) + 0.008*float64(policy) - 0.03*float64(at) + 0.01*random.Float64()
						if e.seeds == 0 {
							ratio = math.Round(ratio*1e4) / 1e4
						}
						share := float64(capacity) / 1e6
						r := records.Record{
							Trace: fmt.Sprintf("trace-%d", trace), Policy: fmt.Sprintf("policy-%d", policy), Kind: "online", Cache: "exact",
							Capacity: capacity, CapacityText: fmt.Sprint(capacity), CapacityUnit: e.unit, CapacityShare: &share, Seed: uint64(seed),
							Requests: 1e6, HitRatio: ratio, Hits: int64(ratio * 1e6), Misses: 1e6 - int64(ratio*1e6),
						}
						r.Label = r.Policy
						if place != "" {
							r.Axes = "noise=" + place
						}
						if policy == e.policies-1 && e.policies > 1 {
							r.Policy, r.Label, r.Kind = "opt", "opt", "offline"
						}
						recs = append(recs, r)
					}
				}
			}
		}
	}
	return recs
}

var wide = []int64{100, 200, 500, 1000, 2000, 5000, 10_000, 20_000}

var paper = records.Published{
	Name: "Paper, table 1", Source: "a paper", Metric: "hit_ratio", Points: []records.PublishedPoint{
		{At: map[string]string{"trace": "trace-0", "policy": "policy-1", "capacity": "500"}, Value: 0.34},
		{At: map[string]string{"trace": "trace-0", "policy": "policy-2", "capacity": "50000"}, Value: 0.55},
		{At: map[string]string{"policy": "policy-1", "noise": "0.1"}, Value: 0.33},
		{At: map[string]string{"policy": "policy-1", "noise": "big"}, Value: 0.31},
		{At: map[string]string{"policy": "nobody", "capacity": "500"}, Value: 0.99},
	},
}

// kinds are the kinds of charts that there are.
var kinds = map[string]struct {
	chart Chart
	recs  []records.Record
}{
	"classic":    {Chart{Title: "Hit ratio over capacity", X: "capacity", Y: "hit_ratio", Panels: "trace", LogX: true, Marks: []records.Published{paper}}, experiment{policies: 26, traces: 3, capacities: wide, unit: records.Objects}.records()},
	"one-panel":  {Chart{X: "capacity", Y: "misses", LogX: true, LogY: true}, experiment{policies: 26, capacities: wide, unit: records.Bytes}.records()},
	"seeds":      {Chart{X: "capacity", Y: "hit_ratio", LogX: true, Marks: []records.Published{paper}}, experiment{policies: 4, capacities: wide, seeds: 10, unit: records.Objects}.records()},
	"axis":       {Chart{X: "noise", Y: "hit_ratio", Marks: []records.Published{paper}}, experiment{policies: 4, capacities: []int64{500}, seeds: 3, noise: []string{"0", "0.1", "0.5"}, unit: records.Objects}.records()},
	"categories": {Chart{X: "noise", Y: "hit_ratio", Marks: []records.Published{paper}}, experiment{policies: 4, capacities: []int64{500}, seeds: 3, noise: []string{"none", "0.1", "big"}, unit: records.Objects}.records()},
	"category-panels": {Chart{X: "noise", Y: "hit_ratio", Panels: "capacity", Marks: []records.Published{paper}}, experiment{policies: 5, capacities: []int64{500, 5000, 50000, 500000}, seeds: 3,
		noise: []string{"none", "lognormal with a very long name", "big", "bigger-still"}, unit: records.Objects}.records()},
	"many-categories": {Chart{X: "noise", Y: "hit_ratio"}, experiment{policies: 12, capacities: []int64{500}, noise: []string{"none", "some", "much"}, unit: records.Objects}.records()},
	"bars":            {Chart{X: "capacity", Y: "hit_ratio", Marks: []records.Published{paper}}, experiment{policies: 26, capacities: []int64{500}, seeds: 5, unit: records.Objects}.records()},
	"bar-panels":      {Chart{Title: "Misses", X: "capacity", Y: "misses", Panels: "trace"}, experiment{policies: 8, traces: 4, capacities: []int64{500}, unit: records.Objects}.records()},
	"lines-by-axis":   {Chart{X: "capacity_share", Y: "hit_ratio", Lines: "noise", LogX: true}, experiment{policies: 2, capacities: wide, noise: []string{"0", "0.1", "0.5"}, unit: records.Bytes}.records()},
	"seventy":         {Chart{X: "capacity", Y: "hit_ratio"}, experiment{policies: 70, capacities: wide, unit: records.Objects}.records()},
	"odd-names":       {Chart{Title: strings.Repeat("a long title & <more> ", 20), X: "capacity", Y: "hit_ratio", Panels: "trace", XLabel: strings.Repeat("größe ", 50), YLabel: strings.Repeat("キャッシュ ", 50)}, oddlyNamed()},
}

func oddlyNamed() []records.Record {
	recs := experiment{policies: 6, traces: 2, capacities: wide[:3], unit: records.Objects}.records()
	for i := range recs {
		recs[i].Trace = "a&b<c>\x01\xff" + strings.Repeat("long-name+", 30) + recs[i].Trace
		recs[i].Label = "\"größe\" 大 α\n" + strings.Repeat("x", 200) + recs[i].Label
	}
	return recs
}

func TestCharts(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			a, b := t.TempDir(), t.TempDir()
			if keep := os.Getenv("KEEP_FIGURES"); keep != "" { // to look at them
				a = keep
			}
			kind.chart.Name = name
			files, err := DrawChart(a, kind.chart, kind.recs)
			if err != nil {
				t.Fatal(err)
			}
			if want := []string{name + ".svg", name + ".png", name + ".pdf"}; !slices.Equal(files, want) {
				t.Errorf("files %v, want %v", files, want)
			}
			checkFigure(t, a, name)
			if _, err := DrawChart(b, kind.chart, kind.recs); err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				first, _ := os.ReadFile(filepath.Join(a, file))
				second, _ := os.ReadFile(filepath.Join(b, file))
				if len(first) == 0 || string(first) != string(second) {
					t.Errorf("%s differs between two drawings", file)
				}
			}
		})
	}
}
