package internal_test

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// maxLine is how many characters a line of code, tests and documentation has at most.
const maxLine = 120

// TestLinesAreShort fails on a longer line. What cannot be broken is excepted: Go strings in backquotes of several
// lines; in Markdown tables, code, and links; and what make docs writes.
func TestLinesAreShort(t *testing.T) {
	files := 0
	for _, root := range []string{"../cmd", ".", "../cachesim.go", "../cachesim_test.go", "../run.go",
		"../packaging_test.go", "../policytest", "../examples", "../python", "../tools/api", "../tools/claimmutants",
		"../tools/site",
		"../docs", "../README.md", "../CONTRIBUTING.md", "../CHANGELOG.md",
		"../Makefile", "../.ci/run", "../testdata/README.md"} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				if slash := filepath.ToSlash(path); slash == "../docs/commands" || slash == "../docs/references" {
					return filepath.SkipDir // written by make docs and make references
				}
				return nil
			}
			var excepted func(text []byte) map[int]bool
			switch {
			case strings.HasSuffix(path, ".go"):
				excepted = unbreakableGo
			case strings.HasSuffix(path, ".md"):
				excepted = unbreakableMarkdown
			case strings.HasSuffix(path, "Makefile"), strings.HasSuffix(path, "run"):
				excepted = unbreakableScript
			default:
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files++
			for _, line := range longLines(text, excepted(text)) {
				t.Errorf("%s:%d: the line is longer than %d characters", path, line, maxLine)
			}
			return nil
		})
		must.Do(t, err)
	}
	if files < 100 {
		t.Errorf("%d files were looked at: this test misses most", files)
	}
}

// TestLongLinesAreFound shows what the test finds, and what it excepts.
func TestLongLinesAreFound(t *testing.T) {
	long := strings.Repeat("ü", maxLine+1)
	code := "package p\n\nvar a = 1 // " + long + "\nvar b = `\n" + long + "\n`\nvar c = f(\"" + long +
		"\")\nvar d =\n\t\"" + long + "\"\n"
	if got := longLines([]byte(code), unbreakableGo([]byte(code))); !slices.Equal(got, []int{3, 7, 9}) {
		t.Errorf("long lines of code: %v, want 3, 7 and 9", got)
	}
	page := long + "\n| " + long + " |\n```\n" + long + "\n```\n    " + long + "\n" + long[2:] + "\nx [" + long + "](y)\n"
	if got := longLines([]byte(page), unbreakableMarkdown([]byte(page))); len(got) != 2 || got[0] != 1 || got[1] != 8 {
		t.Errorf("long lines of a page: %v, want 1 and 8", got)
	}
}

// longLines returns the numbers of lines, from 1, that are too long and not excepted.
func longLines(text []byte, excepted map[int]bool) (numbers []int) {
	for i, line := range strings.Split(string(text), "\n") {
		if utf8.RuneCountInString(line) > maxLine && !excepted[i+1] {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// unbreakableGo returns the lines of strings in backquotes that have several.
func unbreakableGo(text []byte) map[int]bool {
	lines := map[int]bool{}
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return lines
		}
		if kind == token.STRING && literal[0] == '`' && strings.Contains(literal, "\n") {
			first := file.Line(pos)
			for i := range strings.Count(literal, "\n") + 1 {
				lines[first+i] = true
			}
		}
	}
}

// unbreakableMarkdown returns the lines of tables and of code, and those of images that lead somewhere.
func unbreakableMarkdown(text []byte) map[int]bool {
	lines := map[int]bool{}
	code := false
	for i, line := range strings.Split(string(text), "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		lines[i+1] = code || strings.HasPrefix(strings.TrimSpace(line), "|") || strings.HasPrefix(line, "    ") ||
			strings.HasPrefix(line, "[![")
		if fence {
			code = !code
		}
	}
	return lines
}

// unbreakableScript returns nothing: commands are continued on the next line.
func unbreakableScript([]byte) map[int]bool { return nil }
