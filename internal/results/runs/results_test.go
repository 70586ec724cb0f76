package runs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/page"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/target"
)

// sample is two policies at three capacities of a trace whose name must be escaped.
func sample() Results {
	r := Results{Version: "1.2.3", Command: "cachesim run x -o DIR", Notes: []string{"interrupted: 6 of 9 rows"}}
	for i, capacity := range []int64{10, 100, 1000} {
		for j, label := range []string{"lru", "arc"} {
			hits := int64(1000*(i+1) + 100*j)
			r.Records = append(r.Records, records.Record{
				Trace: "<i>x</i>", Policy: label, Label: label, Kind: "online", Cache: "exact", Capacity: capacity,
				CapacityUnit: records.Objects, SampleRate: 1, FileRecords: 6,
				Values: metric.ValuesOf(map[string]float64{"requests": 4000, "hits": float64(hits),
					"misses": float64(4000 - hits), "hit_ratio": float64(hits) / 4000}),
			})
		}
	}
	r.Answers = []target.Answer{{Name: "<i>x</i>", Target: target.Default, Level: 0.72, Largest: 0.8,
		Unit: records.Objects, Noun: records.Objects, Needs: []target.Need{
			{Policy: "arc", Online: true, Capacity: 800, Above: target.Point{Capacity: 800, HitRatio: 0.72}, Exact: true},
			{Policy: "lru", Online: true, How: target.Between, Below: target.Point{Capacity: 800, HitRatio: 0.7},
				Above: target.Point{Capacity: 1000, HitRatio: 0.75}}}}}
	return r
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	must.Do(t, sample().Write(t.Context(), dir))
	for _, name := range []string{"records.jsonl", "records.csv", "records.parquet", "hit_ratio.svg", "hit_ratio.png"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	text := must.Get(os.ReadFile(filepath.Join(dir, page.Name)))(t)
	for _, want := range []string{
		"90% of the largest hit ratio: 800 objects with arc, between 800 and 1,000 with lru",
		"1,000 has 75.00%, 800 has 70.00%", "interrupted: 6 of 9 rows", "cachesim 1.2.3", "&lt;i&gt;x&lt;/i&gt;",
		`<g data-line="arc">`, `<tr data-line="lru">`, `<a href="records.csv">`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(string(text), "<i>") {
		t.Error("the name of the trace became an element")
	}
}

// Where figures cannot be drawn the records are written alone, and no page shows less than it should.
func TestRecordsOutliveFigures(t *testing.T) {
	dir := t.TempDir()
	r := sample()
	failure := errors.New("no ink")
	r.Draw = func() ([]plots.Drawing, error) { return nil, failure }
	if err := r.Write(context.Background(), dir); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "records.csv")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, page.Name)); err == nil {
		t.Error("there is a page without figures")
	}
}

func TestCommandLine(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("policy", "", "")
	flags.String("output", "", "")
	flags.Bool("bytes", false, "")
	flags.Int("jobs", 0, "")
	flags.StringArray("only", nil, "")
	args := []string{"--policy", "s3fifo(small=0.1)", "--bytes", "--output", "a", "--jobs", "2", "--only", "a=b,c",
		"--only", "d"}
	must.Do(t, flags.Parse(args))
	got := CommandLine("cachesim run", []string{"it's.csv"}, flags)
	want := `cachesim run 'it'\''s.csv' --bytes --only a=b,c --only d --policy 's3fifo(small=0.1)' -o out`
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The page names the parts of what was replayed, of every kind.
func TestThePageNamesEveryKindOfPart(t *testing.T) {
	for _, k := range records.PartKinds {
		r := sample()
		for i := range r.Records {
			*k.Field(&r.Records[i]) = "some(" + k.Name + "=1)"
		}
		dir := t.TempDir()
		must.Do(t, r.Write(t.Context(), dir))
		text := must.Get(os.ReadFile(filepath.Join(dir, page.Name)))(t)
		if !strings.Contains(string(text), "some("+k.Name+"=1)") {
			t.Errorf("the page does not name the %s", k.Name)
		}
	}
}
