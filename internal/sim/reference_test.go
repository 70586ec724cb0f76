package sim

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces"
)

// These tests hold our results against numbers that other programs printed or published on real traces. Neither traces nor
// numbers are part of the repository: CACHESIM_TRACES names the folder of the traces, and the numbers lie in ../reference
// beside it. docs/references.md explains every band that is not 0.

// referenceDirs returns the folders of the traces and of the numbers, or skips the test.
func referenceDirs(t *testing.T) (traceDir, numberDir string) {
	t.Helper()
	traceDir = os.Getenv("CACHESIM_TRACES")
	if traceDir == "" {
		t.Skip("CACHESIM_TRACES is not set: no real traces to compare on")
	}
	numberDir = filepath.Join(traceDir, "..", "reference")
	if _, err := os.Stat(numberDir); err != nil {
		t.Skipf("no reference numbers beside the traces: %v", err)
	}
	return traceDir, numberDir
}

// readTSV returns the rows of a table with a header line, as maps from column to text.
func readTSV(t *testing.T, path string) []map[string]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.Comma, r.Comment, r.LazyQuotes, r.FieldsPerRecord = '\t', '#', true, -1
	header, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		row := map[string]string{}
		for i, f := range fields {
			row[header[i]] = f
		}
		rows = append(rows, row)
	}
}

// traceCache loads each trace once for all comparisons.
type traceCache struct {
	dir    string
	loaded sync.Map // file name -> *traces.Trace
}

func (c *traceCache) get(t *testing.T, name string) *traces.Trace {
	t.Helper()
	if tr, ok := c.loaded.Load(name); ok {
		return tr.(*traces.Trace)
	}
	tr, err := traces.Load(t.Context(), []string{filepath.Join(c.dir, "block", name)}, traces.LoadOptions{Sizes: true})
	if err != nil {
		t.Fatal(err)
	}
	c.loaded.Store(name, tr)
	return tr
}

// replayOne runs one policy at one capacity.
func replayOne(t *testing.T, tr *traces.Trace, policy string, capacity Capacity) records.Record {
	t.Helper()
	spec, err := policies.ParseSpec(policy)
	if err != nil {
		t.Fatal(err)
	}
	recs, err := Run(t.Context(), tr, RunOptions{Policies: []policies.Spec{spec}, Capacities: []Capacity{capacity}})
	if err != nil {
		t.Fatal(err)
	}
	return recs[0]
}

// comparison says which of our policies plays the part of a reference's, and how far apart they may be.
type comparison struct {
	ours string
	band float64 // permitted difference in hit ratio; 0: the counts must be equal
}

// libCacheSimObjects are the comparisons with libCacheSim where capacities count objects.
var libCacheSimObjects = map[string]comparison{
	"LRU":                 {"lru", 0},
	"FIFO":                {"fifo", 0},
	"Clock":               {"clock", 0},
	"Clock-2":             {"clock(bits=2)", 0},
	"Sieve":               {"sieve", 0},
	"LFU":                 {"lfu", 0},
	"Belady":              {"opt", 0},
	"S3FIFO-0.1000-2":     {"s3fifo", 0},
	"ARC":                 {"arc", 0},
	"TwoQ":                {"2q", 0},
	"S2LRU(50:50)":        {"slru(segments=2)", 0},
	"S4LRU(25:25:25:25)":  {"slru(segments=4)", 0},
	"BeladySize":          {"belady-size", 0.005},
	"Random":              {"random", 0.01},
	"LIRS":                {"lirs", 0.02},
	"GDSF":                {"gdsf", 0.03},
	"Hyperbolic":          {"hyperbolic", 0.03},
	"LHD":                 {"lhd", 0.03},
	"LeCaR":               {"lecar", 0.03},
	"Cacheus":             {"cacheus", 0.10},
	"WTinyLFU-w0.01-SLRU": {"w-tinylfu", 0.05},
}

// libCacheSimBytes are the comparisons where capacities count bytes.
var libCacheSimBytes = map[string]comparison{
	"LRU":        {"lru", 0},
	"FIFO":       {"fifo", 0},
	"Clock":      {"clock", 0},
	"Clock-2":    {"clock(bits=2)", 0},
	"Sieve":      {"sieve", 0},
	"LFU":        {"lfu", 0},
	"Belady":     {"opt", 0},
	"BeladySize": {"belady-size", 0.01},
}

func TestLibCacheSim(t *testing.T) {
	traceDir, numberDir := referenceDirs(t)
	cache := &traceCache{dir: traceDir}
	for _, row := range readTSV(t, filepath.Join(numberDir, "libcachesim-cloudphysics.tsv")) {
		table, capacity := libCacheSimObjects, Capacity{}
		if row["config"] == "og-byte" {
			table, capacity.Bytes = libCacheSimBytes, true
		}
		c, ok := table[row["algorithm"]]
		if !ok {
			continue
		}
		capacity.Amount = parseInt(t, row["capacity"])
		capacity.Simulated = capacity.Amount
		t.Run(fmt.Sprintf("%s/%s/%s", row["config"], row["algorithm"], row["capacity"]), func(t *testing.T) {
			rec := replayOne(t, cache.get(t, "cloudPhysicsIO.oracleGeneral.bin.zst"), c.ours, capacity)
			misses := parseInt(t, row["misses"])
			checkMisses(t, rec, misses, c.band)
			if capacity.Bytes && c.band == 0 {
				if got, want := *rec.Bytes-*rec.HitBytes, parseInt(t, row["miss_bytes"]); got != want {
					t.Errorf("missed bytes %d, libCacheSim %d", got, want)
				}
			}
		})
	}
}

// checkMisses compares counts, exactly or within a band of the hit ratio.
func checkMisses(t *testing.T, rec records.Record, want int64, band float64) {
	t.Helper()
	difference := float64(rec.Misses-want) / float64(rec.Requests)
	t.Logf("misses %d, reference %d (%+.2f%% of the requests)", rec.Misses, want, 100*difference)
	if band == 0 && rec.Misses != want || math.Abs(difference) > band {
		t.Errorf("%s at %d %s: misses %d, reference %d, difference %+.4f of the requests, permitted %v",
			rec.Label, rec.Capacity, rec.CapacityUnit, rec.Misses, want, difference, band)
	}
}

// published maps the policies of hit-ratios-published.tsv, by name and kind, to ours.
var published = map[[2]string]comparison{
	{"LRU", "published"}:                        {"lru", 0},
	{"LRU", "run of third-party library"}:       {"lru", 0},
	{"OPT (bypass)", "published"}:               {"opt-bypass", 0},
	{"ARC", "published"}:                        {"arc(int=true)", 0},
	{"SIEVE", "run of third-party library"}:     {"sieve", 0},
	{"LIRS", "run of the authors' code"}:        {"lirs(stack=2500)", 0},
	{"W-TinyLFU (Caffeine ~2020)", "published"}: {"w-tinylfu", 0.05},
}

func TestPublishedHitRatios(t *testing.T) {
	traceDir, numberDir := referenceDirs(t)
	cache := &traceCache{dir: traceDir}
	for _, row := range readTSV(t, filepath.Join(numberDir, "hit-ratios-published.tsv")) {
		c, ok := published[[2]string{row["policy"], row["kind"]}]
		if !ok {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s/%s/%s", row["trace"], row["policy"], row["cache_size"], row["kind"]), func(t *testing.T) {
			size := parseInt(t, row["cache_size"])
			rec := replayOne(t, cache.get(t, row["trace"]), c.ours, Capacity{Amount: size, Simulated: size})
			if row["hits"] != "" {
				checkMisses(t, rec, rec.Requests-parseInt(t, row["hits"]), c.band)
				return
			}
			checkPrinted(t, rec, row["hit_ratio_pct"], c.band)
		})
	}
}

// checkPrinted compares with a percentage to the last printed digit, or within a band of the hit ratio.
func checkPrinted(t *testing.T, rec records.Record, printed string, band float64) {
	t.Helper()
	want, err := strconv.ParseFloat(printed, 64)
	if err != nil {
		t.Fatal(err)
	}
	got := 100 * rec.HitRatio
	t.Logf("hit ratio %.4f%%, reference %s%%", got, printed)
	// Half a unit of the second decimal; the addition is for numbers that lie on the border.
	tolerance := 0.005 + 1e-9
	if band > 0 {
		tolerance = 100 * band
	}
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s at %d: hit ratio %.4f%%, reference %s%%, permitted difference %v", rec.Label, rec.Capacity, got, printed, tolerance)
	}
}

func parseInt(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
