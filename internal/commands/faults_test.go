//go:build unix

package commands

import (
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/faults"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/records"
)

// A command with failing operations: its input, and what must be on disk afterwards.
type faultyCommand struct {
	name    string
	prepare func(t *testing.T, dir string) // fills a new folder
	args    func(dir string) []string
	keeps   []string // files that may remain, besides the output of a successful run
	again   bool     // the command continues from what remains
}

const faultyExperiment = `name: small
title: A small experiment
source: ours
traces:
  - {name: zipf, generate: "zipf(objects=100,requests=500,seed=1)"}
policies: [lru, fifo]
capacities: [10]
claims:
  - claim: hit_ratio(lru) > 0
`

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(content), 0o644))
}

func mustRun(t *testing.T, args ...string) {
	t.Helper()
	if code, _, stderr := runCachesim(t, args...); code != exitFine {
		t.Fatalf("%q: exit code %d, %s", args, code, stderr)
	}
}

// embeddings answers like a service.
func embeddings(w http.ResponseWriter, r *http.Request) {
	var q struct{ Input []string }
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var rows []string
	for i, text := range q.Input {
		rows = append(rows, fmt.Sprintf(`{"index":%d,"embedding":[1,%d]}`, i, len(text)))
	}
	io.Copy(io.Discard, r.Body)
	fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(rows, ","))
}

func faultyCommands(t *testing.T) []faultyCommand {
	service := httptest.NewServer(http.HandlerFunc(embeddings))
	t.Cleanup(service.Close)
	const queries = `{"time":0,"id":"a","text":"one"}
{"time":1,"id":"b","text":"three"}
{"time":2,"id":"c","text":"five"}
`
	sweep := func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "small.yaml"), faultyExperiment) }
	return []faultyCommand{
		{
			name: "run",
			prepare: func(t *testing.T, dir string) {
				writeFile(t, filepath.Join(dir, "trace.txt"), strings.Repeat("a\nb\nc\na\n", 50))
			},
			args: func(dir string) []string {
				return []string{"run", filepath.Join(dir, "trace.txt"), "--policy", "lru,fifo", "--capacity", "1,2", "--jobs", "1",
					"-o", filepath.Join(dir, "out")}
			},
		},
		{
			name: "sweep", prepare: sweep, again: true,
			args: func(dir string) []string {
				return []string{"sweep", filepath.Join(dir, "small.yaml"), "--jobs", "1", "-o", filepath.Join(dir, "out")}
			},
		},
		{
			name: "merge", again: true,
			prepare: func(t *testing.T, dir string) {
				sweep(t, dir)
				out := filepath.Join(dir, "out")
				mustRun(t, "sweep", "plan", filepath.Join(dir, "small.yaml"), "-o", out)
				mustRun(t, "sweep", "run", out, "--shard", "0/1")
			},
			args: func(dir string) []string { return []string{"sweep", "merge", filepath.Join(dir, "out")} },
		},
		{
			name:    "embed",
			prepare: func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "queries.jsonl"), queries) },
			args: func(dir string) []string {
				return []string{"embed", filepath.Join(dir, "queries.jsonl"), "-o", filepath.Join(dir, "queries.npy")}
			},
		},
		{
			name: "embed by a service", keeps: []string{"queries.npy.partial"}, again: true,
			prepare: func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, "queries.jsonl"), queries) },
			args: func(dir string) []string {
				return []string{"embed", filepath.Join(dir, "queries.jsonl"), "-o", filepath.Join(dir, "queries.npy"),
					"--endpoint", service.URL, "--model", "m", "--batch", "1", "--retries", "0"}
			},
		},
		{
			name: "convert",
			prepare: func(t *testing.T, dir string) {
				mustRun(t, "gen", "zipf", "-n", "3000", "--objects", "50", "-o", filepath.Join(dir, "in.csv.zst"))
			},
			args: func(dir string) []string {
				return []string{"convert", filepath.Join(dir, "in.csv.zst"), filepath.Join(dir, "out.oracleGeneral.zst")}
			},
		},
		{
			name: "convert to Parquet",
			prepare: func(t *testing.T, dir string) {
				mustRun(t, "gen", "zipf", "-n", "3000", "--objects", "50", "-o", filepath.Join(dir, "in.csv"))
				writeFile(t, filepath.Join(dir, "out.parquet"), "old")
			},
			args: func(dir string) []string {
				return []string{"convert", filepath.Join(dir, "in.csv"), filepath.Join(dir, "out.parquet")}
			},
		},
	}
}

// Whichever file operation fails (or memory request), the command must end with one error. Each file on disk must then
// be as a successful run writes it, as it was before, or absent. A command that can continue from there must reach the
// same result.
func TestEveryFailureLeavesWholeFiles(t *testing.T) {
	onlyOnce(t)
	for _, c := range faultyCommands(t) {
		t.Run(c.name, func(t *testing.T) {
			dir, good := t.TempDir(), t.TempDir()
			c.prepare(t, dir)
			before := filesIn(t, dir)
			mustRun(t, c.args(dir)...)
			writeFiles(t, good, filesIn(t, dir))
			step := brief.OfLong(1, 13) // a run and a sweep have many operations
			failures := map[filestate.Operation]int{}
			for n := 1; ; n += step {
				op, ok := c.failAt(t, n, dir, good, before)
				if !ok {
					break
				}
				failures[op]++
			}
			for _, op := range []filestate.Operation{filestate.Create, filestate.Write, filestate.Rename, filestate.Read} {
				if failures[op] == 0 && step == 1 {
					t.Errorf("no %s has failed: %v", op, failures)
				}
			}
			t.Log(failures)
		})
	}
}

// failAt runs the command in dir, with the files from before, with its n-th operation failing. It returns false if the
// command has fewer operations.
func (c faultyCommand) failAt(t *testing.T, n int, dir, good string, before map[string]string) (
	failed filestate.Operation, ok bool) {
	t.Helper()
	must.Do(t, os.RemoveAll(dir))
	writeFiles(t, dir, before)
	done := 0
	var where string
	restore := faults.Inject(func(op filestate.Operation, path string) error {
		if done++; done == n {
			failed, where = op, path
			return syscall.EIO
		}
		return nil
	})
	code, _, stderr := runCachesim(t, c.args(dir)...)
	restore()
	if failed == "" {
		return "", false
	}
	what := fmt.Sprintf("operation %d, %s %s", n, failed, strings.TrimPrefix(where, dir))
	c.checkEnd(t, what, failed, code, stderr)
	leftBehind := failed == filestate.Delete // of a temporary file, which the next run removes
	for name, content := range filesIn(t, dir) {
		switch {
		case strings.HasPrefix(filepath.Base(name), ".cachesim-") && leftBehind, slices.Contains(c.keeps, name):
		case content == before[name]:
		default:
			checkWhole(t, what, dir, good, name)
		}
	}
	if c.again && !leftBehind {
		if _, err := os.Stat(filepath.Join(dir, "queries.npy")); err == nil {
			return failed, true // nothing left to do
		}
		mustRun(t, c.args(dir)...)
		for name := range filesIn(t, good) {
			checkWhole(t, what+", and again", dir, good, name)
		}
	}
	return failed, true
}

// checkEnd expects one error, or a command that has done its work nevertheless.
func (c faultyCommand) checkEnd(t *testing.T, what string, failed filestate.Operation, code int, stderr string) {
	t.Helper()
	want := exitWrongUse
	if failed == faults.Allocate {
		want = exitOutOfMemory
	}
	if c.name == "merge" && strings.Contains(stderr, "is damaged") { // a result that cannot be read
		want = exitCheckFailed
	}
	if code != exitFine && (code != want || strings.Count(stderr, "cachesim: ") != 1) {
		t.Errorf("%s: exit code %d, %s", what, code, stderr)
	}
	if code == exitFine && (failed == filestate.Write || failed == filestate.Rename || failed == filestate.Sync) {
		t.Errorf("%s: exit code 0, %s", what, stderr)
	}
}

// filesIn returns the contents of all files below a folder, by name.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must.Do(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			files[name] = mustReadFile(t, path)
		}
		return err
	}))
	return files
}

// writeFiles is the opposite of filesIn.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		writeFile(t, path, content)
	}
}

// withoutNumbers returns a text without its digits and what separates them.
func withoutNumbers(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c == '.' || c == ',' {
			return -1
		}
		return c
	}, text)
}

// checkWhole expects a file to be identical to a successful run's; if it contains times, to be complete.
func checkWhole(t *testing.T, what, dir, good, name string) {
	t.Helper()
	path := filepath.Join(dir, name)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	switch {
	case strings.HasPrefix(filepath.Base(name), "records."):
		var recs, want []records.Record
		if recs, err = records.Read(path, nil); err == nil {
			want, err = records.Read(filepath.Join(good, name), nil)
		}
		if err == nil && len(recs) != len(want) {
			err = fmt.Errorf("%d records, want %d", len(recs), len(want))
		}
	case filepath.Base(filepath.Dir(name)) == "cells":
		var cells []experiment.Cell
		var finished *sweep.Finished
		if cells, err = sweep.ReadPlan(filepath.Join(dir, "out")); err == nil {
			finished, err = sweep.ReadFinished(cells, filepath.Join(dir, "out"))
		}
		if err == nil && len(finished.Damaged) > 0 {
			err = fmt.Errorf("damaged: %v", finished.Damaged)
		}
	case filepath.Base(name) == "timings.csv":
		if lines := strings.Count(string(content), "\n"); lines != 4 || content[len(content)-1] != '\n' {
			err = fmt.Errorf("%d lines", lines)
		}
	case filepath.Base(name) == "plan.jsonl": // contains the digest of the experiment, which includes the folder's name
		_, err = sweep.ReadPlan(filepath.Dir(path))
	case filepath.Ext(name) == ".png":
		_, err = png.Decode(strings.NewReader(string(content)))
	case filepath.Ext(name) == ".svg":
		if !strings.HasSuffix(strings.TrimSpace(string(content)), "</svg>") {
			err = fmt.Errorf("cut off")
		}
	case filepath.Base(name) == "report.html": // the table of a run has times
		if withoutNumbers(string(content)) != withoutNumbers(mustReadFile(t, filepath.Join(good, name))) {
			err = fmt.Errorf("not as a good run writes it: %.200q", content)
		}
	default:
		if string(content) != mustReadFile(t, filepath.Join(good, name)) {
			err = fmt.Errorf("not as a good run writes it: %.200q", content)
		}
	}
	if err != nil {
		t.Errorf("%s: %s: %v", what, name, err)
	}
}
