//go:build unix

package commands

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// terminalWidths are the widths of a small window, the usual terminal, and two wide ones.
var terminalWidths = []int{60, 80, 100, 160}

// terminalCommands print tables of every kind. The files that they read are made by terminalFiles.
var terminalCommands = []string{
	"policies", "caches", "models", "metrics", "predictors", "allocators", "prefetchers", "formats",
	"policies w-tinylfu s3fifo laru", "caches prefix sets semantic", "models sls prefill", "predictors gbm noisy",
	"allocators ucp static", "prefetchers mithril", "formats csv parquet",
	"run mixed.csv",
	"run mixed.csv --capacity 10,1MiB --policy lru,s3fifo(small=0.2,ghost=0.8),gdsf,opt",
	"run mixed.csv --policy lru,fpb,laru(decay=k/32) --predictor oracle,popu,gbm(window=500,trees=2) --capacity 5%",
	"run mixed.csv --policy lru --prefetch none,next,mithril --capacity 50 --sample 0.5",
	"run mixed.csv --tenant column(name=customer) --allocate shared,equal,ucp(every=500),optimal --capacity 20",
	"run mixed.csv other.csv --per-file --policy lru,opt --capacity 10",
	"run mixed.csv --cache sets(batch=4),sets(batch=8) --model sls --policy lru,opt --capacity 64",
	"run prompts.jsonl --cache prefix --model prefill(model=qwen3-8b) --policy lru,laru,opt --capacity 64,256",
	"run dialogue(topics=10,requests=2000,capacity=100) --cache semantic,semantic(tau=0.8) --policy lru,rac,infinite " +
		"--capacity 50",
	"stat mixed.csv", "stat prompts.jsonl", "stat dialogue(topics=10,requests=2000,capacity=100)",
	"curve mixed.csv --policy lru,arc,lirs,s3fifo,sieve,w-tinylfu,lfu,2q,opt --points 0",
	"curve mixed.csv --policy s3fifo(small=0.2,ghost=0.8),arc --sample 0.2 --capacity 100..900+200 --points 0",
	"join dialogue(topics=10,requests=2000,capacity=100) --tau 0.6,0.85",
	"explain mixed.csv --policy lru --capacity 40KiB --to 300",
	"train mixed.csv --trees 2 --horizon 500 -o DIR/model.txt",
	"predict-eval mixed.csv --predictor oracle,popu,gbm(window=500,trees=2) --capacity 100 --moments 10",
	"adversary --policy laru(decay=k/32),lru --capacity 2..3+1 --tries 5 --requests 20",
	"reproduce --list",
	"sweep DIR/experiment.yaml --dry-run",
	"sweep DIR/experiment.yaml -o DIR/swept",
	"check baseline.csv",
	"check moved.csv",
	"--help", "run --help", "curve --help", "gen --help", "explain --help", "sweep --help",
}

// TestTablesFitTheTerminal runs the commands in pseudo-terminals of several widths; no line may be wider.
func TestTablesFitTheTerminal(t *testing.T) {
	brief.Long(t, "runs every command several times")
	onlyOnce(t)
	dir := terminalFiles(t)
	t.Setenv("COLUMNS", "")
	for _, command := range terminalCommands {
		t.Run(command, func(t *testing.T) {
			for _, width := range terminalWidths {
				for line := range strings.Lines(onTerminal(t, dir, command, width)) {
					line = strings.TrimRight(line, "\r\n")
					if command := strings.HasPrefix(strings.TrimLeft(line, " "), "cachesim "); command {
						continue // it is to be copied
					}
					if n := terminal.StringWidth(line); n > width {
						t.Errorf("%d columns on a terminal of %d: %s", n, width, line)
					}
				}
			}
		})
	}
}

// loadedCommands take long enough for a bar, of what they do one after another.
var loadedCommands = []string{
	"seven/*.csv", "- --policy lru,s3fifo --capacity 1%", "curve seven --policy s3fifo",
	"sweep DIR/experiment.yaml -o DIR/swept",
	"reproduce zipf-skew --quick -o DIR/out", "run nosuch.csv",
}

// TestNothingIsLeftOfBars runs commands whose output and errors both go to a terminal. Bars are drawn, but when the
// program ends none of them is on the screen, nor in what has scrolled away, and every line fits.
func TestNothingIsLeftOfBars(t *testing.T) {
	onlyOnce(t)
	dir := loadedFiles(t)
	t.Setenv("COLUMNS", "")
	for _, command := range loadedCommands {
		t.Run(command, func(t *testing.T) {
			drawn := bothOnTerminal(t, dir, command, 80)
			if !strings.Contains(drawn, "▕") && !strings.Contains(command, "nosuch") && !strings.HasPrefix(command, "- ") {
				t.Errorf("no bar is drawn: %q", drawn)
			}
			for _, line := range onScreen(drawn) {
				if strings.Contains(line, "▕") || strings.Contains(line, "loading") {
					t.Errorf("left on the screen: %q", line)
				}
				isCommand := strings.HasPrefix(line, "  cachesim ")
				if n := terminal.StringWidth(line); n > 80 && !isCommand {
					t.Errorf("%d columns: %q", n, line)
				}
			}
		})
	}
}

// The answer about a log, with all that may be wrong with it, fits 24 lines with the command and the prompt.
func TestTheAnswerFitsAScreen(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("COLUMNS", "")
	must.Do(t, os.Mkdir(filepath.Join(dir, "seven"), 0o777))
	served := []string{"HIT", "MISS", "HIT", "BYPASS", "HIT"}
	for file := range 7 {
		var log strings.Builder
		for i := range 6000 {
			object := (i*i*7 + i/3 + file) % 997 * (1 + i%3)
			size := strconv.Itoa(500 + object*37%90000)
			if object%7 == 0 {
				size = "-"
			}
			fmt.Fprintf(&log, "10.0.0.%d - - [01/Nov/2026:10:%02d:%02d +0000] \"GET /p/%d.html?utm_source=s%d HTTP/1.1\" "+
				"200 %s \"-\" \"Mozilla/5.0\" rt=0.1 cs=%s\n", i%200, i/100, i%60, object, i%9, size, served[i*i%5])
			if i == 100*file {
				log.WriteString("garbage\n")
			}
		}
		name := fmt.Sprintf("www-frontend-%02d.example.com-access.log", file)
		must.Do(t, os.WriteFile(filepath.Join(dir, "seven", name), []byte(log.String()), 0o666))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "seven", "0.csv"), nil, 0o666))
	lines := onScreen(bothOnTerminal(t, dir, "seven/www*.log", 80))
	if n := len(lines) - 1; n > 23 || n < 15 { // the last one is empty, for the prompt
		t.Errorf("%d lines, want at most 23:\n%s", n, strings.Join(lines, "\n"))
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{"remarks on this log in full: cachesim run", "hit ratio at", "\nnext "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// A list of requests that exceeds a screen begins with how to shorten it; one that does not, does not.
func TestExplainSaysHowToSeeLess(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "seven"), 0o777))
	must.Do(t, os.WriteFile(filepath.Join(dir, "seven", "0.csv"), []byte("key\n"+strings.Repeat("a\nb\n", 30)), 0o666))
	const note = "60 requests: --to 20 ends sooner, --key NAME says why one misses"
	for args, want := range map[string]bool{"": true, " --to 30": false, " --key a": false, " --from 50": false} {
		text := strings.Join(onScreen(bothOnTerminal(t, dir, "explain seven/0.csv --capacity 1"+args, 80)), "\n")
		if at := strings.Index(text, note); at >= 0 != want || want && at > strings.Index(text, "position") {
			t.Errorf("%q: the note is at %d of\n%.400s", args, at, text)
		}
	}
}

// loadedFiles returns a folder with seven logs in the folder seven, and an experiment.
func loadedFiles(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "seven"), 0o777))
	for file := range 7 {
		var log strings.Builder
		log.WriteString("key,size\n")
		for i := range 60_000 {
			fmt.Fprintf(&log, "a-key-of-some-length-%d,%d\n", (i*i*7+i/3+file)%9973, 100+i%77)
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, "seven", fmt.Sprintf("%d.csv", file)), []byte(log.String()), 0o666))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "experiment.yaml"), []byte(`name: experiment
title: What a policy gains
source: nobody
traces:
  - name: zipf
    generate: zipf(alpha=0.9,objects=20000,requests=500000)
capacities: [1%, 10%]
policies: [lru, w-tinylfu, lirs, lecar, lhd, opt]
`), 0o666))
	return dir
}

// bothOnTerminal returns what a command sends to a terminal of width columns, on standard output and standard error.
func bothOnTerminal(t *testing.T, dir, command string, width int) string {
	t.Helper()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	defer screen.Close()
	must.Do(t, pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: uint16(width)}))
	t.Chdir(dir)
	sent := make(chan string)
	go func() {
		var text bytes.Buffer
		_, _ = io.Copy(&text, screen) // ends with an error when the terminal is closed
		sent <- text.String()
	}()
	log := must.Get(os.ReadFile(filepath.Join(dir, "seven", "0.csv")))(t)
	code := run(strings.Split(strings.ReplaceAll(command, "DIR", dir), " "), bytes.NewReader(log), tty, tty)
	tty.Close()
	text := <-sent
	if failed := code != exitFine; failed != strings.Contains(command, "nosuch") {
		t.Errorf("exit code %d: %s", code, text)
	}
	return text
}

// onScreen returns the lines that a terminal shows of what is sent to it, those that have scrolled away included. It
// knows the return to the first column, and the sequence that erases the rest of a line.
func onScreen(sent string) (lines []string) {
	var line []rune
	column := 0
	sent = strings.ReplaceAll(sent, "\x1b[K", "\x00")
	for _, r := range sent {
		switch r {
		case '\n':
			lines, line, column = append(lines, string(line)), nil, 0
		case '\r':
			column = 0
		case '\x00':
			line = line[:min(column, len(line))]
		default:
			for len(line) <= column {
				line = append(line, ' ')
			}
			line[column] = r
			column++
		}
	}
	return append(lines, string(line))
}

// COLUMNS goes before the width of the terminal.
func TestColumnsOfTheEnvironment(t *testing.T) {
	widest := func(text string) (n int) {
		for line := range strings.Lines(text) {
			n = max(n, terminal.StringWidth(strings.TrimRight(line, "\r\n")))
		}
		return n
	}
	dir := t.TempDir()
	t.Setenv("COLUMNS", "")
	whole := onTerminal(t, dir, "allocators", 120)
	t.Setenv("COLUMNS", "70")
	var stdout, stderr bytes.Buffer
	if code := run([]string{"allocators"}, nil, &stdout, &stderr); code != exitFine {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	narrow := onTerminal(t, dir, "allocators", 120)
	if n := widest(whole); n <= 70 || n > 120 {
		t.Errorf("%d columns without COLUMNS", n)
	}
	if n := widest(narrow); n > 70 {
		t.Errorf("%d columns with COLUMNS=70", n)
	}
	if n := widest(stdout.String()); n <= 120 {
		t.Errorf("%d columns where there is no terminal: rows are not whole", n)
	}
}

// onTerminal returns what a command prints on a terminal of width columns.
func onTerminal(t *testing.T, dir, command string, width int) string {
	t.Helper()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	defer screen.Close()
	must.Do(t, pty.Setsize(tty, &pty.Winsize{Rows: 50, Cols: uint16(width)}))
	t.Chdir(dir)
	printed := make(chan string)
	go func() {
		var text bytes.Buffer
		_, _ = io.Copy(&text, screen) // ends with an error when the terminal is closed
		printed <- text.String()
	}()
	args := strings.Split(strings.ReplaceAll(command, "DIR", dir), " ")
	if len(args) > 1 && args[0] == "run" {
		args = append(args, "--quiet")
	}
	var stderr bytes.Buffer
	code := run(args, nil, tty, &stderr)
	tty.Close()
	want := exitFine
	if strings.Contains(command, "moved") {
		want = exitCheckFailed
	}
	if code != want {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	text := <-printed
	if strings.TrimSpace(text) == "" {
		t.Errorf("nothing is printed; stderr: %s", &stderr)
	}
	if os.Getenv("SHOW_TABLES") != "" {
		t.Logf("%s, %d columns\n%s", command, width, text)
	}
	return text
}

// terminalFiles returns a folder with what terminalCommands read: a trace with sizes and tenants, prompts, an
// experiment, and records that still hold and that do not.
func terminalFiles(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, ".cache"))
	var mixed strings.Builder
	mixed.WriteString("time,key,size,customer\n")
	for i := range 3000 {
		object := (i*i*7 + i/3) % 700
		fmt.Fprintf(&mixed, "%d,%d,%d,%s\n", i, object, 100+object*977%90000,
			[]string{"web", "a-customer-with-a-rather-long-name", "Zürich 東京"}[object%3])
	}
	files := map[string]string{
		"mixed.csv": mixed.String(),
		"other.csv": "time,key,size\n" + strings.Repeat("1,5,10\n2,6,10\n", 200),
		"experiment.yaml": `name: experiment
title: What a policy gains where the trace has a long name and the title of the table is long too
source: nobody, a source that has a name of some length, somewhere 2024
traces:
  - name: a-trace-with-a-name-of-some-length
    generate: zipf(alpha=0.9,objects=200,requests=2000)
capacities: [1%, 2%, 5%, 10%, 20%, 30%, 40%, 50%, 60%, 70%]
policies: [lru, "s3fifo(small=0.2,ghost=0.8)", opt]
tables:
  - name: hit-ratios
    cells: hit_ratio
claims:
  - claim: hit_ratio(opt) > hit_ratio(lru)
    stated: the optimum is better than any other policy that does not know the future, as everybody expects
    at: a section
  - claim: hit_ratio(opt) < hit_ratio(lru)
    stated: the optimum is worse, which nobody expects
    at: another section
`,
	}
	for name, content := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666))
	}
	t.Chdir(dir)
	mustRun := func(args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(args, nil, &stdout, &stderr); code != exitFine {
			t.Fatalf("%q: exit code %d: %s", args, code, &stderr)
		}
		return stdout.String()
	}
	mustRun("gen", "llm", "--shape", "aibrix", "--conversations", "20", "--prompts", "60", "-o", "prompts.jsonl")
	held := mustRun("run", "mixed.csv", "--policy", "lru,s3fifo(small=0.2,ghost=0.8),opt", "--capacity", "10,100",
		"--format", "csv", "--quiet")
	for name, content := range map[string]string{"baseline.csv": held, "moved.csv": withMoreEvictions(t, held)} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666))
	}
	return dir
}

// withMoreEvictions returns records, as CSV, of which each says one eviction more.
func withMoreEvictions(t *testing.T, text string) string {
	t.Helper()
	rows := must.Get(csv.NewReader(strings.NewReader(text)).ReadAll())(t)
	column, digest := slices.Index(rows[0], "evictions"), slices.Index(rows[0], "digest")
	for _, row := range rows[1:] {
		n := must.Get(strconv.Atoi(row[column]))(t)
		row[column], row[digest] = strconv.Itoa(n+1), ""
	}
	var moved strings.Builder
	must.Do(t, csv.NewWriter(&moved).WriteAll(rows))
	return moved.String()
}
