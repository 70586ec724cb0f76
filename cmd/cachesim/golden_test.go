package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGoldenDemo holds the records of every policy on the demo trace, by objects and by bytes, to those in testdata/golden. A
// number that moves there is a policy that changed its decisions. `cachesim check` replays the same files: they are baselines.
func TestGoldenDemo(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	trace := filepath.Join("testdata", "demo.oracleGeneral.zst")
	for _, test := range []struct {
		name string
		args []string
	}{
		{"demo-objects", []string{"--policy", everyPolicy(t, records.Objects), "--capacity", "1%,10%"}},
		{"demo-bytes", []string{"--policy", everyPolicy(t, records.Bytes), "--capacity", "1%,10%", "--bytes"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := runForRecords(t, append([]string{"run", trace}, test.args...))
			golden := filepath.Join("testdata", "golden", test.name+".jsonl")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			compareLines(t, got, want)
		})
	}
}

// TestCheckFindsOneMiss makes sure that what CI does with the golden records would find the smallest change.
func TestCheckFindsOneMiss(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	golden := filepath.Join("testdata", "golden", "demo-objects.jsonl")
	recs, err := records.Read(golden, nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(path string) (code int, stdout, stderr string) {
		var out, errors bytes.Buffer
		code = run([]string{"check", path}, nil, &out, &errors)
		return code, out.String(), errors.String()
	}
	if code, stdout, stderr := check(golden); code != exitFine || stderr != "" {
		t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	r := &recs[len(recs)/2]
	r.Hits, r.Misses = r.Hits+1, r.Misses-1
	r.HitRatio = float64(r.Hits) / float64(r.Requests)
	dir := t.TempDir()
	if err := records.Write(dir, recs); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := check(dir)
	if code != exitCheckFailed || stderr != "cachesim: the check failed: 1 moved\n" {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if !strings.Contains(stdout, r.Label) || !strings.Contains(stdout, "−0.0009") || !strings.Contains(stdout, "+1\n") {
		t.Errorf("%s is not said to have one miss more:\n%s", r.Label, stdout)
	}
}

// everyPolicy lists all policies that work in that unit of capacity.
func everyPolicy(t *testing.T, unit string) string {
	t.Helper()
	var list []byte
	for _, e := range policies.All() {
		if e.Predicts || unit == records.Bytes && e.Units == policies.UnitsObjects || unit == records.Objects && e.Units == policies.UnitsBytes {
			continue
		}
		list = append(append(list, e.Name...), ',')
	}
	return string(bytes.TrimSuffix(list, []byte(",")))
}

// runForRecords runs the program and returns its records without what changes from run to run.
func runForRecords(t *testing.T, args []string) []byte {
	t.Helper()
	var out, errors bytes.Buffer
	if code := run(append(args, "--format", "json"), nil, &out, &errors); code != exitFine {
		t.Fatalf("exit code %d: %s", code, errors.String())
	}
	recs, err := records.Read("-", &out)
	if err != nil {
		t.Fatal(err)
	}
	for i := range recs {
		recs[i].NsPerRequest, recs[i].Version = nil, ""
	}
	var normal bytes.Buffer
	if err := records.EncodeJSON(&normal, recs); err != nil {
		t.Fatal(err)
	}
	return normal.Bytes()
}

func compareLines(t *testing.T, got, want []byte) {
	t.Helper()
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	if len(g) != len(w) {
		t.Errorf("%d records, golden %d", len(g), len(w))
	}
	for i := range min(len(g), len(w)) {
		if !bytes.Equal(g[i], w[i]) {
			t.Errorf("record %d\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	if t.Failed() {
		t.Log("where the change is meant: go test ./cmd/cachesim -run Golden -update")
	}
}
