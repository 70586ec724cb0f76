package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/tools/tables"
)

// TestMain lets this program stand for a driver, and for our program: the variable says which.
func TestMain(m *testing.M) {
	switch os.Getenv("CONFORMANCE_STANDS_FOR") {
	case "driver":
		answer()
	case "cachesim":
		stand(os.Args[1:])
	default:
		os.Exit(m.Run())
	}
}

// answer is a driver of FIFO, of "late", which hits one request fewer, and of "random", which hits up to two fewer.
func answer() {
	records, err := readRecords(os.Args[1])
	if err != nil {
		panic(err)
	}
	for n, lines := 0, bufio.NewScanner(os.Stdin); lines.Scan(); n++ {
		fields := strings.Split(lines.Text(), "\t")
		capacity, _ := strconv.Atoi(fields[1])
		c := fifo(records, capacity, fields[2] == "bytes")
		switch fields[0] {
		case "late":
			c.hits--
		case "random":
			c.hits -= int64(n % 3)
		case "unable":
			fmt.Println("error\tit cannot")
			continue
		case "gone":
			os.Exit(1)
		}
		fmt.Printf("%d\t%d\t%d\n", c.requests, c.hits, c.hitBytes)
	}
}

// stand is as much of our program as the tool calls: gen and run. Its policies are fifo, and fifo(rule=late).
func stand(args []string) {
	flags := map[string]string{}
	for i := 1; i+1 < len(args); i++ {
		flags[args[i]] = args[i+1]
	}
	if args[0] == "gen" {
		var records []record
		for i := range 3000 {
			object := mix(uint64(i)) % 100 * (mix(uint64(i)+1) % 5)
			records = append(records, record{Object: object, Size: 1 + uint32(object%7), Next: -1})
		}
		if err := writeRecords(flags["-o"], records); err != nil {
			panic(err)
		}
		return
	}
	records, err := standardRecords(args[1])
	if err != nil {
		panic(err)
	}
	seed, _ := strconv.Atoi(flags["--seed"])
	for text := range strings.SplitSeq(flags["--capacity"], ",") {
		capacity, _ := strconv.Atoi(text)
		for policy := range strings.SplitSeq(flags["--policy"], ",") {
			c := fifo(records, capacity, slices.Contains(args, "--bytes"))
			switch policy {
			case "fifo(rule=late)":
				c.hits--
			case "fifo(rule=random)":
				c.hits -= int64(seed % 3)
			case "fifo(rule=poor)":
				c.hits /= 2
			}
			line, err := json.Marshal(map[string]any{"policy": "fifo", "capacity": capacity, "requests": c.requests, "hits": c.hits,
				"hit_bytes": c.hitBytes})
			if err != nil {
				panic(err)
			}
			fmt.Println(string(line))
		}
	}
}

// standardRecords reads what a trace of ours has: records, or rows if some remove.
func standardRecords(path string) (records []record, err error) {
	if filepath.Ext(path) != ".csv" {
		return readRecords(path)
	}
	text, err := os.ReadFile(path)
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		f := strings.Split(line, ",")
		object, _ := strconv.ParseUint(f[1], 10, 64)
		size, _ := strconv.ParseUint(f[2], 10, 32)
		r := record{Object: object, Size: uint32(size), Next: -1}
		if f[3] == "delete" {
			r.Next = removal
		}
		records = append(records, r)
	}
	return records, err
}

// fifo counts what FIFO hits.
func fifo(records []record, capacity int, bytes bool) (c counts) {
	var queue []record
	used := 0
	size := func(r record) int {
		if bytes {
			return int(r.Size)
		}
		return 1
	}
	for _, r := range records {
		at := slices.IndexFunc(queue, func(q record) bool { return q.Object == r.Object })
		if r.Next == removal {
			if at >= 0 {
				used -= size(queue[at])
				queue = slices.Delete(queue, at, at+1)
			}
			continue
		}
		c.requests++
		if at >= 0 {
			c.hits++
			c.hitBytes += int64(r.Size)
			continue
		}
		for used += size(r); used > capacity && len(queue) > 0; queue = queue[1:] {
			used -= size(queue[0])
		}
		queue = append(queue, r)
	}
	return c
}

const head = "program\tversion\tfrom\tpolicy\tours\trule\tkinds\texpect\twhy\n"

// newRunner returns a runner whose only driver is fake, with these rows.
func newRunner(t *testing.T, rows ...string) *runner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	stands := "#!/bin/sh\nCONFORMANCE_STANDS_FOR=%s exec '" + self + "' \"$@\"\n"
	script("cachesim", fmt.Sprintf(stands, "cachesim"))
	script("drivers/fake/build", "#!/bin/sh\ncp driver \"$1/driver\"\n")
	script("drivers/fake/driver", fmt.Sprintf(stands, "driver"))
	script("drivers/fake/points.tsv", "# A comment.\n"+head+strings.Join(rows, "\n")+"\n")
	return &runner{program: filepath.Join(dir, "cachesim"), drivers: filepath.Join(dir, "drivers"), out: filepath.Join(dir, "out"),
		table: filepath.Join(dir, "table.tsv"), on: "2026-11-30"}
}

func TestRowsAreJudged(t *testing.T) {
	row := func(policy, rule, kinds, expect, why string) string {
		return strings.Join([]string{"Fake", "1.2", "nowhere", policy, "fifo", rule, kinds, expect, why}, "\t")
	}
	for _, c := range []struct{ name, row, want, found string }{
		{"equal", row("fifo", "", "objects,bytes,changing,removals", "equal", ""), "", "equal"},
		{"equal by a rule", row("late", "rule=late", "objects,bytes", "equal", ""), "", "equal"},
		{"one hit", row("late", "", "objects", "equal", ""), "want equal, differs by up to 0.03 points", "differs"},
		{"in a band", row("late", "", "objects", "band 0.05", "one is late"), "", "differs"},
		{"outside a band", row("late", "", "objects", "band 0.03", "one is late"), "want at most 0.03 points", "differs"},
		{"a wide band", row("late", "", "objects", "band 0.5", "one is late"), "expect a narrower band", "differs"},
		{"less than told", row("late", "", "objects", "differs", "one is late"), "expect a band", "differs"},
		{"far", row("fifo", "rule=poor", "objects", "differs", "ours is poor"), "", "differs"},
		{"within seeds", row("random", "rule=random", "objects", "seeds", ""), "", "seeds"},
		{"far beyond seeds", row("random", "rule=poor", "objects", "seeds", ""), "want seeds, differs", "differs"},
		{"refusal", row("unable", "", "objects", "equal", ""), "it cannot", "error: 20 without an answer, zipf at 4 objects: it cannot"},
		{"end", row("gone", "", "objects", "equal", ""), "the program ended", "error: 20 without an answer, zipf at 4 objects: no answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, c.row)
			err := r.run(t.Context(), nil)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			lines, err := tables.Read(r.table, columns)
			if err != nil || len(lines) != 1 {
				t.Fatalf("%d rows: %v", len(lines), err)
			}
			if !strings.HasPrefix(lines[0][9], c.found) {
				t.Errorf("found %q, want %q", lines[0][9], c.found)
			}
		})
	}
}

// The page counts rows, names the rule, and says how far the default is from it.
func TestPage(t *testing.T) {
	r := newRunner(t, "Fake\t1.2\tnowhere\tlate\tfifo\trule=late\tobjects\tequal\t",
		"Fake\t1.2\tnowhere\tfifo\tfifo\t\tremovals\tequal\t", "Fake\t1.2\tnowhere\tlate\tfifo\t\tobjects\tband 0.05\ta|b")
	if err := r.run(t.Context(), []string{"fake"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(strings.TrimSuffix(r.table, ".tsv") + ".md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| [Fake](#fake) | 1.2 | 3 | 1 | 0 | 1 | 1 | 0 | 2026-11-30 |\n",
		"Fake 1.2 (nowhere), run on 2026-11-30.\n",
		"| late | `fifo` | 20 objects | equal by `rule=late` | 0.00 | 0.03 |  |\n",
		"| fifo | `fifo` | 10 removals | equal | 0.00 |  |  |\n",
		"| late | `fifo` | 20 objects | within 0.05 | 0.03 |  | a\\|b |\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// A program that cannot be installed is skipped, keeps its rows, and one that does not build is an error.
func TestAbsentProgramIsSkipped(t *testing.T) {
	r := newRunner(t, "Fake\t1.2\tnowhere\tfifo\tfifo\t\tobjects\tequal\t")
	if err := r.run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{"77": "", "1": "no compiler"} {
		script := "#!/bin/sh\necho no compiler\nexit " + code + "\n"
		if err := os.WriteFile(filepath.Join(r.drivers, "fake", "build"), []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
		err := r.run(t.Context(), nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("exit code %s: %v, want %q", code, err, want)
		}
	}
	if lines, err := tables.Read(r.table, columns); err != nil || len(lines) != 1 {
		t.Errorf("%d rows, want the one from before: %v", len(lines), err)
	}
}

// The brief version writes nothing.
func TestBriefWritesNothing(t *testing.T) {
	r := newRunner(t, "Fake\t1.2\tnowhere\tfifo\tfifo\t\tobjects,bytes,changing,removals\tequal\t")
	r.brief = true
	if err := r.run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(r.table); err == nil {
		t.Error("there is a table")
	}
}

func TestWrongRows(t *testing.T) {
	for row, want := range map[string]string{
		"a\tb\tc":                             "3 fields, want 9",
		"p\t1\tr\tx\ty\t\tall\tequal\t":       `kind of points "all"`,
		"p\t1\tr\tx\ty\t\tobjects\tnear\t":    `expectation "near"`,
		"p\t1\tr\tx\ty\t\tobjects\tband\tw":   `expectation "band", want a band`,
		"p\t1\tr\tx\ty\t\tobjects\tequal 1\t": `expectation "equal 1", want "equal" alone`,
		"p\t1\tr\tx\ty\t\tobjects\tdiffers\t": "want a reason",
		"p\t\tr\tx\ty\t\tobjects\tequal\t":    "the column version is empty",
	} {
		r := newRunner(t, row)
		err := r.run(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "points.tsv:3: ") {
			t.Errorf("row %q: %v, want %q with the line", row, err, want)
		}
	}
	if _, err := driverNames(t.TempDir()); err == nil {
		t.Error("a folder without drivers is no error")
	}
	r := newRunner(t, "p\t1\tr\tx\ty\t\tobjects\tequal\t")
	if err := r.run(t.Context(), []string{"none"}); err == nil || !strings.Contains(err.Error(), "want one of fake") {
		t.Errorf("driver none: %v", err)
	}
}

// The tables of the drivers can be read, name versions that their other files pin, and are what the page was made from.
func TestDriversOfTheRepository(t *testing.T) {
	names, err := driverNames("drivers")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := tables.Read("../../docs/conformance.tsv", columns)
	if err != nil {
		t.Fatal(err)
	}
	var want, have []string
	for _, name := range names {
		rows, err := readPoints(filepath.Join("drivers", name, "points.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range rows {
			if !pinned(t, filepath.Join("drivers", name), p.version) {
				t.Errorf("%s: no file but points.tsv names the version %s of %s", name, p.version, p.program)
			}
			if slices.ContainsFunc(lines, func(l []string) bool { return l[0] == name }) { // it has been run
				want = append(want, strings.Join((&result{pair: p}).fields(name)[:9], "\t"))
			}
		}
	}
	for _, line := range lines {
		have = append(have, strings.Join(line[:9], "\t"))
	}
	if !slices.Equal(want, have) {
		t.Errorf("docs/conformance.tsv has rows that are not those of the drivers: make conformance\n%s\nwant\n%s",
			strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	text, err := os.ReadFile("../../docs/conformance.md")
	if len(lines) > 0 && (err != nil || string(text) != page(lines)) {
		t.Errorf("docs/conformance.md is not what docs/conformance.tsv gives: make conformance (%v)", err)
	}
}

// pinned says whether a file of a driver besides its points names a version.
func pinned(t *testing.T, folder, version string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && filepath.Base(file) != "points.tsv" && strings.Contains(string(text), version)
	})
}
