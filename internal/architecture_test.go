// Package internal_test checks the order in which the packages of the program may import each other, and their size.
package internal_test

import (
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers has every package, by its folder below internal, from the bottom up. A package may import those of the lines
// below its own, and no others. A new package is added where what it imports allows, as far down as it makes sense.
var layers = [][]string{
	{"cuda/kernels", "base/faults", "base/filestate", "base/interruptible", "base/jsonlines", "base/markup",
		"base/metric", "base/parallel", "base/quote", "base/random", "base/seal", "similarity/dot", "base/statistics",
		"base/suggest", "base/terminal", "base/version"},
	{"base/atomicfile", "../cmd/cachesim/internal/commandline", "cuda", "cuda/cudatest/ptx", "base/memory",
		"base/params", "serving", "base/yamlhint"},
	{"cuda/cudatest/ptxrun", "cuda/sort", "clock/event", "serving/fluid", "base/neural", "oracle", "oracle/gbm",
		"results/records", "serving/route", "similarity", "cache/streams", "traces/compress", "traces/stream"},
	{"cache/allocate", "cuda/cudatest", "cuda/join", "cuda/reuse", "clock/prefill", "clock/sls", "clock/storage",
		"base/neural/ppo", "policies/dense", "oracle/predict", "results/series", "results/target", "traces/source"},
	{"serving/controllers", "serving/recommender", "policies/slabs", "traces/files", "traces/prompts",
		"traces/queries", "traces/recommender"},
	{"cuda/setreplay", "traces/embed", "policies", "traces/datasets", "traces/gen", "traces/parquet"},
	{"policies/background"},
	{"policies/admission", "policies/baselines", "policies/density", "policies/experts", "policies/laru",
		"policies/learned", "policies/multiqueue", "policies/offline", "policies/rac", "traces/formats"},
	{"results/plots", "policies/all", "traces"},
	{"results/page"},
	{"traces/capacity", "clock/models", "policies/policytest", "sim/ontrace", "sim/trees", "cache/prefetch",
		"similarity/overlap", "traces/tracetest", "traces/tracestat", "traces/workload"},
	{"cache", "sim/accuracy"},
	{"serving/pools", "cache/prefix", "cache/semantic", "cache/sets", "cache/igtcache"},
	{"sim/all"},
	{"sim"},
	{"sim/adversary", "serving/trainer", "experiment/checks", "experiment/claims", "sim/explain", "results/runs"},
	{"experiment"},
	{"experiment/curve", "experiment/baseline", "experiment/sweep", "../cmd/cachesim/internal/lists",
		"../cmd/cachesim/internal/progress"},
	{"experiment/cluster", "experiment/report", "../cmd/cachesim/internal/resources"},
	{"../cmd/cachesim"},
}

const module = "github.com/cachesim/cachesim/"

// TestImportsPointDownwards fails on an arrow that points upwards or sideways, and on a package without a layer.
func TestImportsPointDownwards(t *testing.T) {
	height := map[string]int{}
	for i, layer := range layers {
		for _, p := range layer {
			if _, twice := height[p]; twice {
				t.Errorf("%s is in two layers", p)
			}
			height[p] = i
		}
	}
	found := map[string]bool{}
	arrows := 0
	for _, root := range []string{".", "../cmd"} {
		eachSource(t, root, func(file string, imports []string) {
			from := path.Dir(file)
			found[from] = true
			if _, ok := height[from]; !ok {
				t.Errorf("%s has no layer; add it to the table in architecture_test.go", from)
				return
			}
			for _, to := range imports {
				arrows++
				at, ok := height[to]
				switch {
				case !ok:
					t.Errorf("%s imports %s, which has no layer", file, to)
				case at >= height[from]:
					t.Errorf("%s imports %s, which is not below it", file, to)
				}
			}
		})
	}
	for p := range height {
		if !found[p] {
			t.Errorf("there is no package %s; remove it from the table in architecture_test.go", p)
		}
	}
	if arrows < 100 {
		t.Errorf("only %d imports were found", arrows)
	}
}

// mostLines is how many lines of code a package may have: nobody keeps more than that in mind.
const mostLines = 4000

// TestPackagesAreSmall counts lines of code: those that have more than blanks and comments, without tests.
func TestPackagesAreSmall(t *testing.T) {
	lines := map[string]int{}
	for _, root := range []string{".", "../cmd"} {
		eachSource(t, root, func(file string, _ []string) { lines[path.Dir(file)] += linesOfCode(t, file) })
	}
	for p, n := range lines {
		if n > mostLines {
			t.Errorf("%s has %d lines of code, want at most %d; divide it into packages by role", p, n, mostLines)
		}
	}
	if lines["policies"] < 1000 {
		t.Errorf("only %d lines were found in policies", lines["policies"])
	}
}

// linesOfCode returns how many lines of a file have more than blanks and comments.
func linesOfCode(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return codeIn(text)
}

// codeIn is linesOfCode of a text.
func codeIn(text []byte) (lines int) {
	var s scanner.Scanner
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	s.Init(file, text, nil, 0)
	last := 0 // the last line that was counted
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue // not written
		}
		first := file.Line(pos)
		end := first + strings.Count(literal, "\n")
		lines += max(0, end-max(first-1, last))
		last = max(last, end)
	}
}

func TestLinesOfCode(t *testing.T) {
	const text = `// Package p is short.
package p

/* Two lines
of comment. */
var s = "a" + // a comment
	"b"; var n = 1

var raw = ` + "`one\ntwo`\n"
	if got := codeIn([]byte(text)); got != 5 {
		t.Errorf("%d lines of code, want 5", got)
	}
}

// eachSource calls f for each source below a folder that is no test, with the packages below internal that it imports.
func eachSource(t *testing.T, root string, f func(file string, imports []string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "testdata" {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, s := range source.Imports {
			name, err := strconv.Unquote(s.Path.Value)
			if err != nil {
				return err
			}
			if ours, ok := strings.CutPrefix(name, module+"internal/"); ok {
				imports = append(imports, ours)
			}
		}
		f(filepath.ToSlash(file), imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// forTests are packages that only tests import, their own and each other's.
var forTests = []string{"cuda/cudatest", "cuda/cudatest/ptx", "cuda/cudatest/ptxrun", "policies/policytest",
	"traces/tracetest"}

// TestPackagesForTests fails where the program would contain what only tests need.
func TestPackagesForTests(t *testing.T) {
	for _, root := range []string{".", "../cmd"} {
		eachSource(t, root, func(file string, imports []string) {
			for _, to := range imports {
				if slices.Contains(forTests, to) && !slices.Contains(forTests, path.Dir(file)) {
					t.Errorf("%s imports %s, which is for tests", file, to)
				}
			}
		})
	}
}

// TestNoTemplates: package template calls methods by name, for which the linker keeps every method of every library.
// Pages are written with package markup instead.
func TestNoTemplates(t *testing.T) {
	for _, root := range []string{".", "../cmd"} {
		eachSource(t, root, func(file string, _ []string) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{`"text/template"`, `"html/template"`} {
				if strings.Contains(string(text), name) {
					t.Errorf("%s imports %s, which makes the program 5 MB larger", file, name)
				}
			}
		})
	}
}

// picture returns the layers as CONTRIBUTING shows them: the highest first.
func picture() string {
	var b strings.Builder
	for _, layer := range slices.Backward(layers) {
		line := "   "
		for _, p := range layer {
			p = strings.TrimPrefix(p, "../")
			if len(line)+1+len(p) > 110 {
				b.WriteString(line + "\n")
				line = "       "
			}
			line += " " + p
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// TestPictureOfImports holds the picture in CONTRIBUTING to the table.
func TestPictureOfImports(t *testing.T) {
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), picture()) {
		t.Errorf("CONTRIBUTING.md does not show the layers of packages as they are; it should say\n\n%s", picture())
	}
}

// openers are the sources that open files by package os, and why. Files that a user names are opened by filestate.Open,
// which refuses what may never end, such as pipes and devices; traces by source.OpenFile, which a signal interrupts.
var openers = map[string]string{
	"base/filestate/open.go":              "opens all others",
	"traces/source/source.go":             "traces may be pipes",
	"base/atomicfile/atomicfile.go":       "output may be a pipe, whose reader it waits for until a signal ends that",
	"base/atomicfile/journal.go":          "its own output",
	"base/atomicfile/temporary.go":        "its own output",
	"base/atomicfile/filelock_windows.go": "its own locks",
	"cuda/driver.go":                      "a file of the system",
	"base/memory/gauge_linux.go":          "files of the system",
	"base/version/version.go":             "the program",
}

// TestFilesAreOpenedInOnePlace finds other sources that open files: they may hang on a pipe, or survive a signal.
func TestFilesAreOpenedInOnePlace(t *testing.T) {
	onlyThere(t, regexp.MustCompile(`\bos\.(Open|OpenFile|ReadFile)\(`), openers,
		"opens a file by package os: use filestate.Open")
}

// onlyThere checks that only some sources make calls; the texts say why they may.
func onlyThere(t *testing.T, calls *regexp.Regexp, there map[string]string, problem string) {
	t.Helper()
	found := map[string]bool{}
	for _, root := range []string{".", "../cmd"} {
		eachSource(t, root, func(file string, _ []string) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.ToSlash(file)
			if calls.Match(text) && there[name] == "" {
				t.Errorf("%s %s, or add it to the list with the reason", name, problem)
			}
			found[name] = calls.Match(text)
		})
	}
	for name := range there {
		if !found[name] {
			t.Errorf("%s makes no such call; remove it from the list", name)
		}
	}
}

// ownJSON are the sources that make JSON without package jsonlines, and why.
var ownJSON = map[string]string{
	"base/jsonlines/jsonlines.go": "all others use it",
	"experiment/cell.go":          "of the hashes of cells, which stay as they are",
	"traces/workload/workload.go": "of keys that no one reads",
}

// TestJSONIsWrittenInOnePlace finds other sources that make JSON: theirs has \u0026 where others have &.
func TestJSONIsWrittenInOnePlace(t *testing.T) {
	onlyThere(t, regexp.MustCompile(`\bjson\.(Marshal|MarshalIndent|NewEncoder)\(`), ownJSON,
		"makes JSON by package json: use package jsonlines")
}
