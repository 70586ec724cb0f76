// Package internal_test checks which rooms the program has, which of them may import which, and the size of packages.
package internal_test

import (
	"bytes"
	"fmt"
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

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// room is a folder below internal. Its packages may import each other and those of the rooms that it names.
type room struct {
	name    string
	answers string // a question about caching
	imports []string
}

// rooms are all of them, from the bottom up: a room imports earlier ones only.
//
// Records lie low, since they know the names of parts and none of the parts: whatever a replay gives is written into
// them. Embeddings of texts belong to traces, since loading a trace makes them. What runs kernels for other rooms stays
// in cuda, above these rooms, so that one command tests everything that needs a GPU.
var rooms = []room{
	{"base", "what knows no cache", nil},
	{"records", "what is written down of a replay", []string{"base"}},
	{"oracle", "what comes next, known or predicted", []string{"base"}},
	{"traces", "what is requested", []string{"base", "records", "oracle"}},
	{"similarity", "what is alike", []string{"base", "traces"}},
	{"clock", "how long does it take", []string{"base", "oracle", "traces"}},
	{"policies", "who is evicted", []string{"base", "oracle", "traces", "similarity"}},
	{"cuda", "what does a GPU compute", []string{"base", "similarity", "policies"}},
	{"cache", "what is resident", []string{"base", "oracle", "traces", "similarity", "policies"}},
	{"serving", "what do serving nodes do", []string{"base", "oracle", "traces", "clock", "policies", "cache"}},
	{"sim", "what does a replay give", []string{"base", "records", "oracle", "traces", "similarity", "clock", "policies",
		"cuda", "cache", "serving"}},
	{"results", "what do people see", []string{"base", "records", "oracle", "traces", "policies", "sim"}},
	{"experiment", "what is planned, and what is its verdict", []string{"base", "records", "oracle", "traces", "policies",
		"cuda", "cache", "sim", "results"}},
	{"commands", "what can a person ask", []string{"base", "records", "oracle", "traces", "similarity",
		"policies", "cuda", "cache", "serving", "sim", "results", "experiment"}},
}

// roots are where the sources of the program are: of the rooms, the command and the packages for other modules.
var roots = []string{".", "../cmd", "../cachesim.go", "../run.go", "../policytest"}

const module = "github.com/cachesim/cachesim/"

func roomOf(folder string) string {
	name, _, _ := strings.Cut(folder, "/")
	return name
}

// TestRooms fails on a package that stands beside the rooms, and on a room without a doc.go that describes it.
func TestRooms(t *testing.T) {
	var folders, names []string
	eachSource(t, ".", func(s source) {
		if room := roomOf(s.file); !slices.Contains(folders, room) {
			folders = append(folders, room) // a file beside the rooms, too
		}
	})
	slices.Sort(folders)
	for _, r := range rooms {
		names = append(names, r.name)
		doc, err := os.ReadFile(path.Join(r.name, "doc.go"))
		if err != nil {
			t.Error(err)
		} else if !strings.HasPrefix(string(doc), "// Package "+r.name+" ") {
			t.Errorf("%s/doc.go does not describe the package", r.name)
		}
	}
	if slices.Sort(names); !slices.Equal(folders, names) {
		t.Errorf("the folders below internal are %q, want the rooms %q", folders, names)
	}
}

// TestImportsPointDownwards fails on an import between rooms that the table does not have, or that points upwards.
// Tests may import any room.
func TestImportsPointDownwards(t *testing.T) {
	used := map[[2]string]bool{}
	eachSource(t, ".", func(s source) {
		for _, to := range s.imports {
			from := roomOf(s.file)
			used[[2]string{from, roomOf(to)}] = true
			if from != roomOf(to) && !mayImport(from, roomOf(to)) {
				t.Errorf("%s imports %s: %s may not import %s; what both need belongs into a lower room", s.file, to, from,
					roomOf(to))
			}
		}
	})
	for i, r := range rooms {
		for _, to := range r.imports {
			if !slices.ContainsFunc(rooms[:i], func(lower room) bool { return lower.name == to }) {
				t.Errorf("%s is not below %s", to, r.name)
			}
			if !used[[2]string{r.name, to}] {
				t.Errorf("%s does not import %s any more; take it out of the table", r.name, to)
			}
		}
	}
	if len(used) < 30 {
		t.Errorf("only %d imports between rooms were found", len(used))
	}
}

func mayImport(from, to string) bool {
	return slices.ContainsFunc(rooms, func(r room) bool { return r.name == from && slices.Contains(r.imports, to) })
}

// contracts are what parts implement, with all packages above base that each of them needs. None of these is a part.
var contracts = map[string][]string{
	"records":        nil,
	"oracle/predict": nil,
	"traces":         {"oracle", "traces/prompts", "traces/stream"},
	"policies": {"oracle", "oracle/predict", "policies/slabs", "similarity", "similarity/dot",
		"traces/requests"},
}

// TestContractsImportNoPart follows imports. Most packages need a contract, so that a line in what it needs compiles
// most of the program again.
func TestContractsImportNoPart(t *testing.T) {
	imports := map[string][]string{}
	eachSource(t, ".", func(s source) {
		imports[path.Dir(s.file)] = append(imports[path.Dir(s.file)], s.imports...)
	})
	for contract, want := range contracts {
		needed := []string{contract}
		for i := 0; i < len(needed); i++ {
			for _, to := range imports[needed[i]] {
				if roomOf(to) != "base" && !slices.Contains(needed, to) {
					needed = append(needed, to)
				}
			}
		}
		got := needed[1:]
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s needs %q, want %q: keep parts out of it, or change the list if no part is in it", contract, got, want)
		}
	}
}

// mostLines is how many lines of code a package may have: nobody keeps more than that in mind.
const mostLines = 4000

// TestPackagesAreSmall counts lines of code: those that have more than blanks and comments, without tests.
func TestPackagesAreSmall(t *testing.T) {
	lines := map[string]int{}
	for _, root := range roots {
		eachSource(t, root, func(s source) { lines[path.Dir(s.file)] += linesOfCode(s.text) })
	}
	for p, n := range lines {
		if n > mostLines {
			t.Errorf("%s has %d lines of code, want at most %d; divide it into packages by role", p, n, mostLines)
		}
	}
	if lines["sim"] < 1000 {
		t.Errorf("only %d lines were found in sim", lines["sim"])
	}
}

// leastLines is how many lines of code a package with a single importer has: smaller ones belong to their importer.
const leastLines = 150

// givesReason reports whether a source documents why its package, a small one, is a package of its own.
func givesReason(text []byte) bool {
	doc, _, _ := strings.Cut(string(text), "\npackage ")
	return strings.Contains(strings.ReplaceAll(doc, "\n// ", " "), "is a package of its own")
}

// TestPackagesAreWorthTheirName fails on a small package that only one other imports, unless its documentation says why
// it "is a package of its own".
func TestPackagesAreWorthTheirName(t *testing.T) {
	lines, importers, reasons := map[string]int{}, map[string][]string{}, map[string]bool{}
	for _, root := range roots {
		eachSource(t, root, func(s source) {
			from := path.Dir(s.file)
			lines[from] += linesOfCode(s.text)
			reasons[from] = reasons[from] || givesReason(s.text)
			for _, to := range s.imports {
				if !slices.Contains(importers[to], from) {
					importers[to] = append(importers[to], from)
				}
			}
		})
	}
	for p, from := range importers {
		switch small := len(from) == 1 && lines[p] < leastLines && !slices.Contains(forTests, p); {
		case small && !reasons[p]:
			t.Errorf("%s has %d lines of code, and only %s imports it: move it there, or document why it is a package "+
				"of its own", p, lines[p], from[0])
		case !small && reasons[p]:
			t.Errorf("%s is large, or has several importers: it need not say that it is a package of its own", p)
		}
	}
	if len(importers) < 80 {
		t.Errorf("only %d packages that others import were found", len(importers))
	}
}

// linesOfCode returns how many lines of a text have more than blanks and comments.
func linesOfCode(text []byte) (lines int) {
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
	if got := linesOfCode([]byte(text)); got != 5 {
		t.Errorf("%d lines of code, want 5", got)
	}
}

// source is a file that is no test.
type source struct {
	file    string
	text    []byte
	imports []string // the packages below internal that it imports
}

// sources are those that were read, by the folder below which they are: the tests read them once.
var sources = map[string][]source{}

// eachSource calls f for each source below a folder.
func eachSource(t *testing.T, root string, f func(source)) {
	t.Helper()
	if sources[root] == nil {
		sources[root] = readSources(t, root)
	}
	for _, s := range sources[root] {
		f(s)
	}
}

func readSources(t *testing.T, root string) (all []source) {
	t.Helper()
	must.Do(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "testdata" {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		imports, err := importsOf(file, text)
		all = append(all, source{filepath.ToSlash(file), text, imports})
		return err
	}))
	return all
}

// importsOf returns the packages below internal that a source imports.
func importsOf(file string, text []byte) (imports []string, err error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, s := range parsed.Imports {
		name, err := strconv.Unquote(s.Path.Value)
		if err != nil {
			return nil, err
		}
		if ours, ok := strings.CutPrefix(name, module+"internal/"); ok {
			imports = append(imports, ours)
		}
	}
	return imports, nil
}

// forTests are packages that only tests import, their own and each other's.
var forTests = []string{"base/testing/brief", "base/testing/faults", "base/testing/interpreter", "base/testing/must",
	"base/testing/processor", "base/testing/programs",
	"base/testing/seeded", "cuda/cudatest", "cuda/cudatest/ptx", "cuda/cudatest/ptxrun",
	"policies/policytest", "sim/simtest", "traces/tracetest"}

// TestCIRunsEveryCheck: what `make test` leaves out is a step of CI.
func TestCIRunsEveryCheck(t *testing.T) {
	steps := string(must.Get(os.ReadFile("../.ci/run"))(t))
	for _, step := range []string{"make lint", "make cross", "make portable", "make race", "make fuzz-targets ",
		"make properties", "CACHESIM_LONG=1 make test"} {
		if !strings.Contains(steps, "; "+step) {
			t.Errorf(".ci/run has no step %q", step)
		}
	}
}

// TestPropertyTestsAreSeeded fails on a package whose tests draw other cases in every run: one of them imports package
// rapid, and none imports the package that fixes its seed.
func TestPropertyTestsAreSeeded(t *testing.T) {
	uses, seeds := map[string]string{}, map[string]bool{}
	for _, root := range []string{".", "../cmd", "../configs", "../tools"} {
		must.Do(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, ".go") {
				return err
			}
			text, err := os.ReadFile(file)
			if importsRapid.Match(text) {
				uses[filepath.Dir(file)] = file
			}
			seeds[filepath.Dir(file)] = seeds[filepath.Dir(file)] || bytes.Contains(text, []byte(`"`+seeded+`"`))
			return err
		}))
	}
	delete(uses, filepath.FromSlash("base/testing/seeded"))
	for folder, file := range uses {
		if !seeds[folder] {
			t.Errorf("%s imports package rapid: add _ %q to the imports of a test of its package", file, seeded)
		}
	}
	if len(uses) < 50 {
		t.Errorf("only %d packages that use rapid were found", len(uses))
	}
}

const seeded = module + "internal/base/testing/seeded"

var importsRapid = regexp.MustCompile(`(?m)^(import)?\s+(\w+ )?"pgregory\.net/rapid"`)

// TestPackagesForTests fails where the program would contain what only tests need.
func TestPackagesForTests(t *testing.T) {
	for _, folder := range forTests {
		if _, err := os.Stat(folder); err != nil {
			t.Errorf("there is no package %s; remove it from the list", folder)
		}
	}
	for _, root := range roots {
		eachSource(t, root, func(s source) {
			for _, to := range s.imports {
				if slices.Contains(forTests, to) && !slices.Contains(forTests, path.Dir(s.file)) {
					t.Errorf("%s imports %s, which is for tests", s.file, to)
				}
			}
		})
	}
}

// TestNoTemplates: package template calls methods by name, for which the linker keeps every method of every library.
// Pages are written with package page instead.
func TestNoTemplates(t *testing.T) {
	for _, root := range roots {
		eachSource(t, root, func(s source) {
			for _, name := range []string{`"text/template"`, `"html/template"`} {
				if bytes.Contains(s.text, []byte(name)) {
					t.Errorf("%s imports %s, which makes the program 5 MB larger", s.file, name)
				}
			}
		})
	}
}

// picture returns the rooms as CONTRIBUTING shows them, the highest first, with their packages.
func picture(t *testing.T) string {
	t.Helper()
	packages := map[string][]string{}
	eachSource(t, ".", func(s source) {
		of := roomOf(s.file)
		if folder := strings.TrimPrefix(path.Dir(s.file), of); folder != "" && !slices.Contains(packages[of], folder[1:]) {
			packages[of] = append(packages[of], folder[1:])
		}
	})
	var b strings.Builder
	b.WriteString("\n| folder | answers | packages in it | imports |\n|---|---|---|---|\n")
	for _, r := range slices.Backward(rooms) {
		slices.Sort(packages[r.name])
		fmt.Fprintf(&b, "| `internal/%s` | %s | %s | %s |\n", r.name, r.answers, strings.Join(packages[r.name], ", "),
			strings.Join(r.imports, ", "))
	}
	b.WriteString("\n")
	return b.String()
}

// The lines around the picture in CONTRIBUTING.
const (
	pictureBegins = "<!-- rooms, written by UPDATE=1 go test ./internal -run Picture -->\n"
	pictureEnds   = "<!-- rooms end -->\n"
)

// TestPictureOfRooms holds the picture in CONTRIBUTING to the tree; UPDATE=1 draws it again.
func TestPictureOfRooms(t *testing.T) {
	const page = "../CONTRIBUTING.md"
	text := must.Get(os.ReadFile(page))(t)
	before, rest, ok := strings.Cut(string(text), pictureBegins)
	shown, after, ends := strings.Cut(rest, pictureEnds)
	if !ok || !ends {
		t.Fatalf("%s has no place for the picture: want the line %q", page, pictureBegins)
	}
	want := picture(t)
	if os.Getenv("UPDATE") == "1" {
		must.Do(t, os.WriteFile(page, []byte(before+pictureBegins+want+pictureEnds+after), 0o644))
		return
	}
	if shown != want {
		t.Errorf("%s does not show the rooms as they are; run UPDATE=1 go test ./internal -run Picture", page)
	}
}

// openers are the sources that open files by package os, and why. Files that a user names are opened by filestate.Open,
// which refuses what may never end, such as pipes and devices; traces by source.OpenFile, which a signal interrupts.
var openers = map[string]string{
	"base/filestate/open.go":  "opens all others",
	"traces/source/source.go": "traces may be pipes",
	"base/atomicfile/atomicfile.go": "output may be a pipe, whose reader it waits for until a signal " +
		"ends that",
	"base/atomicfile/journal.go":        "its own output",
	"base/atomicfile/temporary.go":      "its own output",
	"base/atomicfile/filelock.go":       "its own locks",
	"cuda/driver.go":                    "a file of the system",
	"base/memory/gauge_linux.go":        "files of the system",
	"base/testing/programs/client.go":   "what a program of tests wrote",
	"base/testing/programs/programs.go": "what a program of tests wrote",
	"commands/version/built.go":         "the program",
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
	for _, root := range roots {
		eachSource(t, root, func(s source) {
			found[s.file] = calls.Match(s.text)
			if found[s.file] && there[s.file] == "" {
				t.Errorf("%s %s, or add it to the list with the reason", s.file, problem)
			}
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
