package results

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
)

var update = flag.Bool("update", false, "write the golden files again")

// inObjects is a run over two capacities in objects with the two optima.
func inObjects() []records.Record {
	var recs []records.Record
	for _, capacity := range []int64{489, 48_974} {
		for _, p := range []struct {
			label, kind, optimum string
			misses               int64
			ns                   float64
		}{
			{"lru", "online", "opt", 98_013, 4.21},
			{"s3fifo(small=0.2)", "online", "opt", 87_530, 12},
			{"lhd", "online", "opt-bypass", 95_000, 158.2},
			{"opt", "offline", "opt", 70_000, 9.87},
		} {
			misses := p.misses * 489 / capacity
			recs = append(recs, records.Record{
				Trace: "cloudPhysicsIO.oracleGeneral.bin.zst", Policy: strings.SplitN(p.label, "(",
					2)[0], Label: p.label, Kind: p.kind, Cache: "exact",
				Capacity: capacity, CapacityUnit: records.Objects, CapacityShare: new(float64(capacity) / 48_974),
				SampleRate: 1,
				Values: metric.ValuesOf(map[string]float64{"requests": 113_872, "hits": 113_872 - float64(misses),
					"misses": float64(misses), "hit_ratio": 1 - float64(misses)/113_872, "opt_misses": 70_000,
					"competitive_ratio": float64(p.misses) / 70_000, "ns_per_request": p.ns}),
				Optimum: p.optimum, Best: strings.HasPrefix(p.label, "s3fifo"),
			})
		}
	}
	return recs
}

// sample is a run over a trace with sizes: a policy, the feasible optimum and the lower bound.
func sample() []records.Record {
	recs, err := records.Read("testdata/bytes.json", nil)
	if err != nil {
		panic(err)
	}
	return recs
}

func printed(t *testing.T, recs []records.Record, format string, opt PrintOptions) string {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, Print(&out, recs, format, opt))
	return out.String()
}

func TestPrintGolden(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	both := append(inObjects(), sample()...)
	for _, c := range []struct {
		name, format string
		recs         []records.Record
		color        bool
	}{
		{"objects.txt", "table", inObjects(), false},
		{"objects-color.txt", "table", inObjects(), true},
		{"objects.md", "markdown", inObjects(), false},
		{"bytes.txt", "table", sample(), false},
		{"bytes.md", "markdown", sample(), false},
		{"two-traces.txt", "table", both, false},
		{"bytes.csv", "csv", sample(), false},
		{"bytes.json", "json", sample(), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := printed(t, c.recs, c.format, PrintOptions{Color: c.color})
			path := filepath.Join("testdata", c.name)
			if *update {
				must.Do(t, os.WriteFile(path, []byte(got), 0o644))
			}
			want := must.Get(os.ReadFile(path))(t)
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	recs := sample()
	recs[0].SetInt(metric.Requests, 1_000_000_000)
	recs[0].SetInt(metric.Misses, 600_000_000)
	recs[0].Capacity = 123_456_789_012
	for _, text := range []string{printed(t, inObjects(), "table", PrintOptions{}),
		printed(t, recs, "table", PrintOptions{})} {
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 100 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
}

func TestNoColor(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	if text := printed(t, inObjects(), "table", PrintOptions{Color: true}); strings.Contains(text, "\x1b") {
		t.Errorf("NO_COLOR is set, yet the table has terminal codes: %q", text)
	}
}

func TestPrintUnknownFormat(t *testing.T) {
	var out bytes.Buffer
	err := Print(&out, sample(), "jsn", PrintOptions{})
	if err == nil || !strings.Contains(err.Error(), `did you mean "json"?`) || out.Len() > 0 {
		t.Errorf("got error %v and output %q", err, out.String())
	}
}

func TestGroupsNameWhatDiffers(t *testing.T) {
	base := sample()[0]
	other := base
	other.CapacityUnit, other.Seed = records.Objects, 2
	third := base
	third.Trace = "web"
	var names []string
	for _, g := range Groups([]records.Record{base, other, third, base}) {
		names = append(names, fmt.Sprintf("%s: %d", g.Name, len(g.Records)))
	}
	want := "cdn, capacity in bytes, seed 1: 2 | cdn, capacity in objects, seed 2: 1 | web, capacity in bytes, seed 1: 1"
	if got := strings.Join(names, " | "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Groups([]records.Record{base})[0].Name; got != "cdn" {
		t.Errorf("a single group is named %q", got)
	}
}

// TestAllocatorsOfNodesShareATable checks that the allocators of a cache with a capacity of its own are rows of one
// table, and those of tenants tables of their own.
func TestAllocatorsOfNodesShareATable(t *testing.T) {
	share := 0.5
	for _, of := range []*float64{nil, &share} {
		recs := []records.Record{
			{Trace: "t", Policy: "lru", Label: "lru", Kind: "online", Cache: "pools", Allocator: "equal", CapacityShare: of},
			{Trace: "t", Policy: "lru", Label: "lru", Kind: "online", Cache: "pools", Allocator: "pid", CapacityShare: of},
		}
		groups, labels := Groups(recs), NamedByParts(recs)
		var out strings.Builder
		must.Do(t, Print(&out, recs, "table", PrintOptions{}))
		column := strings.Contains(out.String(), "policy  allocator")
		if own := of == nil; (len(groups) == 1) != own || (labels[1].Label == "lru, pid") != own || column != own {
			t.Errorf("own capacity %v: %d tables, label %q:\n%s", own, len(groups), labels[1].Label, &out)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	for got, want := range map[string]string{
		show.Count(0):                           "0",
		show.Count(914_145):                     "914,145",
		show.Capacity(100, records.Objects):     "100",
		show.Capacity(186_880, records.Objects): "186,880",
		show.Capacity(512, records.Bytes):       "512 B",
		show.Capacity(64<<20, records.Bytes):    "64 MiB",
		show.Capacity(1536, records.Bytes):      "1.5 KiB",
		show.Capacity(5_032_001, records.Bytes): "4.799 MiB",
		show.Capacity(1<<62, records.Bytes):     "4 EiB",
		show.Share(0.01):                        "1%",
		show.Share(0.125):                       "12.5%",
		show.Share(489.0 / 48_974):              "1%",
		show.Share(250.0 / 186_880):             "0.13%",
		show.Share(0.0000123):                   "0.0012%",
		show.Share(2):                           "200%",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A sample's hit ratio is that of the whole trace, but its misses are not. A note must say so.
func TestPrintSaysWhatIsOfTheSample(t *testing.T) {
	recs := inObjects()
	if text := printed(t, recs, "table", PrintOptions{}); strings.Contains(text, "sample") {
		t.Errorf("no sample was replayed:\n%s", text)
	}
	for i := range recs {
		recs[i].SampleRate = 0.1
	}
	text := printed(t, recs, "table", PrintOptions{})
	for _, want := range []string{
		"misses of the sample", "sample of 10%: capacities and hit ratios are scaled to the whole trace",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	tables := must.Get(Pivot{Cells: "misses"}.Tables(recs))(t)
	notes := strings.Join(tables.Notes, "\n")
	if !strings.Contains(notes, "counts and other ratios refer to the sample") {
		t.Errorf("notes of the table of misses: %s", notes)
	}
}

// A name of a trace is any bytes, and none of them reaches the terminal.
func TestNameThatIsNoText(t *testing.T) {
	recs := inObjects()
	for i := range recs {
		recs[i].Trace = "a\xff\x1b[31mb"
	}
	if table := printed(t, recs, "table", PrintOptions{}); strings.Contains(table, "\x1b") {
		t.Errorf("the name reaches the terminal: %q", table)
	}
}
