package sim_test

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/statistics"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	_ "github.com/cachesim/cachesim/internal/sim/all"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// The files of testdata/authors have counts that programs of an algorithm's authors printed, or programs that others
// take for the reference, one file per program. Lines that start with # come first and say which program it is, with
// its repository, its commit, and how it was run. Then a header and rows follow, with tabs in between:
//
//	policy         ours: "lru-k"
//	parameters     ours that give the program's rules: "k=3", may be empty
//	trace          a file below CACHESIM_TRACES, whose rows are skipped where that is not set; or a generator with its
//	               parameters and seed, "zipf(requests=9,seed=1)"
//	capacity       of the cache
//	requests, hits what the program counted
//
// Further columns are optional, and so are their values:
//
//	capacity_unit  "objects", which is the default, or "bytes"
//	cache, predictor, prefetcher, allocator, model
//	               ours, with their parameters
//	limit          how many requests of the trace the program read, if not all
//	format         of a file that is not recognised
//	tenants        how the requests have tenants, as --tenants takes it
//	seeds          of a program that draws at random: how often it ran; every other count is then a mean
//	seed           of our choices, where a program without any was given what our predictor drew with it
//	deviation      the standard deviation of hits from run to run
//	band           by how many hits ours may differ in addition; the comments say why
//
// Any other column has the name of one of our metrics, such as prefetches, and what the program counted of it.
// Programs without random choices must be met to the last digit.

// authorsColumns are the columns that are not counts.
var authorsColumns = []string{"policy", "parameters", "trace", "capacity", "capacity_unit", "limit", "format",
	"tenants", "seed", "seeds", "deviation", "band"}

// ourSeeds is over how many seeds ours runs, where a program draws at random.
const ourSeeds = 5

func TestAuthorsPrograms(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "authors", "*.tsv"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files with counts of the authors' programs: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".tsv"), func(t *testing.T) {
			t.Parallel()
			checkSaysItsSource(t, file)
			rows := simtest.ReadTable(t, file)
			groups := byTrace(rows)
			for _, of := range groups[:brief.Of(len(groups), 1)] { // -short replays the first trace of each program
				t.Run(of[0]["trace"], func(t *testing.T) { holdToProgram(t, of) })
			}
		})
	}
}

// checkSaysItsSource demands comments that say which version of which program printed the counts.
func checkSaysItsSource(t *testing.T, file string) {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	for _, word := range []string{"program:", "repository:", "commit:"} {
		if !strings.Contains(string(text), "# "+word) {
			t.Errorf("%s: no comment %q, which says where its counts come from", file, "# "+word)
		}
	}
}

// byTrace groups rows that replay the same requests, in the order of the first of each.
func byTrace(rows []map[string]string) (groups [][]map[string]string) {
	key := func(row map[string]string) string {
		return strings.Join([]string{row["trace"], row["limit"], row["format"], row["tenants"]}, "|")
	}
	at := map[string]int{}
	for _, row := range rows {
		if _, ok := at[key(row)]; !ok {
			at[key(row)] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[key(row)]] = append(groups[at[key(row)]], row)
	}
	return groups
}

// holdToProgram replays rows of one trace.
func holdToProgram(t *testing.T, rows []map[string]string) {
	var cells []sim.Cell
	var all []sim.Parts
	bytes := false
	for _, row := range rows {
		c := authorsCell(t, row)
		cells, all, bytes = append(cells, c), append(all, c.Parts), bytes || c.Capacity.Bytes
	}
	r := sim.NewReplayer(authorsTrace(t, rows[0], sim.Needs(all, bytes)), sim.ReplayerOptions{})
	for i, row := range rows {
		checkCounts(t, r, cells[i], row)
	}
}

func authorsCell(t *testing.T, row map[string]string) (c sim.Cell) {
	t.Helper()
	c.Policy = must.Get(policies.Registry.Parse(row["policy"] + "(" + row["parameters"] + ")"))(t)
	for _, kind := range sim.Kinds {
		text := row[kind.Name]
		if kind == sim.CacheKind {
			text = cmp.Or(text, "exact")
		}
		if text == "" {
			continue
		}
		must.Get(kind.Parse(text))(t).Into(&c.Parts)
	}
	switch row["capacity_unit"] {
	case "", "objects", "bytes":
	default:
		t.Fatalf("capacity unit %q", row["capacity_unit"])
	}
	c.Capacity = capacity.Of(parseInt(t, row["capacity"]), row["capacity_unit"] == "bytes")
	return c
}

// authorsTrace loads or generates the trace of a row, or skips the test.
func authorsTrace(t *testing.T, row map[string]string, needs traces.Needs) *traces.Trace {
	t.Helper()
	var w workload.Workload
	if workload.IsGenerator(row["trace"]) {
		w = must.Get(workload.Generated(row["trace"], 0))(t)
	} else {
		traceDir, _ := simtest.ReferenceFolders(t)
		w.Files = []string{filepath.Join(traceDir, filepath.FromSlash(row["trace"]))}
	}
	w.Format, w.Tenants = row["format"], row["tenants"]
	if row["limit"] != "" {
		w.Limit = int(parseInt(t, row["limit"]))
	}
	return must.Get(w.Load(t.Context(), nil, read.Options{Needs: needs}))(t)
}

// checkCounts compares each count of a row with that of our cell.
func checkCounts(t *testing.T, r *sim.Replayer, c sim.Cell, row map[string]string) {
	t.Helper()
	first, seeds := uint64(0), 1
	switch {
	case row["seeds"] != "":
		seeds = ourSeeds
	case row["seed"] != "":
		first = uint64(parseInt(t, row["seed"]))
	case c.Random():
		t.Fatalf("%s draws at random: how often did the program run, and with which deviation?", c.Policy)
	}
	counts := map[string][]float64{}
	for seed := range seeds {
		c.Seed = first + uint64(seed)
		rec := simtest.Replay(t, r, c)
		for _, column := range countColumns(row) {
			x, ok := rec.Get(column)
			if !ok {
				t.Fatalf("%s: no metric %q; the columns that are none are %s and the kinds of parts", c.Policy, column,
					strings.Join(authorsColumns, ", "))
			}
			counts[column] = append(counts[column], x)
		}
	}
	for _, column := range countColumns(row) {
		want, permitted := parseFloat(t, row[column]), 0.0
		if column == metric.Hits.Name {
			permitted = permittedHits(t, row)
		}
		if got := statistics.Mean(counts[column]); math.Abs(got-want) > permitted {
			t.Errorf("%s at %s: %s %g, the authors' program %g, difference %+g, permitted %.5g", c.Policy, row["capacity"],
				column, got, want, got-want, permitted)
		}
	}
}

// countColumns returns the columns of a row that have counts, which are those with the names of metrics.
func countColumns(row map[string]string) (columns []string) {
	for column, text := range row {
		part := slices.ContainsFunc(sim.Kinds, func(k *sim.Kind) bool { return k.Name == column })
		if text != "" && !part && !slices.Contains(authorsColumns, column) {
			columns = append(columns, column)
		}
	}
	slices.Sort(columns)
	return columns
}

// permittedHits returns by how much hits may differ: not at all, or by what the means of two samples with the program's
// deviation differ once in a thousand times (Student's t, the deviation being an estimate).
func permittedHits(t *testing.T, row map[string]string) (permitted float64) {
	t.Helper()
	if row["band"] != "" {
		permitted = parseFloat(t, row["band"])
	}
	if row["seeds"] == "" {
		return permitted
	}
	seeds, deviation := parseFloat(t, row["seeds"]), parseFloat(t, row["deviation"])
	if seeds < 3 {
		t.Fatalf("%g seeds say nothing about the deviation: at least 3", seeds)
	}
	spread := statistics.StudentQuantile(0.9995, seeds-1) * deviation * math.Sqrt(1/seeds+1.0/ourSeeds)
	return permitted + max(spread, 1)
}

func parseFloat(t *testing.T, text string) float64 {
	t.Helper()
	return must.Get(strconv.ParseFloat(text, 64))(t)
}
