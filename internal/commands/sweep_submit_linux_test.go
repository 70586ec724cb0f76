package commands

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
)

// slurmExperiment has four traces, one per shard.
const slurmExperiment = `name: on-slurm
title: A sweep for the test on Slurm
source: made up
traces:
  - {name: a, generate: "zipf(alpha=0.7,objects=100000,requests=20000)"}
  - {name: b, generate: "zipf(alpha=0.9,objects=100000,requests=20000)"}
  - {name: c, generate: "zipf(alpha=1.1,objects=100000,requests=20000)"}
  - {name: d, generate: "zipf(alpha=1.3,objects=100000,requests=20000)"}
policies: [lhd, lecar, cacheus, lru-k, w-tinylfu]
capacities: [0.5%, 1%, 2%, 5%]
seeds: [7]
`

// killedShard is the shard that is killed in the first run, killedAfter the number of cells that it has finished then.
const killedShard, killedAfter = 2, 3

// TestSlurm runs a sweep as an array of four tasks on a real Slurm, kills one task halfway, submits again, and compares
// the records with the same sweep's on one machine.
func TestSlurm(t *testing.T) {
	cluster := startSlurm(t)
	s := &slurmSweep{t: t, cluster: cluster, base: filepath.Join(t.TempDir(), `it's a "sweep", 100% $HOME`)}
	s.build()
	s.write("experiment.yaml", slurmExperiment)
	s.run(exitFine, nil, "sweep", "experiment.yaml", "-o", "single", "--quiet")
	s.run(exitFine, nil, "sweep", "plan", "experiment.yaml", "-o", "out")

	// without warning, as the kernel kills a program when memory runs out
	kill := fmt.Sprintf("%s=KILL %d %d/4", signalVariable, killedAfter, killedShard)
	message := s.run(exitCheckFailed, []string{kill}, "sweep", "submit", "out", "--engine", "slurm", "--shards", "4",
		"--memory", "512MiB", "--time", "5m", "--wait")
	want := regexp.MustCompile(`missing, of 1 shard:\n  shard 2, out/logs/\d+_2\.log:\n` +
		`    .*lhd has learned nothing.*\n    no error; scontrol show job \d+_2 may give the reason\n`)
	if !want.MatchString(message) {
		t.Errorf("submit says %q", message)
	}
	for shard := range 4 {
		finished, all := s.cells(shard)
		if shard == killedShard && finished != killedAfter || shard != killedShard && finished != all {
			t.Errorf("after one task was killed, shard %d has %d of %d cells", shard, finished, all)
		}
	}
	s.run(exitCheckFailed, nil, "sweep", "merge", "out")
	before := s.modified()

	s.run(exitFine, nil, "sweep", "submit", "out", "--engine", "slurm", "--shards", "4", "--wait")
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
		t.Errorf("the records of four tasks, one of them killed and run again, differ from one machine's: %d and %d "+
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

// build makes the program: a copy of this test, which TestMain has act as the program.
func (s *slurmSweep) build() {
	s.t.Helper()
	self := must.Get(os.Executable())(s.t)
	content := must.Get(os.ReadFile(self))(s.t)
	s.program = filepath.Join(s.base, "cachesim")
	must.Do(s.t, errors.Join(os.Mkdir(s.base, 0o755), os.WriteFile(s.program, content, 0o755)))
}

func (s *slurmSweep) write(name, text string) {
	s.t.Helper()
	must.Do(s.t, os.WriteFile(filepath.Join(s.base, name), []byte(text), 0o644))
}

func (s *slurmSweep) read(name string) string {
	s.t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(s.base, name)))(s.t)
	return string(text)
}

// run runs the program, which must end with the given exit code, and returns its standard error.
func (s *slurmSweep) run(code int, env []string, args ...string) string {
	s.t.Helper()
	cmd := s.cluster.command(s.program, args...)
	cmd.Dir, cmd.Env = s.base, append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		s.t.Errorf("cachesim %s: %v, want exit code %d\n%s%s", strings.Join(args, " "), err, code, &stdout, &stderr)
	}
	return stderr.String()
}

// cells returns the number of a shard's finished cells, and of all its cells.
func (s *slurmSweep) cells(shard int) (finished, all int) {
	s.t.Helper()
	dir := filepath.Join(s.base, "out")
	plan := must.Get(sweep.ReadPlan(dir))(s.t)
	share := sweep.Shard{Index: shard, Of: 4}.Cells(plan)
	done := must.Get(sweep.ReadFinished(plan, dir))(s.t)
	return len(share) - len(done.Missing(share)), len(share)
}

func (s *slurmSweep) modified() map[string]time.Time {
	s.t.Helper()
	paths := must.Get(filepath.Glob(filepath.Join(s.base, "out", "cells", "*.json")))(s.t)
	times := map[string]time.Time{}
	for _, path := range paths {
		info := must.Get(os.Stat(path))(s.t)
		times[path] = info.ModTime()
	}
	return times
}
