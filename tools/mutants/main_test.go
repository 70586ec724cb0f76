package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// files are a module whose tests notice some changes.
var files = map[string]string{
	"go.mod": "module example.com/m\n\ngo 1.26\n",
	"m.go": `package m

func Larger(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func Count(n int) (count int) {
	for i := 0; i < n; i++ {
		count++
	}
	return count
}

func Greet(name string) string { return "hello " + name }

func Sign(n int) int {
	switch {
	case n < 0:
		return -1
	}
	return 1
}

func Untested(n int) int { return n * 2 }
`,
	"m_test.go": `package m

import "testing"

func TestLarger(t *testing.T) {
	if Larger(1, 2) != 2 || Larger(2, 1) != 2 {
		t.Error("wrong")
	}
}

func TestCount(t *testing.T) {
	if Count(3) != 3 {
		t.Error("wrong")
	}
}

func TestSign(t *testing.T) {
	if Sign(-1) != -1 || Sign(0) != 1 {
		t.Error("wrong")
	}
}

func TestGreet(t *testing.T) { Greet("you") }
`,
}

// built are a program, and tests of another package that build and run it.
var built = map[string]string{
	"go.mod":  "module example.com/m\n\ngo 1.26\n",
	"main.go": "package main\n\nfunc main() { println(double(len(\"ab\"))) }\n\nfunc double(n int) int { return n * 2 }\n",
	"scripts/scripts_test.go": `package scripts

import (
	"os/exec"
	"testing"
)

func TestDouble(t *testing.T) {
	if out, err := exec.Command("go", "run", "..").CombinedOutput(); err != nil || string(out) != "4\n" {
		t.Errorf("%s, %v", out, err)
	}
}
`,
}

// moduleOf writes the files of a module into a folder and goes there.
func moduleOf(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// TestBuiltPrograms checks that tests which build a program build it with the change, and that what they run of it
// counts as reached.
func TestBuiltPrograms(t *testing.T) {
	moduleOf(t, built)
	packages, err := list(t.Context(), []string{".", "./scripts"})
	if err != nil || len(packages) != 2 {
		t.Fatalf("%d packages, %v", len(packages), err)
	}
	r := runner{workers: 1, memory: 16 << 20, least: time.Minute, folder: t.TempDir()}
	got, err := r.mutate(t.Context(), packages[0], packages[1:])
	if err != nil {
		t.Fatal(err)
	}
	if want := (tally{killed: 2}); got != want {
		t.Errorf("outcomes %v, want %v", got, want)
	}
}

func TestOutcomes(t *testing.T) {
	moduleOf(t, files)
	packages, err := list(t.Context(), []string{"."})
	if err != nil || len(packages) != 1 {
		t.Fatalf("%d packages, %v", len(packages), err)
	}
	r := runner{workers: 2, memory: 4 << 20, least: 2 * time.Second, folder: t.TempDir()}
	suites, reached, err := r.suites(t.Context(), packages[0], packages)
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := packages[0].mutants()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]outcome{}
	r.tryAll(t.Context(), mutants, suites, func(m mutant, o outcome) {
		if !reached.has(m) {
			o = unreached
		}
		got[m.String()] = o
	})
	for text, want := range map[string]outcome{
		`m.go:4:7: ">" to ">=" in if a > b {`:                                                 survived, // equivalent
		`m.go:4:7: ">" to "<=" in if a > b {`:                                                 killed,
		`m.go:11:16: "<" to "<=" in for i := 0; i < n; i++ {`:                                 killed,
		`m.go:11:16: "<" to ">=" in for i := 0; i < n; i++ {`:                                 killed,
		`m.go:11:22: "++" to "--" in for i := 0; i < n; i++ {`:                                endless,
		`m.go:12:8: "++" to "--" in count++`:                                                  killed,
		`m.go:17:50: "+" to "-" in func Greet(name string) string { return "hello " + name }`: uncompiled,
		`m.go:21:9: "<" to "<=" in case n < 0:`:                                               killed,
		`m.go:21:9: "<" to ">=" in case n < 0:`:                                               killed,
		`m.go:27:37: "*" to "/" in func Untested(n int) int { return n * 2 }`:                 unreached,
	} {
		if o, ok := got[text]; !ok || o != want {
			t.Errorf("%s: outcome %d (found: %v), want %d", text, o, ok, want)
		}
		delete(got, text)
	}
	if len(got) > 0 {
		t.Errorf("further mutants: %v", got)
	}
	if source, err := os.ReadFile("m.go"); err != nil || string(source) != files["m.go"] {
		t.Errorf("the source was changed: %v", err)
	}
}

func TestDrawnInOrder(t *testing.T) {
	var all []mutant
	for i := range 100 {
		all = append(all, mutant{start: i})
	}
	r := runner{sample: 10, seed: 3}
	first, second := r.drawn(all), r.drawn(all)
	order := func(m []mutant) (starts []int) {
		for _, m := range m {
			starts = append(starts, m.start)
		}
		return starts
	}
	if !slices.Equal(order(first), order(second)) || !slices.IsSorted(order(first)) || len(first) != 10 {
		t.Errorf("drawn %v and %v", order(first), order(second))
	}
}
