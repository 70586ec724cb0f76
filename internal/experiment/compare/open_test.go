package compare

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/peers"
)

func TestParseSource(t *testing.T) {
	for text, want := range map[string]Source{
		"out":                    {Path: "out"},
		"-":                      {Path: "-"},
		`C:\runs\out`:            {Path: `C:\runs\out`},
		"a.csv:trace=t":          {Path: "a.csv", Options: peers.Options{Trace: "t"}},
		`C:\a.csv:name=x`:        {Path: `C:\a.csv`, Name: "x"},
		"a:trace=x:y=z":          {Path: "a", Options: peers.Options{Trace: "x:y=z"}},
		"a:capacity=1000,name=n": {Path: "a", Name: "n", Options: peers.Options{Capacity: 1000, CapacityUnit: "objects"}},
		"a:capacity=2KiB":        {Path: "a", Options: peers.Options{Capacity: 2048, CapacityUnit: "bytes"}},
	} {
		if got := must.Get(ParseSource(text))(t); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"a:trac=t":       `"a:trac=t": unknown option "trac"; did you mean "trace"?`,
		"a:trace=":       `"a:trace=": option "trace=" has no value`,
		"a:capacity=0":   `"a:capacity=0": capacity "0": want at least 1`,
		"a:capacity=1%":  `"a:capacity=1%": capacity "1%"`,
		"a:capacity=1gb": `"a:capacity=1gb": capacity "1gb": unknown unit "gb"`,
	} {
		if _, err := ParseSource(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "a:trace=b")
	must.Do(t, os.WriteFile(path, nil, 0o644))
	if got := must.Get(ParseSource(path))(t); got.Path != path {
		t.Errorf("a file with that name: %+v", got)
	}
}

// Only records may be large: a trace that was given by mistake is not read to its end.
func TestLargeFiles(t *testing.T) {
	const most = 100
	lines := func(begin string) *strings.Reader { return strings.NewReader(strings.Repeat(begin+"\n", 50)) }
	trace := lines("1,2,3")
	must.NotGet(readResults(trace, most))(t, "want results, not a trace", "a long trace")
	if trace.Len() < 150 {
		t.Errorf("%d bytes of the trace are not read, want almost 200", trace.Len())
	}
	if data := must.Get(readResults(lines(`{"trace":"t"}`), most))(t); len(data) != 50*14 {
		t.Errorf("%d bytes of records", len(data))
	}
	if data := must.Get(readResults(strings.NewReader("policy\n"), most))(t); string(data) != "policy\n" {
		t.Errorf("a short file is %q", data)
	}
}

func TestNamesOfRuns(t *testing.T) {
	for _, test := range []struct{ paths, want []string }{
		{[]string{"a/old", "b/new"}, []string{"old", "new"}},
		{[]string{"a/out", "b/out/"}, []string{"a/out", "b/out"}},
		{[]string{"a/records.jsonl", "b/records.csv"}, []string{"a", "b"}},
		{[]string{"old.jsonl", "-"}, []string{"old", "stdin"}},
		{[]string{"out", "out"}, []string{"out", "out (2)"}},
	} {
		var runs []*Run
		for _, path := range test.paths {
			runs = append(runs, &Run{path: path})
		}
		nameRuns(runs)
		var got []string
		for _, r := range runs {
			got = append(got, r.Name)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.paths, got, test.want)
		}
	}
}

// theirs opens results of another simulator.
func theirs(t *testing.T, text string, o peers.Options) *Run {
	t.Helper()
	return must.Get(Open(Source{Path: "-", Options: o}, strings.NewReader(text)))(t)
}

func bytesOf(n int64) func(*records.Record) {
	return func(r *records.Record) { r.Capacity, r.CapacityUnit = n, records.Bytes }
}

// What libCacheSim rounds or names otherwise is taken from the run that it is compared with.
func TestLibCacheSimBesideARun(t *testing.T) {
	ours := newRun("ours", rec("w92.bin.zst", "lru", "1%", 170, bytesOf(5<<20+12345)),
		rec("w92.bin.zst", "clock(bits=3)", "1%", 170, bytesOf(5<<20+12345),
			func(r *records.Record) { r.Policy = "clock" }))
	c := compared(t, Options{}, ours, theirs(t, `
result/w92.bin LRU cache size 5MiB, 1000 req, miss ratio 0.8300, byte miss ratio 0.5
result/w92.bin Clock cache size 5MiB, 1000 req, miss ratio 0.8200, byte miss ratio 0.5
`, peers.Options{}))
	v := c.Versus[0]
	if len(v.Rows) != 2 || v.Rows[0].Outcome != Tie || v.Rows[1].Outcome != Better || v.Rows[0].Places[0] != "1%" {
		t.Errorf("rows are %+v", v.Rows)
	}
	want := []string{"standard input: result lines of libCacheSim, 2 rows", "-: w92.bin is taken to be w92.bin.zst",
		"-: capacities are rounded; in 2 rows they are taken to be the only ones elsewhere that fit",
		"-: policies with other parameters are compared: clock with clock(bits=3)"}
	if !slices.Equal(c.Notes, want) {
		t.Errorf("notes are %q", c.Notes)
	}
}

// Of many traces one is named.
func TestTracesThatAreCompressed(t *testing.T) {
	ours := newRun("ours", rec("a.zst", "lru", "10", 1), rec("b.gz", "lru", "10", 1), rec("c.bin", "lru", "10", 1))
	c := compared(t, Options{}, ours, theirs(t, "policy,trace,capacity,hit_ratio\nLRU,a,10,0.5\nLRU,b,10,0.5\n"+
		"LRU,c,10,0.5\n", peers.Options{}))
	if want := "-: a is taken to be a.zst, and 1 more trace likewise"; !slices.Contains(c.Notes, want) ||
		len(c.Versus[0].Cells) != 2 {
		t.Errorf("%d cells, notes %q", len(c.Versus[0].Cells), c.Notes)
	}
}

// Two capacities of ours that round to theirs leave it as it is.
func TestRoundedCapacityThatFitsTwo(t *testing.T) {
	ours := newRun("ours", rec("t", "lru", "x", 170, bytesOf(5<<20+1)), rec("t", "lru", "y", 180, bytesOf(5<<20+2)))
	_, err := Compare([]*Run{ours, theirs(t, "r/t LRU cache size 5MiB, 1000 req, miss ratio 0.83\n", peers.Options{})},
		Options{})
	if err == nil || !strings.Contains(err.Error(), "in capacity 5242881 bytes and 5242880 bytes") {
		t.Errorf("got %v", err)
	}
}

const caffeine = "Policy,Hit Rate,Hits,Misses,Requests\nlinked.Lru,50.00,500,500,1000\n"

func TestCaffeineBesideARun(t *testing.T) {
	ours := func() *Run { return newRun("ours", rec("oltp", "lru", "10", 500)) }
	c := compared(t, Options{}, ours(), theirs(t, caffeine, peers.Options{Capacity: 10}))
	if v := c.Versus[0]; len(v.Cells) != 1 || v.Cells[0].Outcome != Equal ||
		!slices.Contains(c.Notes, "-: no trace is named; taken to be oltp") {
		t.Errorf("cells are %+v, notes %q", v.Cells, c.Notes)
	}
	two := newRun("ours", rec("oltp", "lru", "10", 500), rec("gli", "lru", "10", 500))
	for want, runs := range map[string][]*Run{
		"- does not say of which trace its results are; say it: -:trace=NAME": {two,
			theirs(t, caffeine, peers.Options{Capacity: 10})},
		"- does not say at which capacity its results are": {ours(), theirs(t, caffeine, peers.Options{})},
	} {
		if _, err := Compare(runs, Options{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A policy that draws at random has no seed in their results.
func TestSeedOfTheirs(t *testing.T) {
	ours := newRun("ours", rec("t", "random", "10", 500, seed(7)))
	c := compared(t, Options{}, ours, theirs(t, "policy,trace,capacity,hits,misses\nRandom,t,10,490,510\n",
		peers.Options{}))
	if len(c.Versus[0].Cells) != 1 {
		t.Errorf("not compared: %+v", c.Versus[0])
	}
}

// A folder has runs and results of others; files that are neither are named.
func TestFolderOfResults(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "run"), 0o755))
	must.Do(t, records.Write(filepath.Join(dir, "run"), []records.Record{rec("a", "fifo", "10", 1)}))
	for name, text := range map[string]string{
		"hit_rate_10.csv": caffeine,
		"hit_rate.csv":    "Policy,10\nlinked.Lru,50.00\n",
		"notes.txt":       "no results\n",
		".hidden":         caffeine,
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	r := must.Get(Open(Source{Path: dir, Options: peers.Options{Trace: "a"}}, nil))(t)
	if len(r.results) != 2 || r.results[1].Label != "lru" || r.results[1].Capacity != 10 {
		t.Errorf("%d results", len(r.results))
	}
	if !slices.Contains(r.Notes, dir+": files without results: notes.txt") {
		t.Errorf("notes are %q", r.Notes)
	}

	must.Do(t, os.Remove(filepath.Join(dir, "hit_rate_10.csv")))
	r = must.Get(Open(Source{Path: dir, Options: peers.Options{Trace: "a"}}, nil))(t)
	if len(r.results) != 2 || r.results[1].Rounding == nil {
		t.Errorf("the combined report alone gives %d results", len(r.results))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "damaged.jsonl"), []byte("{\n"), 0o644))
	if _, err := Open(Source{Path: dir}, nil); err == nil || !strings.Contains(err.Error(), "damaged.jsonl: line 1") {
		t.Errorf("got %v", err)
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	for want, path := range map[string]string{
		dir + " contains no results: want records.jsonl": dir,
		"does not exist; want a file of results":         filepath.Join(dir, "missing"),
	} {
		if _, err := Open(Source{Path: path}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	two := newRun("two", rec("a", "lru", "10", 1), rec("b", "lru", "10", 1))
	if err := two.nameTraces("c"); err == nil || err.Error() !=
		"two: trace=c names one trace, and its results are on 2: a, b" {
		t.Errorf("got %v", err)
	}
}
