package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestMeasuredTables runs the commands behind tables of the documentation, and compares every number with the page. It
// replays published traces only where CACHESIM_TRACES names the folder that has them.
func TestMeasuredTables(t *testing.T) {
	brief.Long(t, "replays for some seconds")
	onlyOnce(t)
	t.Run("igtcache.md, generated", func(t *testing.T) {
		t.Parallel()
		table := measuredTable(t, "igtcache.md", "| policy | cluster, 10% |")
		table.compareRows(t, 1, replayed{trace: []string{"cluster(scale=0.01)", "--bytes"}, capacities: "10%,35%"})
	})
	t.Run("igtcache.md, dlio-unet3d", func(t *testing.T) {
		t.Parallel()
		table := measuredTable(t, "igtcache.md", "| policy | cluster, 10% |")
		trace := append(tracesOf(t, "files/dlio-unet3d/*.pfw.gz"), "--merge", "--bytes")
		table.compareRows(t, 3, replayed{trace: trace, capacities: "10%,50%"})
	})
	t.Run("prefetchers.md, dlio-unet3d", func(t *testing.T) {
		t.Parallel()
		table := measuredTable(t, "prefetchers.md", "| capacity | `none` | `igt` |")
		for column, prefetcher := range table.head[1:] {
			r := replayed{trace: append(tracesOf(t, "files/dlio-unet3d/*.pfw.gz"), "--bytes"), capacities: "5%,20%,85%",
				flags: []string{"--prefetch", prefetcher}}
			for row, rec := range r.records(t, "lru") {
				table.compare(t, row, column+1, fmt.Sprintf("%.1f%%", 100*rec.HitRatio))
			}
		}
	})
	t.Run("prefetchers.md, cloudPhysicsIO", func(t *testing.T) {
		t.Parallel()
		table := measuredTable(t, "prefetchers.md", "| | 128 MiB | 256 MiB |")
		for row, prefetcher := range map[string]string{
			"LRU": "none", "next": "next(after=4,size=512)", "mithril": "mithril(recording=262144,table=262144)",
		} {
			r := replayed{
				trace:      append(tracesOf(t, "block/cloudPhysicsIO.oracleGeneral.bin.zst"), "--bytes"),
				capacities: "128MiB,256MiB,384MiB,512MiB,640MiB,768MiB,896MiB,1GiB",
				flags:      []string{"--prefetch", prefetcher},
			}
			for i, rec := range r.records(t, "lru") {
				table.compare(t, table.row(t, row), i+1, fmt.Sprint(rec.Misses))
			}
		}
	})
	t.Run("prompts.md, costs of tiers", func(t *testing.T) {
		t.Parallel()
		table := measuredTable(t, "prompts.md", "| 40 GiB in the GPUs and |")
		of := map[string]string{"host": ",host=3.20/GiB-month", "ssd": ",ssd=0.10/GiB-month,ssd-write=0.09/TB"}
		for row, cache := range []string{"prefix", "tiers(host=400GiB)", "tiers(host=4TiB)", "tiers(host=400GiB,ssd=1TiB)",
			"tiers(host=400GiB,ssd=4TiB)", "tiers(host=400GiB,ssd=16TiB)"} {
			prices := "hbm=20 EUR/GiB-month,miss=1024/M"
			for tier, price := range of {
				if strings.Contains(cache, tier) {
					prices += price
				}
			}
			r := replayed{trace: tracesOf(t, "llm/mooncake-conversation.jsonl.zst"), capacities: "40GiB",
				flags: []string{"--kv", "model=llama-3.1-70b", "--cache", cache, "--cost", prices}}
			both := r.records(t, "no-cache", "lru")
			for i, row := range []int{6, row} { // no cache costs the same beside each
				table.compare(t, row, 1, fmt.Sprintf("%.2f%%", 100*both[i].HitRatio))
				table.compare(t, row, 7, show.Count(int64(math.Round(both[i].Cost))))
			}
		}
	})
	t.Run("admissions.md, flash", func(t *testing.T) {
		t.Parallel()
		table := measuredTable(t, "admissions.md", "| trace | admission |")
		file := ""
		for row, cells := range table.cells {
			if cells[0] != "" {
				file = cells[0]
			}
			r := replayed{trace: append(tracesOf(t, "block/"+file+".*"), "--bytes"), capacities: "1%",
				flags: []string{"--cache", "tiers(flash=10x)", "--admit", cells[1]}}
			rec := r.records(t, "lru")[0]
			written := threeDigits(rec.Written)
			if rec.WrittenDay > 0 {
				written += ", " + threeDigits(rec.WrittenDay) + "/day"
			}
			table.compare(t, row, 2, fmt.Sprintf("%.2f%%", 100*rec.HitRatio))
			table.compare(t, row, 3, fmt.Sprintf("%.2f%%", 100*rec.ByteHitRatio))
			table.compare(t, row, 4, written)
		}
	})
	for trace, of := range map[string]struct{ file, capacity string }{
		"zipf": {"", "20MB"}, "adaptsize": {"adaptsize-request.trace.xz", "32MiB"},
		"cloudphysics": {"cloudPhysicsIO.oracleGeneral.bin.zst", "128MiB"},
	} {
		t.Run("admissions.md, "+trace, func(t *testing.T) {
			t.Parallel()
			table := measuredTable(t, "admissions.md", "| trace | policy | none | second |")
			admissions := strings.Replace(strings.Join(table.head[2:], ","), ",size,", ",size(most=32KiB),", 1)
			r := replayed{capacities: of.capacity, flags: []string{"--bytes", "--admit", admissions}, each: len(table.head) - 2,
				trace: []string{"zipf(alpha=0.9,objects=30000,requests=600000,seed=7,size=lognormal(mean=20000,sigma=2))"}}
			if of.file != "" {
				r.trace = tracesOf(t, "block/"+of.file)
			}
			first := table.row(t, trace)
			for row := first; row < len(table.cells) && (row == first || table.cells[row][0] == ""); row++ {
				for i, rec := range r.records(t, table.cells[row][1]) {
					table.compare(t, row, 2+i, fmt.Sprintf("%.2f", 100*rec.HitRatio))
				}
			}
		})
	}
	for column, trace := range []struct{ file, capacity string }{
		{"cloudPhysicsIO.oracleGeneral.bin.zst", "4897"}, {"arc-oltp.lis.gz", "18688"}, {"lirs-multi2.trace.gz", "568"},
	} {
		t.Run("policies-adaptive.md, duel, "+trace.file, func(t *testing.T) {
			t.Parallel()
			table := measuredTable(t, "policies-adaptive.md", "| policy | cloudPhysics | OLTP |")
			table.compareRows(t, column+1, replayed{trace: tracesOf(t, "block/"+trace.file), capacities: trace.capacity})
		})
	}
	t.Run("policies-adaptive.md, best", func(t *testing.T) {
		t.Parallel()
		table := measuredTable(t, "policies-adaptive.md", "| trace | lirs | arc |")
		policies := table.head[1:]
		for row, file := range table.names {
			r := replayed{trace: tracesOf(t, "*/"+file+".*"), capacities: "0.5%,1%,2%,5%,10%,20%,40%"}
			sums := make([]float64, len(policies))
			all := r.records(t, policies...)
			for i, rec := range all {
				sums[i%len(policies)] += rec.HitRatio
			}
			for i, sum := range sums {
				table.compare(t, row, 1+i, fmt.Sprintf("%.2f", 100*sum/float64(len(all)/len(policies))))
			}
		}
	})
	t.Run("policies-best.md", func(t *testing.T) {
		t.Parallel()
		table := measuredTable(t, "policies-best.md", "| trace | capacity | Caffeine's simulator |")
		var trace []string
		for row, cells := range table.cells {
			if cells[0] != "" {
				trace = tracesOf(t, "*/"+cells[0]+".*")
			}
			for column := 4; column < len(cells); column++ {
				_, what, _ := strings.Cut(cells[column], " ")
				policy, admission, _ := strings.Cut(what, ", --admit ")
				r := replayed{trace: trace, capacities: cells[1]}
				if strings.HasSuffix(cells[1], "MiB") {
					r.flags = []string{"--bytes"}
				}
				if admission != "" {
					r.flags = append(r.flags, "--admit", admission)
				}
				table.compare(t, row, column, fmt.Sprintf("%.2f %s", 100*r.records(t, policy)[0].HitRatio, what))
			}
		}
	})
	for row, file := range map[string]string{
		"arc-oltp": "arc-oltp.lis.gz", "cloudPhysicsIO": "cloudPhysicsIO.oracleGeneral.bin.zst",
	} {
		t.Run("predictors.md, "+row, func(t *testing.T) {
			t.Parallel()
			table := measuredTable(t, "predictors.md", "| trace | LRU | fpb: ewma |")
			for i, predictor := range []string{"ewma", "popu", "gbm"} {
				r := replayed{trace: tracesOf(t, "block/"+file), capacities: "3%",
					flags: []string{"--limit", "100000", "--predictor", predictor}}
				for j, rec := range r.records(t, "lru", "fpb", "laru(decay=k/32)") {
					column := []int{1, 2 + i, 5 + i}[j]
					table.compare(t, table.row(t, row), column, fmt.Sprintf("%.4f", rec.HitRatio))
				}
			}
		})
	}
	for i, trace := range []struct{ file, capacities string }{
		{"arc-oltp.lis.gz", "1868,5606,18688"},
		{"cloudPhysicsIO.oracleGeneral.bin.zst", "489,1469,4897"},
		{"lirs-sprite.trace.gz", "70,212,707"},
		{"lirs-multi2.trace.gz", "56,170,568"},
	} {
		t.Run("prefetchers.md, "+trace.file, func(t *testing.T) {
			t.Parallel()
			table := measuredTable(t, "prefetchers.md", "| | arc-oltp 1868 |")
			for row, name := range table.names {
				if strings.HasPrefix(name, "OBL") || name == "Mithril" { // libCacheSim's
					continue
				}
				prefetcher := name
				if name == "LRU" {
					prefetcher = "none"
				}
				r := replayed{trace: append(tracesOf(t, "block/"+trace.file), "--unit-size"), capacities: trace.capacities,
					flags: []string{"--prefetch", prefetcher}}
				for j, rec := range r.records(t, "lru") {
					table.compare(t, row, 3*i+j+1, fmt.Sprintf("%.4f", 1-rec.HitRatio))
				}
			}
		})
	}
}

// threeDigits writes bytes as "79.6 MiB".
func threeDigits(bytes float64) string {
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if bytes < 1000 || unit == "GiB" {
			digits := 2 - min(2, int(math.Log10(max(bytes, 1))))
			return fmt.Sprintf("%.*f %s", digits, bytes, unit)
		}
		bytes /= 1024
	}
	return ""
}

type pageTable struct {
	page  string
	head  []string   // the cells of its head
	names []string   // the first cells of its rows
	cells [][]string // all cells of its rows
}

// measuredTable returns the table of a page whose head begins with start, without the marks around code.
func measuredTable(t *testing.T, page, start string) pageTable {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(repository, "docs", page)))(t)
	_, rest, found := strings.Cut(string(text), "\n"+start)
	if !found {
		t.Fatalf("%s has no table that begins with %q", page, start)
	}
	table := pageTable{page: page}
	for i, line := range strings.Split(start+rest, "\n") {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.ReplaceAll(line, "`", ""), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch i {
		case 0:
			table.head = cells
		case 1:
		default:
			table.names, table.cells = append(table.names, cells[0]), append(table.cells, cells)
		}
	}
	return table
}

func (p pageTable) row(t *testing.T, name string) int {
	t.Helper()
	for i := range p.names {
		if p.names[i] == name {
			return i
		}
	}
	t.Fatalf("%s has no row %s", p.page, name)
	return 0
}

func (p pageTable) compare(t *testing.T, row, column int, measured string) {
	t.Helper()
	if stated := p.cells[row][column]; stated != measured {
		t.Errorf("docs/%s has %s for %s, %s; measured %s", p.page, stated, p.names[row], p.head[column], measured)
	}
}

// compareRows replays the policies that the rows are called like, and compares their hit ratios with the columns from
// first on. A row may have no numbers.
func (p pageTable) compareRows(t *testing.T, first int, r replayed) {
	t.Helper()
	var rows []int
	var policies []string
	for row, cells := range p.cells {
		if cells[first] != "" {
			name, _, _ := strings.Cut(p.names[row], ", which")
			rows, policies = append(rows, row), append(policies, name)
		}
	}
	for i, rec := range r.records(t, policies...) {
		p.compare(t, rows[i%len(rows)], first+i/len(rows), fmt.Sprintf("%.2f%%", 100*rec.HitRatio))
	}
}

// replayed is a command "cachesim run".
type replayed struct {
	trace, flags []string
	capacities   string
	each         int // records of each policy at a capacity; 0 stands for 1
}

type measuredRecord struct {
	Policy   string  `json:"policy"`
	Misses   int     `json:"misses"`
	HitRatio float64 `json:"hit_ratio"`
	Cost     float64 `json:"cost_per_month"`

	ByteHitRatio float64 `json:"byte_hit_ratio"`
	Written      float64 `json:"tier_written_bytes[flash]"`
	WrittenDay   float64 `json:"tier_written_bytes_day[flash]"`
}

// records runs the command and returns its records: for each capacity one of each policy.
func (r replayed) records(t *testing.T, policies ...string) (all []measuredRecord) {
	t.Helper()
	args := append([]string{"run"}, r.trace...)
	args = append(args, "--capacity", r.capacities, "--policy", strings.Join(policies, ","), "--format", "json")
	args = append(args, r.flags...)
	var stdout, stderr bytes.Buffer
	if code := run(args, nil, &stdout, &stderr); code != exitFine {
		t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
	}
	for decoder := json.NewDecoder(&stdout); decoder.More(); {
		var rec measuredRecord
		must.Do(t, decoder.Decode(&rec))
		if want := policies[len(all)%len(policies)]; rec.Policy != want && !strings.HasPrefix(want, rec.Policy+"(") {
			t.Fatalf("%v: record %d is of %s, want %s", args, len(all), rec.Policy, want)
		}
		all = append(all, rec)
	}
	if want := len(policies) * len(strings.Split(r.capacities, ",")) * max(1, r.each); len(all) != want {
		t.Fatalf("%v: %d records, want %d", args, len(all), want)
	}
	return all
}

// tracesOf returns the published files that match the pattern, and skips the test without them.
func tracesOf(t *testing.T, pattern string) []string {
	t.Helper()
	folder := os.Getenv("CACHESIM_TRACES")
	if folder == "" {
		t.Skip("CACHESIM_TRACES does not name a folder with the published traces")
	}
	files, err := filepath.Glob(filepath.Join(folder, filepath.FromSlash(pattern)))
	if err != nil || len(files) == 0 {
		t.Skipf("%s has no %s", folder, pattern)
	}
	return files
}
