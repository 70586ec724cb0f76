package experiment

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// parseText reads an experiment whose first keys are those that every experiment has.
func parseText(text string) (*File, error) {
	return parse([]byte("name: test\ntitle: a test\nsource: none\n"+text), source{name: "test.yaml"})
}

func mustParse(t *testing.T, text string) *File {
	t.Helper()
	return must.Get(parseText(text))(t)
}

func mustExpand(t *testing.T, f *File) []Cell {
	t.Helper()
	cells := must.Get(f.Cells(CellOptions{Version: "1", Checksum: func(w workload.Workload) (string, error) {
		return "sha256:" + strings.Join(w.Files, "+"), nil
	}}))(t)
	return cells
}

// summary lists what distinguishes the cells of a test.
func summary(cells []Cell) (lines []string) {
	for _, c := range cells {
		line := fmt.Sprintf("%s %s %s seed=%d %s", c.Workload.Name, c.Capacity, c.Label, c.Seed, c.Axes)
		if c.Auxiliary {
			line += "(auxiliary)"
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func TestCells(t *testing.T) {
	f := mustParse(t, `
traces:
  - {name: file, file: a.csv}
  - {name: made, generate: "zipf(objects=10)", with: {alpha: [0.5, 1]}, capacities: 3}
policies: [lru, random, {policy: s3fifo, with: {small: [0.1, 0.2]}}, opt-bypass]
capacities: 1%, 2%
seeds: 2
`)
	want := strings.Split(strings.TrimSpace(`
file 1% lru seed=0
file 1% random seed=0
file 1% random seed=1
file 1% s3fifo seed=0 small=0.1
file 1% s3fifo seed=0 small=0.2
file 1% opt-bypass seed=0
file 1% opt seed=0 (auxiliary)
file 2% lru seed=0
file 2% random seed=0
file 2% random seed=1
file 2% s3fifo seed=0 small=0.1
file 2% s3fifo seed=0 small=0.2
file 2% opt-bypass seed=0
file 2% opt seed=0 (auxiliary)
made 3 lru seed=0 alpha=0.5
made 3 random seed=0 alpha=0.5
made 3 s3fifo seed=0 alpha=0.5,small=0.1
made 3 s3fifo seed=0 alpha=0.5,small=0.2
made 3 opt-bypass seed=0 alpha=0.5
made 3 opt seed=0 alpha=0.5(auxiliary)
made 3 lru seed=1 alpha=0.5
`), "\n")
	cells := mustExpand(t, f)
	if got := summary(cells); !slices.Equal(got[:len(want)], want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(cells) != 14+4*6 {
		t.Errorf("%d cells", len(cells))
	}
	hashes := map[string]bool{}
	for i, c := range cells {
		if c.Number != i {
			t.Errorf("cell %d has number %d", i, c.Number)
		}
		hashes[c.Hash] = true
	}
	for _, c := range cells {
		if len(c.Against) != 1 && !c.Auxiliary || c.Auxiliary && c.Against != nil {
			t.Errorf("%s %s is compared with %q", c.Label, c.Capacity, c.Against)
		}
		for _, other := range c.Against {
			if !hashes[other] {
				t.Errorf("%s %s is compared with %s, which is not there", c.Label, c.Capacity, other)
			}
		}
	}
}

func TestNumberOfCellsIsTheProduct(t *testing.T) {
	numbers := func(n int) string {
		texts := make([]string, n)
		for i := range texts {
			texts[i] = fmt.Sprintf("0.%d", i+1)
		}
		return "[" + strings.Join(texts, ", ") + "]"
	}
	rapid.Check(t, func(t *rapid.T) {
		count := func(name string) int { return rapid.IntRange(1, 4).Draw(t, name) }
		alphas, smalls, capacities, seeds := count("alphas"), count("smalls"), count("capacities"), count("seeds")
		f := must.Get(parseText(fmt.Sprintf(`
traces: [{name: file, file: a.csv}, {name: made, generate: zipf, with: {alpha: %s}}]
policies: [random, {policy: s3fifo, with: {small: %s}}]
capacities: 1..%d+1
seeds: %d
`, numbers(alphas), numbers(smalls), capacities, seeds)))(t)
		cells := must.Get(f.Cells(CellOptions{}))(t)
		asked, auxiliary := 0, 0
		hashes := map[string]bool{}
		for _, c := range cells {
			hashes[c.Hash] = true
			if c.Auxiliary {
				auxiliary++
			} else {
				asked++
			}
		}
		// On the file s3fifo is run once, whatever the seeds, and there is one optimum.
		if want := capacities*(seeds+smalls) + alphas*capacities*seeds*(1+smalls); asked != want {
			t.Errorf("%d cells, want %d", asked, want)
		}
		if want := capacities + alphas*capacities*seeds; auxiliary != want {
			t.Errorf("%d optima, want %d", auxiliary, want)
		}
		if len(hashes) != len(cells) {
			t.Errorf("%d hashes of %d cells", len(hashes), len(cells))
		}
	})
}

// oneCell returns the first cell of an experiment.
func oneCell(t *testing.T, text string) Cell {
	t.Helper()
	return mustExpand(t, mustParse(t, text))[0]
}

const hashed = "traces: [{name: t, file: a.csv}]\npolicies: [s3fifo]\ncapacities: 1%\n"

// A change here invalidates every stored result: all of them must run again.
func TestHashIsStable(t *testing.T) {
	if got, want := oneCell(t, hashed).Hash, "370979b1ce7e49ef41f7"; got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestHashTellsWhatMatters(t *testing.T) {
	replace := func(old, new string) string { return strings.Replace(hashed, old, new, 1) }
	plain := oneCell(t, hashed)
	for _, text := range []string{
		replace("a.csv", "b.csv"), // another checksum
		replace("a.csv", "a.csv, limit: 5"),
		replace("a.csv", "a.csv, format: csv"),
		replace("a.csv", "a.csv, sample: 0.5"),
		replace("a.csv", "a.csv, per-file: true"),
		replace("file: a.csv", "files: [a.csv, b.csv], merge: true"),
		replace("file: a.csv", "generate: zipf"),
		replace("a.csv", "a.csv, merge: true"),
		replace("s3fifo", "s3fifo(small=0.2)"),
		replace("s3fifo", "lru"),
		replace("1%", "2%"),
		hashed + "bytes: true\n", hashed + "unit-size: true\n", hashed + "warmup: 5\n", hashed + "seeds: [5]\n",
	} {
		if c := oneCell(t, text); c.Hash == plain.Hash {
			t.Errorf("same hash for\n%s", text)
		}
	}
	for _, text := range []string{
		replace("name: t", "name: other"),
		replace("s3fifo", "{policy: s3fifo, as: other}"),
		replace("s3fifo", "s3fifo(small=0.1)"), // the default
		replace("s3fifo", "{policy: s3fifo, with: {small: [0.1, 0.2]}}"),
		replace("[s3fifo]", "[s3fifo, lru]"),
		replace("1%", "1%, 2%"),
		hashed + "seeds: 3\n", hashed + "optimum: false\n", hashed + "about: other\n",
	} {
		if c := oneCell(t, text); c.Hash != plain.Hash {
			t.Errorf("another hash for\n%s", text)
		}
	}
	moved := plain
	moved.Workload.Files = []string{"elsewhere/a.csv"}
	if moved.WithHash().Hash != plain.Hash {
		t.Error("another hash where the file lies elsewhere")
	}
	moved.Version = "2"
	if moved.WithHash().Hash == plain.Hash {
		t.Error("same hash for another version")
	}
}

func TestAxesOfTheSameNameAreTold(t *testing.T) {
	f := mustParse(t, `
traces: [{name: t, generate: "zipf(seed=1)", with: {size: [none, 7], keys: plain}}]
policies: [{policy: lru, as: a}, {policy: lru, as: b}]
capacities: 10
figures: [{name: f, x: size, y: misses}]
`)
	cells := mustExpand(t, f)
	if cells[0].Axes != "keys=plain,size=none" {
		t.Errorf("axes %q", cells[0].Axes)
	}
	if cells[0].Hash != cells[1].Hash || cells[0].Label == cells[1].Label {
		t.Error("a policy under two names has one result")
	}
	f.Policies[0] = Policy{Policy: "s3fifo", With: map[string]Values{"small": {"0.1"}}}
	f.Traces[0].With["small"] = Values{"1"}
	if got := formatAxes(f.qualify("policy", []setting{{"small", "0.1"}, {"ghost",
		"1"}})); got != "policy.small=0.1,ghost=1" {
		t.Errorf("axes %q", got)
	}
}

func TestSeedsReachGeneratorsFormatsAndSamples(t *testing.T) {
	f := mustParse(t, `
traces:
  - {name: free, generate: zipf}
  - {name: fixed, generate: "zipf(seed=9)"}
  - {name: sampled, file: a.csv, sample: 10%}
  - {name: bare, file: a.json, format: clinc}
  - {name: given, file: a.json, format: "qqp:distance=7"}
  - {name: own, file: a.json, format: "qqp:seed=9,distance=7"}
  - {name: plain, file: a.csv, format: "csv:delimiter=comma"}
policies: [lru]
capacities: 10
seeds: [3, 4]
optimum: false
`)
	var got []string
	for _, c := range mustExpand(t, f) {
		text := c.Workload.Format
		if c.Workload.Generator != "" {
			text = regexp.MustCompile(`seed=\d+`).FindString(c.Workload.Generator)
		}
		got = append(got, fmt.Sprintf("%s %d %s %d", c.Workload.Name, c.Seed, text, c.Workload.SampleSeed))
	}
	want := []string{"free 3 seed=3 0", "free 4 seed=4 0", "fixed 3 seed=9 0", "sampled 3  3", "sampled 4  4",
		"bare 3 clinc:seed=3 0", "bare 4 clinc:seed=4 0", "given 3 qqp:distance=7,seed=3 0",
		"given 4 qqp:distance=7,seed=4 0", "own 3 qqp:seed=9,distance=7 0", "plain 3 csv:delimiter=comma 0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBoundsStandBesideTheOptimumInBytes(t *testing.T) {
	f := mustParse(t, "traces: [{name: t, file: a.csv}]\npolicies: [lru]\ncapacities: [1MiB, 1%]\n")
	got := strings.Join(summary(mustExpand(t, f)), "\n")
	want := "t 1MiB lru seed=0\nt 1MiB belady-size seed=0 (auxiliary)\nt 1MiB pfoo-l seed=0 (auxiliary)\nt 1% lru " +
		"seed=0\nt 1% opt seed=0 (auxiliary)"
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestChecksumOfAllFiles: it is asked for the files that a generator or the option of a format reads, too.
func TestChecksumOfAllFiles(t *testing.T) {
	f := mustParse(t, "traces: [{name: t, file: a.csv, format: 'reads:files=b.csv'}, {name: g, generate: "+
		"'cluster(jobs=9,names=c)', with: {epochs: [1, 2]}}]\npolicies: [lru]\ncapacities: [1]\nseeds: 2\n")
	var asked []string
	cells, err := f.Cells(CellOptions{Checksum: func(w workload.Workload) (string, error) {
		asked = append(asked, strings.Join(w.Paths(), " "))
		return "sha256:" + asked[len(asked)-1], nil
	}})
	if want := []string{"a.csv b.csv", "c"}; err != nil || !slices.Equal(asked, want) {
		t.Errorf("asked for %q with error %v, want %q", asked, err, want)
	}
	for _, c := range cells {
		if want := "sha256:" + strings.Join(c.Workload.Paths(), " "); c.Workload.Checksum != want {
			t.Errorf("checksum %q of %s, want %q", c.Workload.Checksum, c.Workload.Name, want)
		}
	}
}

func TestChecksumIsAskedOncePerTrace(t *testing.T) {
	f := mustParse(t, "traces: [{name: t, file: a.csv, with: {limit: [1, 2]}}, {name: g, generate: zipf}]\npolicies: "+
		"[lru]\ncapacities: [1, 2]\n")
	asked := 0
	_, err := f.Cells(CellOptions{Checksum: func(workload.Workload) (string, error) { asked++; return "sha256:0", nil }})
	if err != nil || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	_, err = f.Cells(CellOptions{Checksum: func(workload.Workload) (string, error) {
		return "",
			errors.New("unreadable")
	}})
	if err == nil || err.Error() != "test.yaml:4: unreadable" {
		t.Errorf("got %v", err)
	}
}

// Each policy counts with the models that it chooses: here 80,000 cells, twice as many with all models.
func TestChosenModelsCountForTheSize(t *testing.T) {
	_, err := parse([]byte(`name: test
title: a test
source: none
traces: [{name: t, generate: dlrm}]
caches: [sets]
models: [sls, {use: sls(launch_us=9), as: fast}]
policies: [{policy: lru, models: sls}, {policy: fifo, models: fast}]
capacities: [1%, 2%, 3%, 4%]
seeds: 10000
`), source{name: "test.yaml"})
	if err != nil {
		t.Error(err)
	}
}

// What writes do is part of a cell's identity only if the experiment says it.
func TestWritesOfTraces(t *testing.T) {
	const policies = "policies: [lru]\ncapacities: [10]\n"
	hash := func(trace string) string {
		cells := must.Get(mustParse(t, "traces: [{name: a, "+trace+"}]\n"+policies).Cells(CellOptions{}))(t)
		return cells[0].Hash
	}
	plain, fill := hash("file: a.csv"), hash("file: a.csv, writes: fill")
	if plain == fill || fill == hash("file: a.csv, writes: ignore") {
		t.Error("cells with other writes are the same")
	}
	for trace, want := range map[string]string{
		"file: a.csv, writes: keep":                "writes: unknown treatment of writes",
		"generate: zipf(objects=10), writes: fill": "writes are for files, not for a generator",
	} {
		must.NotGet(parseText("traces: [{name: a, "+trace+"}]\n"+policies))(t, want, trace)
	}
}
