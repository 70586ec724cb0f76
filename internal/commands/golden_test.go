package commands

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/records"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGoldenDemo compares every policy's results on the demo trace, by objects and by bytes, with the lines in
// testdata/golden. Policies that use a predictor get one that is sometimes wrong, so that their reaction shows. Queries
// that can answer each other are generated. If a number changes, a policy or a predictor has changed its decisions.
func TestGoldenDemo(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	trace := filepath.Join("testdata", "demo.oracleGeneral.zst")
	type golden struct {
		name string
		args []string
	}
	for _, test := range []golden{
		{"demo-objects", []string{trace, "--policy", everyPolicy(records.Objects), "--capacity", "1%,10%"}},
		{"demo-predictions", []string{trace, "--policy", everyPredicting(), "--predictor", "noisy(p=0.3)",
			"--capacity", "1%,10%"}},
		{"demo-bytes", []string{trace, "--policy", everyPolicy(records.Bytes), "--capacity", "1%,10%", "--bytes"}},
		{"dialogue-semantic", []string{"dialogue(requests=2000,topics=30,dim=64,capacity=100)",
			"--cache", "semantic,semantic(tau=0.6)", "--policy", everySemantic(), "--capacity", "3%,12%"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "demo-bytes" && !*update {
				brief.Long(t, "replays the same trace again")
			}
			got := linesOf(runForRecords(t, append([]string{"run"}, test.args...)))
			golden := filepath.Join("testdata", "golden", test.name+".txt")
			if *update {
				must.Do(t, os.WriteFile(golden, got, 0o644))
			}
			want := must.Get(os.ReadFile(golden))(t)
			compareLines(t, got, want)
		})
	}
}

// TestCheckFindsOneMiss makes sure that CI's check of testdata/baseline would notice the smallest change.
func TestCheckFindsOneMiss(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	baseline := filepath.Join("testdata", "baseline", "demo-objects.parquet")
	recs := must.Get(records.Read(baseline, nil))(t)
	check := func(path string) (code int, stdout, stderr string) {
		var out, errors bytes.Buffer
		code = run([]string{"check", path, "--quiet"}, nil, &out, &errors)
		return code, out.String(), errors.String()
	}
	r := &recs[len(recs)/2]
	r.SetInt(metric.Hits, r.Int(metric.Hits)+1)
	r.SetInt(metric.Misses, r.Int(metric.Misses)-1)
	r.Set(metric.HitRatio, float64(r.Int(metric.Hits))/float64(r.Int(metric.Requests)))
	dir := t.TempDir()
	must.Do(t, records.Write(dir, recs))
	code, stdout, stderr := check(dir)
	if code != exitCheckFailed || stderr != "cachesim: the check failed: 1 moved\n" {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if !strings.Contains(stdout, r.Label) || !strings.Contains(stdout, "−0.0009") || !strings.Contains(stdout, "+1\n") {
		t.Errorf("%s is not said to have one miss more:\n%s", r.Label, stdout)
	}
}

// everyPolicy lists all policies that use no predictor and support the given unit of capacity.
func everyPolicy(unit string) string {
	other := map[string]policies.Units{records.Bytes: policies.UnitsObjects, records.Objects: policies.UnitsBytes}[unit]
	return policiesWith(func(e policies.Entry) bool {
		return !policies.Can[policies.PredictorUser](e) && !e.Prompts && !e.ShortInside && e.Units != other
	})
}

// everyPredicting lists all policies that use a predictor.
func everyPredicting() string {
	return policiesWith(func(e policies.Entry) bool { return policies.Can[policies.PredictorUser](e) })
}

// everySemantic lists all policies that support caches in which similar queries answer each other.
func everySemantic() string {
	return policiesWith(func(e policies.Entry) bool {
		return !policies.Can[policies.PredictorUser](e) && e.ShortFor == nil && e.Units != policies.UnitsBytes &&
			(e.Kind == policies.Online || e.Similar)
	})
}

func policiesWith(property func(policies.Entry) bool) string {
	var names []string
	for _, e := range policytest.Ready() {
		if property(e) && !policies.Can[policies.HeadServer](e) {
			names = append(names, e.Name)
		}
	}
	return strings.Join(names, ",")
}

func runForRecords(t *testing.T, args []string) []records.Record {
	t.Helper()
	var out, errors bytes.Buffer
	if code := run(append(args, "--format", "json"), nil, &out, &errors); code != exitFine {
		t.Fatalf("exit code %d: %s", code, errors.String())
	}
	return must.Get(records.Read("-", &out))(t)
}

// linesOf writes a short line per record: what was replayed, a star for the best policy, and the results with all
// digits.
func linesOf(recs []records.Record) []byte {
	var lines bytes.Buffer
	for i := range recs {
		r := &recs[i]
		what := []string{r.CapacityText, r.Label}
		if r.Cache != "exact" {
			what = append(what, r.Cache)
		}
		if r.Predictor != "" {
			what = append(what, r.Predictor)
		}
		if r.Best {
			what = append(what, "*")
		}
		for _, name := range namesInLines() {
			if x, ok := r.Metric(name); ok && !impliedByOthers(name) && (x != 0 || name != "oversized") {
				what = append(what, name+"="+strconv.FormatFloat(x, 'f', -1, 64))
			}
		}
		if r.Optimum != "" {
			what = append(what, "optimum="+r.Optimum)
		}
		fmt.Fprintln(&lines, strings.Join(what, " "))
	}
	return lines.Bytes()
}

// namesInLines lists the names of all metrics: first the metrics of every record, then the others in alphabetical
// order, independent of the order in which parts declare them.
func namesInLines() (names []string) {
	for _, m := range metric.Always {
		names = append(names, m.Name)
	}
	for _, name := range slices.Sorted(slices.Values(metric.Names())) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// impliedByOthers reports whether a metric follows from others or depends on the machine.
func impliedByOthers(name string) bool {
	m, _ := metric.Lookup(name)
	isQuotient := strings.Contains(m.Merge.String(), " / ")
	return m.Unit == metric.Nanoseconds || isQuotient || slices.Contains([]string{"misses", "hit_ratio"}, name)
}

// compareLines compares lines in any order: a policy more, wherever it is in the list, is only its own lines more.
func compareLines(t *testing.T, got, want []byte) {
	t.Helper()
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	if len(g) != len(w) {
		t.Errorf("%d records, golden %d", len(g), len(w))
	}
	only := func(here, there []string, where string) {
		for _, line := range here {
			if !slices.Contains(there, line) {
				t.Errorf("only %s: %s", where, line)
			}
		}
	}
	only(g, w, "computed")
	only(w, g, "golden")
	if t.Failed() {
		t.Log("where the change is meant: go test ./internal/commands -run Golden -update")
	}
}
