package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/workload"
)

// sample is a small experiment with one record missing.
func sample() Input {
	in := Input{
		File: &experiment.File{
			Name: "sample", Title: "A <script>alert(1)</script> title", Source: "Doe & Roe 2003, Fig. 1", About: "Short traces.",
			Cache: "exact", Seeds: experiment.Seeds{0}, Metrics: []string{"hit_ratio", "misses"},
		},
		Version: "1.2.3", Command: "cachesim sweep sample -o out",
	}
	for i, label := range []string{"lru", "arc", "opt"} {
		cell := experiment.Cell{
			Number: i, Hash: label, Label: label, Policy: label, Capacity: "10%",
			Workload: workload.Workload{Name: "demo", Files: []string{"demo.zst"}, Checksum: "sha256:abcdef"},
		}
		in.Cells = append(in.Cells, cell)
		if label == "arc" {
			in.Missing = append(in.Missing, cell)
			continue
		}
		in.Records = append(in.Records, records.Record{
			Trace: "demo", TraceChecksum: "sha256:abcdef", Policy: label, Label: label, Kind: "online", Cell: label,
			Capacity: 100, CapacityUnit: records.Objects, CapacityText: "10%", CapacityShare: new(0.1),
			Requests: 4000, Hits: 1000 + int64(i), Misses: 3000 - int64(i), HitRatio: 0.25, SampleRate: 1,
		})
	}
	return in
}

// writeSample returns the page of an experiment.
func writeSample(t *testing.T, in Input) (string, Summary) {
	t.Helper()
	dir := t.TempDir()
	summary, err := Write(dir, in)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, PageName))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), summary
}

func TestPageShowsTheExperiment(t *testing.T) {
	page, summary := writeSample(t, sample())
	for _, want := range []string{
		"Doe &amp; Roe 2003, Fig. 1", "Short traces.", "abcdef", "1,000", "4,000", "10% (100)", "25.00%", "3,000", "1 of 3 cells",
		"cachesim 1.2.3", "cachesim sweep sample -o out",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	if summary.Cells != 3 || summary.Missing != 1 {
		t.Errorf("summary: %d cells, %d missing, want 3 and 1", summary.Cells, summary.Missing)
	}
}

func TestPageEscapes(t *testing.T) {
	page, _ := writeSample(t, sample())
	if strings.Contains(page, "<script") {
		t.Error("a title became a script")
	}
}

func TestPageIsDeterministic(t *testing.T) {
	a, _ := writeSample(t, sample())
	b, _ := writeSample(t, sample())
	if !bytes.Equal([]byte(a), []byte(b)) {
		t.Error("the same input gave two pages")
	}
}
