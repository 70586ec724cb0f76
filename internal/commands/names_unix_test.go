//go:build unix

package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/testing/faults"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// hidden matches what no output for people has: control characters, and those that turn the direction of text. A line
// that a name begins would be a command for GitHub's runner.
var hidden = regexp.MustCompile("[\\x00-\\x08\\x0b-\\x1f\\x7f\\x{80}-\\x{9f}\\x{200e}\\x{200f}\\x{2028}-\\x{202e}" +
	"\\x{2066}-\\x{2069}]|(?m:^\\s*::error::name)")

// TestNamesStayInTheirLines has names of files, columns, tenants, policies and capacities with line breaks and with
// characters that turn the direction of text, in everything that people read.
func TestNamesStayInTheirLines(t *testing.T) {
	t.Chdir(t.TempDir())
	const name, turned = "a\n::error::name\u202egnp.csv", "b\u202egnp.csv"
	rows := func(column, tenant string) string {
		var s strings.Builder
		fmt.Fprintf(&s, "time,key,size,%q\n", column)
		for i := range 100 {
			fmt.Fprintf(&s, "%d,k%d,%d,\"%s%d\"\n", i, i%7, 10+i%7, tenant, i%2)
		}
		return strings.ReplaceAll(s.String(), `\n`, "\n")
	}
	writeFile(t, name, strings.ReplaceAll(rows("who", "t"), `\u202e`, "\u202e"))
	writeFile(t, turned, strings.ReplaceAll(rows("who", "t\u202e"), `\u202e`, "\u202e"))
	writeFile(t, "tenants.csv", rows("te\n::error::name", "t\n::error::name"))
	small := []string{"--policy", "lru,fifo", "--capacity", "2,3"}
	var commands [][]string
	for _, file := range []string{name, turned} {
		commands = append(commands, []string{"run", file}, []string{"run", file, "--format", "markdown"},
			[]string{"run", file, "--min-hit-ratio", "99%", "--format", "junit"},
			[]string{"run", file, "--min-hit-ratio", "99%", "--format", "github"},
			[]string{"run", file, "--tenant", "column(name=who)"}, []string{"run", file + "x"},
			[]string{"run", file, "--tenant", "column(name=" + file + ")"})
	}
	commands = append(commands, []string{"run", "tenants.csv", "--tenant", "column(name=te\n::error::name)"},
		[]string{"run", turned, "--quiet", "-o", "out"})
	for i := range commands {
		commands[i] = append(commands[i], small...)
	}
	commands = append(commands, []string{"stat", name}, []string{"stat", turned}, []string{"stat", turned, "-o", "stat"},
		[]string{"curve", name}, []string{"curve", turned, "--format", "markdown"}, []string{"run", turned, "--policy", name},
		[]string{"run", turned, "--capacity", name}, []string{"run", turned, "--input-format", name}, []string{name},
		[]string{"check", "out/records.jsonl"}, []string{"check", "out/records.jsonl", "--format", "junit"},
		[]string{"check", "out/records.jsonl", "--format", "github"}, []string{"compare", "out", "out"})
	for _, args := range commands {
		code, stdout, stderr := runCachesim(t, args...)
		if code > exitWrongUse {
			t.Errorf("%q: exit code %d", args, code)
		}
		for _, text := range []string{stdout, stderr} {
			if found := hidden.FindStringIndex(text); found != nil {
				t.Errorf("%q prints %q", args, text[max(0, found[0]-60):min(len(text), found[1]+60)])
			}
		}
	}
	for _, page := range []string{"out/report.html", "stat/report.html"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Errorf("%v", err)
		} else if found := hidden.FindIndex(text); found != nil {
			t.Errorf("%s has %q", page, text[max(0, found[0]-60):found[1]])
		}
	}
}

// TestAnswerOnAFullDisk replays with -o while nothing can be written: what was computed is printed, in every format.
func TestAnswerOnAFullDisk(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"run", "zipf(objects=100,requests=2000)", "--policy", "lru,fifo", "--capacity", "5,10,50"}
	times := regexp.MustCompile(`[ *]+[0-9.,]+[ *|]*\n|"ns_per_request":[0-9.]+|"digest":"[0-9a-f]+"`)
	for _, format := range []string{"table", "markdown", "json"} {
		code, want, stderr := runCachesim(t, append(args, "--format", format)...)
		if code != exitFine {
			t.Fatal(stderr)
		}
		restore := faults.Inject(func(op filestate.Operation, path string) error {
			if (op == filestate.Write || op == faults.Allocate) && strings.HasPrefix(path, out) {
				return syscall.ENOSPC
			}
			return nil
		})
		code, got, stderr := runCachesim(t, append(args, "--format", format, "-o", out)...)
		restore()
		if code != exitWrongUse || !strings.Contains(stderr, "no space left on device; the results above are complete") {
			t.Errorf("%s: exit code %d, %s", format, code, stderr)
		}
		if times.ReplaceAllString(got, "") != times.ReplaceAllString(want, "") {
			t.Errorf("%s: printed %s, want %s", format, got, want)
		}
		if left := must.Get(filepath.Glob(filepath.Join(out, "*")))(t); len(left) > 0 {
			t.Errorf("%s: %q are left", format, left)
		}
	}
}
