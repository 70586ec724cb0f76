package cluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

func TestScript(t *testing.T) {
	full := Slurm{
		Program: "/opt/cachesim/bin/cachesim", WorkDir: "/data/alice", Traces: "/data/traces", Pending: []int{0, 1, 2, 3, 4,
			5, 6, 7},
		Partition: "compute", Account: "storage-lab", Args: []string{"--constraint=avx512", "--comment=for the paper"},
	}
	hostile := Slurm{
		Program: `/opt/it's "new"/$HOME/cachesim`,
		WorkDir: "/data/a b`ls`",
		Traces:  "/data/$(ls)/é\n",
		Pending: []int{0, 2, 3, 5},
	}
	for _, c := range []struct {
		name string
		job  Job
		Slurm
	}{
		{"full", Job{Name: "classic-block", Dir: "/data/out", Shards: 8, Parallel: 4, CPUs: 2, Memory: 1<<30 + 1,
			Time: 26*time.Hour + 1}, full},
		{"minimal", Job{Name: "x", Dir: "/out", Shards: 1, CPUs: 1}, Slurm{Program: "/bin/cachesim", WorkDir: "/",
			Pending: []int{0}}},
		{"hostile", Job{Name: "x", Dir: `/data/it's 100% "mine" #1; $(ls)`, Shards: 6, CPUs: 1}, hostile},
	} {
		t.Run(c.name, func(t *testing.T) {
			script := must.Get(c.Script(c.job))(t)
			golden(t, c.name+".sbatch", script)
		})
	}
}

// TestScriptRuns runs the script as Slurm would, with a program that prints its arguments, at paths that are hard to
// quote.
func TestScriptRuns(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash:", err)
	}
	base := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringMatching("[ -.0-\\[\\]-~\té]{1,12}").Draw(rt, "folder") + "x"
		dir := filepath.Join(base, name)
		must.Do(rt, os.MkdirAll(dir, 0o755))
		program := filepath.Join(dir, "cachesim")
		text := "#!/bin/sh\nprintf '%s\\n' \"$CACHESIM_TRACES\" \"$@\"\n"
		must.Do(rt, os.WriteFile(program, []byte(text), 0o755))
		s := Slurm{Program: program, WorkDir: dir, Traces: dir, Pending: []int{3}}
		script, err := s.Script(Job{Name: "x", Dir: dir, Shards: 5, CPUs: 2})
		must.Do(rt, err)
		cmd := exec.Command(bash, "-c", script)
		cmd.Env = []string{"SLURM_ARRAY_TASK_ID=3"}
		out, err := cmd.CombinedOutput()
		want := strings.Join([]string{dir, "sweep", "run", dir, "--shard", "3/5", "--jobs", "2"}, "\n") + "\n"
		if err != nil || string(out) != want {
			rt.Fatalf("%v: got\n%s\nwant\n%s", err, out, want)
		}
	})
}

func TestScriptErrors(t *testing.T) {
	good := Job{Name: "x", Dir: "/out", Shards: 4, CPUs: 1}
	for want, change := range map[string]func(*Job, *Slurm){
		"--shards 0":             func(j *Job, s *Slurm) { j.Shards = 0 },
		"--parallel -1":          func(j *Job, s *Slurm) { j.Parallel = -1 },
		"--cpus 0":               func(j *Job, s *Slurm) { j.CPUs = 0 },
		"--time 1ms":             func(j *Job, s *Slurm) { j.Time = time.Millisecond },
		"backslash":              func(j *Job, s *Slurm) { j.Dir = `/a\b` },
		"line break in its path": func(j *Job, s *Slurm) { j.Dir = "/a\nb" },
		"no shard":               func(j *Job, s *Slurm) { s.Pending = nil },
		"the working folder":     func(j *Job, s *Slurm) { s.WorkDir = "/a\nb" },
		"--partition":            func(j *Job, s *Slurm) { s.Partition = "a\n#SBATCH --exclusive" },
		"--array is set":         func(j *Job, s *Slurm) { s.Args = []string{"--array=1"} },
		"--output is set":        func(j *Job, s *Slurm) { s.Args = []string{"-o/tmp/x"} },
		"want one option":        func(j *Job, s *Slurm) { s.Args = []string{"constraint=avx512"} },
	} {
		j, s := good, Slurm{Program: "/bin/cachesim", WorkDir: "/", Pending: []int{0, 1, 2, 3}}
		change(&j, &s)
		must.NotGet(s.Script(j))(t, want, "got")
	}
}

func TestArray(t *testing.T) {
	for _, c := range []struct {
		pending  []int
		parallel int
		want     string
	}{
		{[]int{0}, 0, "0"},
		{[]int{0, 1, 2, 3}, 2, "0-3%2"},
		{[]int{1, 3}, 0, "1,3"},
		{[]int{0, 1, 5, 6, 7, 9}, 0, "0-1,5-7,9"},
	} {
		if got := (Slurm{Pending: c.pending}).array(Job{Parallel: c.parallel}); got != c.want {
			t.Errorf("%v: %s, want %s", c.pending, got, c.want)
		}
	}
}

// sbatch puts a stand-in for sbatch in the PATH that runs a script.
func sbatch(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "sbatch"), []byte("#!/bin/sh\n"+text), 0o755))
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

func TestSubmit(t *testing.T) {
	for _, c := range []struct {
		name, sbatch string
		job, err     string
	}{
		{"fine", "[ \"$*\" = '--wait --parsable my.sbatch' ] && echo '7;main'", "7", ""},
		{"failed", "echo 7; exit 1", "7", "a task of job 7 has failed"},
		{"refused", "echo 'sbatch: error: invalid partition specified: nope' >&2; echo 'sbatch: error: Batch job " +
			"submission failed' >&2; exit 1",
			"", "sbatch rejects the script: invalid partition specified: nope; Batch job submission failed"},
		{"array", "echo 'sbatch: error: Invalid job array specification' >&2; exit 1", "", "MaxArraySize"},
		{"controller", "echo 7; echo 'sbatch: error: no controller' >&2; exit 1", "7", "stopped waiting for job 7: no " +
			"controller"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sbatch(t, c.sbatch)
			var job string
			err := Submit(t.Context(), "my.sbatch", true, func(j string) { job = j })
			if job != c.job || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("job %q, error %v; want %q, %q", job, err, c.job, c.err)
			}
		})
	}
}

func TestSubmitWithoutSlurm(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Submit(t.Context(), "my.sbatch", false, func(string) { t.Error("submitted") })
	must.Fail(t, err, "sbatch not found on this machine")
}

func TestInterruptedWait(t *testing.T) {
	sbatch(t, "echo 7; exec sleep 60")
	ctx, cancel := context.WithCancel(t.Context())
	err := Submit(ctx, "my.sbatch", true, func(string) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for _, c := range []struct{ text, want string }{
		{"a\nb\nc\n", "b|c"},
		{"a", "a"},
		{"", ""},
		{strings.Repeat("x\n", 100000) + "y\n", "x|y"},
	} {
		must.Do(t, os.WriteFile(path, []byte(c.text), 0o644))
		got, err := LastLines(path, 2)
		if err != nil || strings.Join(got, "|") != c.want {
			t.Errorf("%v, %v; want %s", got, err, c.want)
		}
	}
}

// sbatch accepts abbreviations of its options, and several letters in one word.
func TestOptionsThatCachesimSets(t *testing.T) {
	for _, arg := range []string{
		"--array=1", "--arr=1-3", "--arr", "--a", "--outp=x", "--err=x", "-a1", "-Ha3", "-Qo", "-ex", "--output", "-o", "--",
		"-", "---", "array=3", "--x\n--array=1",
	} {
		if err := checkSbatchArg(arg); err == nil {
			t.Errorf("%q passes", arg)
		}
	}
	for _, arg := range []string{"--account=lab", "--export=ALL", "--open-mode=append", "--oversubscribe", "-H",
		"-pa", "-Aoffice", "-C a", "--exclusive", "--comment=--array"} {
		if err := checkSbatchArg(arg); err != nil {
			t.Errorf("%q: %v", arg, err)
		}
	}
}
