package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/experiment/sweep"
)

// slurmExperiment has four traces, one per shard, and enough cells that a shard takes a while.
const slurmExperiment = `name: on-slurm
title: A sweep for the test on Slurm
source: made up
traces:
  - {name: a, generate: "zipf(alpha=0.7,objects=100000,requests=700000)"}
  - {name: b, generate: "zipf(alpha=0.9,objects=100000,requests=700000)"}
  - {name: c, generate: "zipf(alpha=1.1,objects=100000,requests=700000)"}
  - {name: d, generate: "zipf(alpha=1.3,objects=100000,requests=700000)"}
policies: [lhd, lecar, cacheus, lru-k, w-tinylfu]
capacities: [0.5%, 1%, 2%, 5%]
seeds: [7]
`

// killedShard is the shard that is killed in the first run.
const killedShard = 2

// TestSlurm runs a sweep as an array of four tasks on a real Slurm, kills one task halfway, submits again, and compares
// the records with those of the same sweep on one machine.
func TestSlurm(t *testing.T) {
	cluster := startSlurm(t)
	s := &slurmSweep{t: t, cluster: cluster, base: filepath.Join(t.TempDir(), `it's a "sweep", 100% $HOME`)}
	s.build()
	s.write("experiment.yaml", slurmExperiment)
	s.run(exitFine, "sweep", "experiment.yaml", "-o", "single", "--quiet")
	s.run(exitFine, "sweep", "plan", "experiment.yaml", "-o", "out")

	ended := s.start(exitCheckFailed, "sweep", "submit", "out", "--engine", "slurm", "--shards", "4", "--memory", "512MiB",
		"--time", "5m", "--wait")
	var job string
	cluster.waitFor("the job", func() bool { job = cluster.firstJob(); return job != "" })
	cluster.waitFor("the first cell of a shard", func() bool { finished, _ := s.cells(killedShard); return finished > 0 })
	s.kill(killedShard)
	message := <-ended
	if !strings.Contains(message, "missing, of 1 shard:") ||
		!strings.Contains(message, "shard 2, out/logs/"+job+"_2.log:\n    wrote nothing;") {
		t.Errorf("submit says %q", message)
	}
	for shard := range 4 {
		finished, all := s.cells(shard)
		if shard == killedShard && (finished == 0 || finished == all) || shard != killedShard && finished != all {
			t.Errorf("after one task was killed, shard %d has %d of %d cells", shard, finished, all)
		}
	}
	s.run(exitCheckFailed, "sweep", "merge", "out")
	before := s.modified()

	s.run(exitFine, "sweep", "submit", "out", "--engine", "slurm", "--shards", "4", "--wait")
	if script := s.read("out/submit.sbatch"); !strings.Contains(script, "#SBATCH --array=2\n") {
		t.Errorf("the second job has more than the shard that was killed:\n%s", script)
	}
	after := s.modified()
	for path, when := range before {
		if !after[path].Equal(when) {
			t.Errorf("%s was finished before the second run and has been written again", path)
		}
	}
	if got, want := s.read("out/records.jsonl"), s.read("single/records.jsonl"); got != want || want == "" {
		t.Errorf("the records of four tasks, one of them killed and run again, differ from those of one machine: %d and %d "+
			"bytes", len(got), len(want))
	}
}

// slurmSweep is a sweep in a folder whose name is hard to quote.
type slurmSweep struct {
	t       *testing.T
	cluster *slurm
	base    string
	program string
}

func (s *slurmSweep) build() {
	s.t.Helper()
	if err := os.Mkdir(s.base, 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.program = filepath.Join(s.base, "cachesim")
	if out, err := exec.Command("go", "build", "-o", s.program, ".").CombinedOutput(); err != nil {
		s.t.Fatalf("go build: %v: %s", err, out)
	}
}

func (s *slurmSweep) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.base, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *slurmSweep) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.base, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// run runs the program, which must end with the given exit code.
func (s *slurmSweep) run(code int, args ...string) {
	s.t.Helper()
	<-s.start(code, args...)
}

// start starts the program. When it ends, which it must do with the given exit code, the channel gets its standard
// error.
func (s *slurmSweep) start(code int, args ...string) <-chan string {
	s.t.Helper()
	cmd := s.cluster.command(s.program, args...)
	cmd.Dir = s.base
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() {
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != code {
			s.t.Errorf("cachesim %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, &stdout, &stderr)
		}
		ended <- stderr.String()
	}()
	s.t.Cleanup(func() { cmd.Process.Kill() })
	return ended
}

// kill kills the program that runs a shard, without warning, as the kernel does when memory runs out.
func (s *slurmSweep) kill(shard int) {
	s.t.Helper()
	for pid, args := range processes(s.t) {
		if args[0] != s.program || !slices.Contains(args, fmt.Sprintf("%d/4", shard)) {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	s.t.Fatalf("shard %d is not running", shard)
}

// processes returns the arguments of the processes on this machine.
func processes(t *testing.T) map[int][]string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	all := map[int][]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		pid, notANumber := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && notANumber == nil { // otherwise it has ended since
			all[pid] = strings.Split(string(text), "\x00")
		}
	}
	return all
}

// cells returns the number of a shard's finished cells, and of all its cells.
func (s *slurmSweep) cells(shard int) (finished, all int) {
	s.t.Helper()
	dir := filepath.Join(s.base, "out")
	plan, err := sweep.ReadPlan(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	share := sweep.Shard{Index: shard, Of: 4}.Cells(plan)
	done, err := sweep.ReadFinished(plan, dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return len(share) - len(done.Missing(share)), len(share)
}

// modified returns when each result was written.
func (s *slurmSweep) modified() map[string]time.Time {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.base, "out", "cells", "*.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	times := map[string]time.Time{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			s.t.Fatal(err)
		}
		times[path] = info.ModTime()
	}
	return times
}
