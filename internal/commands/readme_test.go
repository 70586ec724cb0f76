package commands

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestReadmeOutputs runs the commands in the README that are followed by their output. Each line of output in the
// README must be a line that the command prints, in the same order; "..." and left out lines are allowed, and a line
// that ends with " ..." is the beginning of one. Times depend on the machine and are not compared.
func TestReadmeOutputs(t *testing.T) {
	brief.Long(t, "replays for several seconds")
	onlyOnce(t)
	dir := t.TempDir()
	traces := docTraces(t)
	must.Do(t, os.CopyFS(dir, os.DirFS(traces)))
	compared := 0
	for _, e := range readmeExamples(t) {
		if strings.Contains(e.line, "check baseline") {
			continue // shows a failed check; the script check.txtar has those
		}
		compared++
		printed := withoutTimes(e.run(t, dir))
		for _, line := range withoutTimes(strings.Join(e.output, "\n")) {
			start, cut := strings.CutSuffix(line, " ...")
			i := slices.IndexFunc(printed, func(p string) bool { return p == start || cut && strings.HasPrefix(p, start+" ") })
			if i < 0 {
				t.Fatalf("%s\ndoes not print this line of the README after the previous one:\n%s\nits other output:\n%s",
					e.line, line, strings.Join(printed, "\n"))
			}
			printed = printed[i+1:]
		}
	}
	if compared < 4 {
		t.Errorf("%d examples were compared, want the first result and three users'", compared)
	}
}

// TestReadmeBegins checks that the first screen has what works on a fresh machine, in the order in which a newcomer
// needs it: a first result, the tests, the installation, and only then what a release will offer.
func TestReadmeBegins(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(repository, "README.md")))(t)
	rules := must.Get(os.ReadFile(filepath.Join(repository, "Makefile")))(t)
	rest := string(text)
	for _, next := range []string{"    git clone ", "    make run ", "    make test ", "    make install ",
		"There is no release yet.", "go install ", "SHA256SUMS", "## What it answers"} {
		_, after, ok := strings.Cut(rest, next)
		if !ok {
			t.Fatalf("the README has no %q after what comes before it", next)
		}
		rest = after
		rule, isRule := strings.CutPrefix(next, "    make ")
		if isRule && !strings.Contains(string(rules), "\n"+strings.TrimSpace(rule)+":") {
			t.Errorf("the Makefile has no rule for %q", next)
		}
	}
	for _, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, "libCacheSim (commit") && !strings.Contains(line, "`cachesim`, too") {
			t.Error("the README does not say that the program of libCacheSim has the same name")
		}
	}
}

// TestReadmeFigure compares the figure in the README with the figure that its first command draws. UPDATE=1 replaces
// it.
func TestReadmeFigure(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors may round the points of a curve to other pixels")
	}
	var stdout, stderr bytes.Buffer
	dir := t.TempDir()
	demo := filepath.Join(repository, "testdata", "demo.oracleGeneral.zst")
	if code := run([]string{"run", demo, "-o", dir}, nil, &stdout, &stderr); code != exitFine {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	drawn, kept := filepath.Join(dir, "hit_ratio.png"), filepath.Join(repository, "docs", "figures", "demo_hit_ratio.png")
	if os.Getenv("UPDATE") != "" {
		data := must.Get(os.ReadFile(drawn))(t)
		must.Do(t, os.WriteFile(kept, data, 0o644))
	}
	if !bytes.Equal(pixels(t, drawn), pixels(t, kept)) {
		t.Errorf("%s is not the figure that the README's first command draws; UPDATE=1 replaces it", kept)
	}
}

// pixels returns the size and the pixels of an image, which the version of a compressor does not change.
func pixels(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must.Do(t, err)
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	plain := image.NewRGBA(picture.Bounds())
	draw.Draw(plain, plain.Bounds(), picture, plain.Bounds().Min, draw.Src)
	return append([]byte(plain.Bounds().String()), plain.Pix...)
}

// TestReadmeCounts compares the numbers of formats, policies and experiments in the README with the lists.
func TestReadmeCounts(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(repository, "README.md")))(t)
	readme := strings.Join(strings.Fields(string(text)), " ")
	for _, c := range []struct {
		list, kind, readme string
	}{
		{"formats", "", "%d trace formats"},
		{"policies", `"kind":"online"`, "%d online policies"},
		{"reproduce --list", "", "%d experiments"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(append(strings.Fields(c.list), "--format", "json"), nil, &stdout, &stderr); code != exitFine {
			t.Fatalf("%s: exit code %d: %s", c.list, code, &stderr)
		}
		entries := 0
		for line := range strings.Lines(stdout.String()) {
			if strings.Contains(line, c.kind) {
				entries++
			}
		}
		if want := fmt.Sprintf(c.readme, entries); !strings.Contains(readme, want) {
			t.Errorf("the README does not say %q, which cachesim %s lists", want, c.list)
		}
	}
}

// readmeExample is a command with the output that the README shows for it.
type readmeExample struct {
	docCommand
	output []string
}

// readmeExamples returns the indented blocks of the README that begin with a command and go on with its output. A block
// of commands alone is joined with the next block, which shows the output of the last one.
func readmeExamples(t *testing.T) (examples []readmeExample) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(repository, "README.md")))(t)
	var e *readmeExample
	flush := func() {
		if e != nil && len(e.output) > 0 {
			examples = append(examples, *e)
			e = nil
		}
	}
	joined := strings.ReplaceAll(string(text), "\\\n    ", "")
	for _, line := range strings.Split(joined, "\n") {
		code, indented := strings.CutPrefix(line, "    ")
		command, isCommand := strings.CutPrefix(code, "$ ")
		switch {
		case indented && isCommand && strings.HasPrefix(command, "cachesim "):
			flush()
			e = &readmeExample{docCommand: docCommand{"README.md", command}}
		case indented && !isCommand && e != nil:
			e.output = append(e.output, code)
		case !indented && line != "":
			flush()
		}
	}
	flush()
	return examples
}

var lastNumber = regexp.MustCompile(`\s+[0-9.]+$`)

// withoutTimes returns the lines of an output without blank lines, rules of tables, differences in spacing and, in
// tables that end with a column of times, that column.
func withoutTimes(output string) (lines []string) {
	timed := false
	for _, line := range strings.Split(output, "\n") {
		switch line = strings.Join(strings.Fields(line), " "); {
		case line == "":
			timed = false
		case line == "..." || strings.Trim(line, "─") == "":
		case strings.HasSuffix(line, "ns/request"):
			timed = true
			lines = append(lines, line)
		case timed:
			lines = append(lines, lastNumber.ReplaceAllString(line, ""))
		default:
			lines = append(lines, line)
		}
	}
	return lines
}
