package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/tools/tables"
)

// Programs that print a hit ratio. Ours writes the trace, too.
const (
	fakeOurs = `#!/bin/sh
if [ "$1" = gen ]; then while [ $# -gt 1 ]; do shift; done; echo trace > "$1"; exit; fi
echo '{"policy":"'"$4"'","hit_ratio":0.5}'
`
	fakeBuild = "#!/bin/sh\nmkdir -p \"$1/venv/bin\"\nprintf '#!/bin/sh\\necho %s\\n' > \"$1/venv/bin/python\"\n" +
		"chmod +x \"$1/venv/bin/python\"\n"
)

// fake returns a measurement of programs in a new folder; libCacheSim's prints this text, or cannot be installed.
func fake(t *testing.T, printed string) *measurement {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no shell")
	}
	dir := t.TempDir()
	build := strings.Replace(fakeBuild, "%s", printed, 1)
	if printed == "" {
		build = "#!/bin/sh\nexit 77\n"
	}
	for name, text := range map[string]string{"ours": fakeOurs, "build": build,
		"page.md": "# Speed\n\n" + begins + "\nold\n" + ends + "\n\nmore\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &measurement{program: filepath.Join(dir, "ours"), driver: dir, script: "none", out: filepath.Join(dir, "out"),
		table: filepath.Join(dir, "speeds.tsv"), page: filepath.Join(dir, "page.md"), requests: 5, rounds: 2}
}

func TestTableIsWritten(t *testing.T) {
	m := fake(t, "0.51")
	old := make([]string, len(columns))
	copy(old, []string{"gdsf", "1", "1", "100", "6.1", "4", "800"})
	if err := tables.Write(m.table, columns, [][]string{old}); err != nil {
		t.Fatal(err)
	}
	m.only = "lru, CSV"
	if err := m.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := tables.Read(m.table, columns)
	if err != nil || len(rows) != 2 || rows[0][0] != "lru, CSV" || rows[0][7] != "0.5000" || rows[0][8] != "0.5100" ||
		rows[1][0] != "gdsf" {
		t.Errorf("rows %q (%v), want lru in CSV, measured, before gdsf, which stays", rows, err)
	}
	page, err := os.ReadFile(m.page)
	if err != nil {
		t.Fatal(err)
	}
	const kept = "| gdsf | 1 s | 6.1 s | 6.1 | 4 | 100 and 800 MiB |\n"
	text := string(page)
	if !strings.HasPrefix(text, "# Speed\n\n"+begins+"\n") || !strings.HasSuffix(text, "\n"+ends+"\n\nmore\n") ||
		!strings.Contains(text, kept) || strings.Contains(text, "old") {
		t.Errorf("the page became\n%s", text)
	}
}

func TestOtherHitRatiosAreRefused(t *testing.T) {
	for printed, want := range map[string]string{
		"0.6": "the hit ratios are 0.5000 here, 0.6000 there", "0.5 0.5": "1 hit ratios of ours, 2 of libCacheSim's",
		"x": `printed "x", want hit ratios`,
	} {
		m := fake(t, printed)
		m.only = "lru, CSV"
		if err := m.run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
		if _, err := os.Stat(m.table); err == nil {
			t.Error("a table was written")
		}
	}
}

func TestWithoutThePackageNothingIsMeasured(t *testing.T) {
	m := fake(t, "")
	if err := m.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(m.table); err == nil {
		t.Error("a table was written")
	}
}

func TestSlowerBenchmarks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	record := write("record", "pkg: a\nBenchmarkX-2 1 100 ns/op\nBenchmarkY-2 1 100 ns/op\npkg: b\nBenchmarkX-2 1 10 ns/op\n")
	fresh := write("new", "pkg: a\nBenchmarkX-2 1 201 ns/op\nBenchmarkX-2 1 250 ns/op\nBenchmarkX-2 1 90 ns/op\n"+
		"BenchmarkY-2 1 200 ns/op\npkg: b\nBenchmarkX-2 1 19 ns/op\nBenchmarkZ-2 1 5 ns/op\n")
	var out bytes.Buffer
	if err := listSlower(&out, []string{record, fresh}); err != nil {
		t.Fatal(err)
	}
	want := "below half of the record: a X-2, 0.201 us instead of 0.1\n1 of 4 benchmarks are below half of the record\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	for _, files := range [][]string{{record}, {record, filepath.Join(dir, "none")}, {write("empty", ""), fresh}} {
		if err := listSlower(&out, files); err == nil {
			t.Errorf("no error for %q", files)
		}
	}
}
