package records

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

var update = flag.Bool("update", false, "write the golden files again")

// inObjects is a run over two capacities in objects with the two optima.
func inObjects() []Record {
	var recs []Record
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
			recs = append(recs, Record{
				Trace: "cloudPhysicsIO.oracleGeneral.bin.zst", Policy: strings.SplitN(p.label, "(",
					2)[0], Label: p.label, Kind: p.kind, Cache: "exact",
				Capacity: capacity, CapacityUnit: Objects, CapacityShare: ptr(float64(capacity) / 48_974), SampleRate: 1,
				Values: metric.ValuesOf(map[string]float64{"requests": 113_872, "hits": 113_872 - float64(misses),
					"misses": float64(misses), "hit_ratio": 1 - float64(misses)/113_872, "opt_misses": 70_000,
					"competitive_ratio": float64(p.misses) / 70_000, "ns_per_request": p.ns}),
				Optimum: p.optimum, Best: strings.HasPrefix(p.label, "s3fifo"),
			})
		}
	}
	return recs
}

func printed(t *testing.T, recs []Record, format string, opt PrintOptions) string {
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
		recs         []Record
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

func TestPrintedJSONAndCSVReadBack(t *testing.T) {
	for _, format := range []string{"json", "csv"} {
		got, err := decode([]byte(printed(t, sample(), format, PrintOptions{})))
		if err != nil || !reflect.DeepEqual(got, sealed(sample())) {
			t.Errorf("%s: got %+v, %v", format, got, err)
		}
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
	other.CapacityUnit, other.Seed = Objects, 2
	third := base
	third.Trace = "web"
	var names []string
	for _, g := range Groups([]Record{base, other, third, base}) {
		names = append(names, fmt.Sprintf("%s: %d", g.Name, len(g.Records)))
	}
	want := "cdn, capacity in bytes, seed 1: 2 | cdn, capacity in objects, seed 2: 1 | web, capacity in bytes, seed 1: 1"
	if got := strings.Join(names, " | "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Groups([]Record{base})[0].Name; got != "cdn" {
		t.Errorf("a single group is named %q", got)
	}
}

// TestAllocatorsOfNodesShareATable checks that the allocators of a cache with a capacity of its own are rows of one
// table, and those of tenants tables of their own.
func TestAllocatorsOfNodesShareATable(t *testing.T) {
	share := 0.5
	for _, of := range []*float64{nil, &share} {
		recs := []Record{
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
		Count(0):                   "0",
		Count(914_145):             "914,145",
		Capacity(100, Objects):     "100",
		Capacity(186_880, Objects): "186,880",
		Capacity(512, Bytes):       "512 B",
		Capacity(64<<20, Bytes):    "64 MiB",
		Capacity(1536, Bytes):      "1.5 KiB",
		Capacity(5_032_001, Bytes): "4.799 MiB",
		Capacity(1<<62, Bytes):     "4 EiB",
		Share(0.01):                "1%",
		Share(0.125):               "12.5%",
		Share(489.0 / 48_974):      "1%",
		Share(250.0 / 186_880):     "0.13%",
		Share(0.0000123):           "0.0012%",
		Share(2):                   "200%",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCheckDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	must.Do(t, CheckDir(dir))
	must.Do(t, os.Mkdir(dir, 0o755)) // the check has not
	must.Do(t, CheckDir(dir))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the folder holds %v (%v)", entries, err)
	}
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o644))
	must.Fail(t, CheckDir(file), "is a file, want a folder")
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
