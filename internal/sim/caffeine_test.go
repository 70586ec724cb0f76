package sim_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// caffeine maps the policies of Caffeine's simulator to ours: with the same rules the hits must be equal, by objects
// and by bytes.
var caffeine = map[string]string{
	"opt.Clairvoyant":          "opt-bypass",
	"opt.Unbounded":            "infinite",
	"linked.Lru":               "lru",
	"linked.Fifo":              "fifo",
	"linked.Mru":               "mru",
	"linked.Lfu":               "lfu",
	"linked.MultiQueue":        "mq(lifetime=75,ghost=0.5)",
	"linked.Sieve":             "sieve",
	"linked.Clock":             "clock(rule=caffeine)",
	"linked.SegmentedLru":      "slru(protected=0.8,rule=caffeine)",
	"linked.S4Lru":             "slru(segments=4,rule=caffeine)",
	"two-queue.TwoQueue":       "2q",
	"two-queue.S3Fifo":         "s3fifo(rule=caffeine)",
	"adaptive.Arc":             "arc(int=true)",
	"adaptive.Car":             "car(int=true)",
	"adaptive.Cart":            "cart(int=true)",
	"irr.ClockPro":             "clock-pro",
	"irr.ClockProPlus":         "clock-pro-plus",
	"irr.DClock (active: 50%)": "dclock",
	"irr.DClock (active: 99%)": "dclock(active=0.99)",
	"irr.Frd":                  "frd",
	"two-queue.TuQueue":        "tuqueue",
	"irr.Lirs":                 "lirs(nonresident=2,rule=caffeine)",
	"irr.Lirs2":                "lirs2",
	"greedy-dual.Camp":         "camp",
	"greedy-dual.GDWheel":      "gdwheel(cost=one)",
	"greedy-dual.Gdsf":         "gdsf(rule=caffeine)",
}

// caffeineNear are policies of both that draw at random: the mean hit ratio of ours over five seeds may differ by so
// much. docs/references.md has what was measured.
var caffeineNear = map[string]comparison{
	"adaptive.Cacheus":          {ours: "cacheus", band: 0.012},
	"sketch.WindowTinyLfu (1%)": {ours: "w-tinylfu(rule=simulator)", band: 0.03},
	"linked.Lru_TinyLfu": {ours: "tinylfu(rule=simulator)", band: 0.015,
		on: map[string]float64{"lirs-loop.trace.gz": 0.11}},
}

// caffeineOthers are the prefixes and suffixes of the names of policies that are not compared, and why.
var caffeineOthers = []struct{ prefix, suffix, why string }{
	{"product.", "", "libraries, most of which vary from run to run"},
	{"", "_Clairvoyant", "our policies have no admission by knowledge of the future"},
	{"", "_TinyLfu", "admission by a sketch with another hash, before policies other than LRU"},
	{"sampled.", "", "samples with Java's random numbers"},
	{"sketch.", "", "a sketch with another hash"},
	{"linked.Mfu", "", "not among ours"},

	{"irr.", "", "ClockProSimple, FRD that adapts: not among ours"},
}

// TestCaffeine replays the traces on which Caffeine's simulator printed its hits.
func TestCaffeine(t *testing.T) {
	traceDir, numberDir := simtest.ReferenceFolders(t)
	byTrace := map[string][]map[string]string{}
	for _, row := range simtest.ReadTable(t, filepath.Join(numberDir, "caffeine-simulator.tsv")) {
		if caffeineCompares(t, row["policy"]) {
			byTrace[row["trace"]] = append(byTrace[row["trace"]], row)
		}
	}
	for name, rows := range byTrace {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := caffeineTrace(t, traceDir, name)
			for _, row := range rows {
				checkCaffeine(t, tr, row)
			}
		})
	}
}

// caffeineCompares reports whether a policy is compared. A policy that nothing is said about is an error.
func caffeineCompares(t *testing.T, policy string) bool {
	t.Helper()
	if caffeine[policy] != "" || caffeineNear[policy].ours != "" {
		return true
	}
	for _, other := range caffeineOthers {
		if strings.HasPrefix(policy, other.prefix) && strings.HasSuffix(policy, other.suffix) {
			return false
		}
	}
	t.Errorf("%s: neither compared nor among those that are not", policy)
	return false
}

// checkCaffeine compares the hits of one row with ours.
func checkCaffeine(t *testing.T, tr *traces.Trace, row map[string]string) {
	t.Helper()
	size := capacity.Of(parseInt(t, row["capacity"]), row["capacity_unit"] == "bytes")
	want := parseInt(t, row["hits"])
	if ours := caffeine[row["policy"]]; ours != "" {
		if rec := replayOne(t, tr, ours, size); rec.Int(metric.Hits) != want {
			t.Errorf("%s at %s: %d hits, Caffeine's %s %d", ours, size, rec.Int(metric.Hits), row["policy"], want)
		}
		return
	}
	near := caffeineNear[row["policy"]]
	hits := 0.0
	const seeds = 5
	for seed := range seeds {
		hits += float64(replaySeeded(t, tr, near.ours, size, uint64(seed)).Int(metric.Hits)) / seeds
	}
	difference := (hits - float64(want)) / float64(len(tr.Objects))
	t.Logf("%s at %s: %+.2f points", row["policy"], size, 100*difference)
	if math.Abs(difference) > near.bandAt(size.Amount, row["trace"]) {
		t.Errorf("%s at %s: %.0f hits, Caffeine's %s %d, difference %+.4f of the requests, permitted %v", near.ours,
			size, hits, row["policy"], want, difference, near.bandAt(size.Amount, row["trace"]))
	}
}

// caffeineTrace loads a trace, in whichever folder it is.
func caffeineTrace(t *testing.T, dir, name string) *traces.Trace {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", name))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%s in the folders of %s: %q, %v", name, dir, paths, err)
	}
	tr, err := read.Load(t.Context(), paths, read.Options{Needs: traces.Needs{Sizes: true, Keys: true}})
	must.Do(t, err)
	return tr
}
