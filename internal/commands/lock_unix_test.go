//go:build unix

package commands

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// Two experiments with the same name; the second has another capacity.
const sharedName = `name: small
title: A small experiment
source: ours
traces:
  - {name: zipf, generate: "zipf(objects=1000,requests=200000,seed=1)"}
policies: [lru, s3fifo]
capacities: [CAPACITY]
`

func writeExperiment(t *testing.T, dir, capacity string) string {
	t.Helper()
	path := filepath.Join(dir, "small"+capacity+".yaml")
	must.Do(t, os.WriteFile(path, []byte(strings.Replace(sharedName, "CAPACITY", capacity, 1)), 0o644))
	return path
}

// A folder in use by another program is left alone, and the error gives the reason.
func TestLockedFolderIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	out, file := filepath.Join(dir, "out"), writeExperiment(t, dir, "10")
	if code, _, stderr := runCachesim(t, "sweep", "plan", file, "-o", out); code != exitFine {
		t.Fatal(stderr)
	}
	lock, err := atomicfile.LockFolder(out)
	if err != nil || !lock.Works() {
		t.Skip("this file system has no locks")
	}
	for _, args := range [][]string{
		{"sweep", file, "-o", out}, {"sweep", "--resume", "-o", out}, {"sweep", "plan", file, "-o", out},
		{"sweep", "run", out, "--shard", "0/1"}, {"sweep", "merge", out},
	} {
		code, _, stderr := runCachesim(t, args...)
		if code != exitWrongUse || !strings.Contains(stderr, "another cachesim is at work in "+out) {
			t.Errorf("%q: exit code %d, %s", args, code, stderr)
		}
	}
	lock.Unlock()
	lock = must.Get(atomicfile.ShareFolder(out))(t)
	defer lock.Unlock()
	if code, _, stderr := runCachesim(t, "sweep", "run", out, "--shard", "0/1"); code != exitFine {
		t.Errorf("beside another share: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := runCachesim(t, "sweep", "plan", file, "-o", out); code != exitWrongUse {
		t.Errorf("planning beside a share: exit code %d, %s", code, stderr)
	}
}

func runCachesim(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = run(args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// Two experiments with the same name start in one folder at the same time. Either one proceeds, or both do, one after
// the other; the folder then contains the plan, the experiment and the records of the last one.
func TestTwoSweepsInOneFolder(t *testing.T) {
	program := must.Get(os.Executable())(t)
	link := filepath.Join(t.TempDir(), "cachesim")
	must.Do(t, os.Symlink(program, link))
	for range 3 {
		dir := t.TempDir()
		out := filepath.Join(dir, "out")
		var programs []*exec.Cmd
		for _, capacity := range []string{"10", "20"} {
			c := exec.Command(link, "sweep", writeExperiment(t, dir, capacity), "-o", out)
			must.Do(t, c.Start())
			programs = append(programs, c)
		}
		fine := 0
		for _, c := range programs {
			if c.Wait() == nil {
				fine++
			} else if code := c.ProcessState.ExitCode(); code != exitWrongUse {
				t.Errorf("exit code %d", code)
			}
		}
		if fine == 0 {
			t.Error("none has proceeded")
		}
		before := mustReadFile(t, filepath.Join(out, "records.jsonl"))
		if code, _, stderr := runCachesim(t, "sweep", "merge", out); code != exitFine {
			t.Errorf("merge: %s", stderr)
		}
		if mustReadFile(t, filepath.Join(out, "records.jsonl")) != before {
			t.Error("the records do not belong to the plan")
		}
	}
}

func mustReadFile(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}
