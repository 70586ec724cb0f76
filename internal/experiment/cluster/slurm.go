package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// LogsDir is the folder in the sweep's folder in which Slurm writes one log per task.
const LogsDir = "logs"

// Slurm is the part of a submission that only Slurm has.
type Slurm struct {
	Program   string   // the path of cachesim on the nodes
	WorkDir   string   // where the tasks run; traces with relative paths are searched for there
	Traces    string   // CACHESIM_TRACES of the tasks; "" leaves it unset
	Pending   []int    // the shards to run, in ascending order
	Partition string   // "" for the cluster's default
	Account   string   // "" for the user's default
	Args      []string // further options of sbatch, such as "--constraint=avx512"
}

// Script returns the batch script for sbatch. It contains the number of shards, because Slurm's own count of the tasks
// is smaller if only some shards run.
func (s Slurm) Script(j Job) (string, error) {
	if err := errors.Join(j.Check(), s.check(j)); err != nil {
		return "", err
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("#!/bin/bash")
	line("# Task I of this array runs shard I of %d of the sweep %s. Finished cells are skipped, so it can be submitted "+
		"again at any time.", j.Shards, j.Name)
	for _, option := range append(s.options(j), s.Args...) {
		line("#SBATCH %s", directive(option))
	}
	if s.Traces != "" {
		line("export CACHESIM_TRACES=%s", shellQuote(s.Traces))
	}
	line(`exec %s sweep run %s --shard "$SLURM_ARRAY_TASK_ID/%d" --jobs %d%s`,
		shellQuote(s.Program), shellQuote(j.Dir), j.Shards, j.CPUs, strings.Join(append([]string{""},
			j.flags()...), " "))
	return b.String(), nil
}

func (s Slurm) options(j Job) []string {
	options := []string{
		"--job-name=cachesim-" + j.Name,
		"--array=" + s.array(j),
		"--chdir=" + s.WorkDir,
		"--output=" + logPattern(j.Dir),
		"--cpus-per-task=" + strconv.Itoa(j.CPUs),
	}
	add := func(name, value string, given bool) {
		if given {
			options = append(options, name+"="+value)
		}
	}
	add("--mem", fmt.Sprintf("%dM", ceil(j.Memory, 1<<20)), j.Memory > 0)
	add("--time", clockTime(j.Time), j.Time > 0)
	add("--gres", "gpu:1", j.Device.NeedsGPU() && !slices.ContainsFunc(s.Args, asksForGPUs))
	add("--partition", s.Partition, s.Partition != "")
	add("--account", s.Account, s.Account != "")
	return options
}

// asksForGPUs reports whether an option of sbatch says which GPUs a task gets.
func asksForGPUs(arg string) bool {
	return strings.HasPrefix(arg, "--gres") || strings.HasPrefix(arg, "--gpu") || strings.HasPrefix(arg, "-G") ||
		strings.HasPrefix(arg, "--tres")
}

// check reports what a batch script cannot express.
func (s Slurm) check(j Job) error {
	// Slurm interprets these in the pattern of the log files, and a backslash cannot be quoted there.
	if strings.ContainsAny(j.Dir, "\\\n") {
		return fmt.Errorf("%q: Slurm cannot write logs into a folder with a backslash or a line break in its path; rename it",
			j.Dir)
	}
	if len(s.Pending) == 0 {
		return errors.New("no shard has cells left to run")
	}
	for what, value := range map[string]string{"the working folder": s.WorkDir, "--partition": s.Partition,
		"--account": s.Account} {
		if strings.ContainsRune(value, '\n') {
			return fmt.Errorf("%s %q contains a line break, which a batch script cannot express", what, value)
		}
	}
	for _, arg := range s.Args {
		if err := checkSbatchArg(arg); err != nil {
			return err
		}
	}
	return nil
}

// setHere are the options without which a task would run the wrong shard or its log would not be found, with their
// letters.
var setHere = map[byte]string{'a': "--array", 'o': "--output", 'e': "--error"}

// flagLetters are options of sbatch without a value, so that another option may follow in the same word: -Ha 3 is
// --hold --array=3.
const flagLetters = "HIOQVWXhksuv"

func checkSbatchArg(arg string) error {
	if !strings.HasPrefix(arg, "-") || strings.Trim(arg, "-") == "" || strings.ContainsRune(arg, '\n') {
		return fmt.Errorf("--sbatch-arg %q: want one option of sbatch, such as --constraint=avx512", arg)
	}
	if option, ok := optionSetHere(arg); ok {
		return fmt.Errorf("--sbatch-arg %q: %s is set by cachesim; --shards and --parallel change the array", arg, option)
	}
	return nil
}

// optionSetHere returns the option of setHere that sbatch would find in arg. sbatch accepts abbreviations: --arr is
// --array.
func optionSetHere(arg string) (option string, ok bool) {
	if !strings.HasPrefix(arg, "--") {
		letters := strings.TrimLeft(arg[1:], flagLetters)
		if letters == "" {
			return "", false
		}
		option, ok = setHere[letters[0]]
		return option, ok
	}
	name, _, _ := strings.Cut(arg, "=")
	for _, option := range setHere {
		if strings.HasPrefix(option, name) {
			return option, true
		}
	}
	return "", false
}

// array formats the shards to run for Slurm: 0-3,7 and %2 for two at a time.
func (s Slurm) array(j Job) string {
	var ranges []string
	for i := 0; i < len(s.Pending); {
		first := i
		for i++; i < len(s.Pending) && s.Pending[i] == s.Pending[i-1]+1; i++ {
		}
		text := strconv.Itoa(s.Pending[first])
		if i-first > 1 {
			text += "-" + strconv.Itoa(s.Pending[i-1])
		}
		ranges = append(ranges, text)
	}
	text := strings.Join(ranges, ",")
	if j.Parallel > 0 {
		text += "%" + strconv.Itoa(j.Parallel)
	}
	return text
}

// logPattern is the path of the logs: Slurm replaces %A with the number of the job and %a with that of the task.
func logPattern(dir string) string {
	return filepath.Join(strings.ReplaceAll(dir, "%", "%%"), LogsDir, "%A_%a.log")
}

func LogFile(dir, job string, shard int) string {
	return filepath.Join(dir, LogsDir, fmt.Sprintf("%s_%d.log", job, shard))
}

func clockTime(d time.Duration) string {
	s := ceil(int64(d), int64(time.Second))
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// directive quotes an option for a line with #SBATCH, where only a quote and a backslash are special within quotes.
func directive(option string) string {
	if !strings.ContainsAny(option, " \t\"'\\#") {
		return option
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(option) + `"`
}

// shellQuote quotes a text for the shell, where nothing is special between single quotes.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// FailedError says that a job has ended and at least one of its tasks failed.
type FailedError struct{ Job string }

func (e *FailedError) Error() string { return fmt.Sprintf("a task of job %s has failed", e.Job) }

// Submit passes a batch script to sbatch and calls submitted with the job's number. With wait it returns when the job
// has ended, with a FailedError if a task failed. If ctx ends first, the job continues.
func Submit(ctx context.Context, script string, wait bool, submitted func(job string)) error {
	args := []string{"--parsable", script}
	if wait {
		args = append([]string{"--wait"}, args...)
	}
	cmd := exec.CommandContext(ctx, "sbatch", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("sbatch not found on this machine: submit %s where Slurm is installed, or run the shards "+
			"yourself with cachesim sweep run", script)
	} else if err != nil {
		return err
	}
	job := readJob(stdout)
	if job != "" {
		submitted(job)
	}
	_, _ = io.Copy(io.Discard, stdout)
	err = cmd.Wait()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case job == "":
		return refused(stderr.String(), err)
	case cmd.ProcessState.ExitCode() >= 0 && stderr.Len() == 0:
		return &FailedError{job}
	}
	return fmt.Errorf("sbatch stopped waiting for job %s: %s", job, messages(stderr.String(), err))
}

// readJob parses the output of sbatch --parsable: the number of the job and, if there are several clusters, a semicolon
// and the cluster's name.
func readJob(r io.Reader) string {
	line, _ := bufio.NewReader(r).ReadString('\n')
	job, _, _ := strings.Cut(strings.TrimSpace(line), ";")
	return job
}

func refused(stderr string, err error) error {
	text := "sbatch rejects the script: " + messages(stderr, err)
	if strings.Contains(stderr, "job array") {
		text += "; the cluster may not allow as many tasks (scontrol show config | grep MaxArraySize): give fewer --shards"
	}
	return errors.New(text)
}

// messages joins the output of sbatch into one line.
func messages(stderr string, err error) string {
	var texts []string
	for line := range strings.Lines(stderr) {
		for _, prefix := range []string{"sbatch: ", "error: ", "fatal: "} {
			line = strings.TrimPrefix(line, prefix)
		}
		if line = strings.TrimSpace(line); line != "" {
			texts = append(texts, line)
		}
	}
	if len(texts) == 0 {
		return err.Error()
	}
	return strings.Join(texts, "; ")
}

// LastLines returns the last n lines of a log, none for an empty one.
func LastLines(path string, n int) ([]string, error) {
	const tail = 16 << 10
	f, err := filestate.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-tail), tail))
	if err != nil {
		return nil, err
	}
	content := strings.TrimRight(string(text), "\n")
	if content == "" {
		return nil, nil
	}
	lines := strings.Split(content, "\n")
	return lines[max(0, len(lines)-n):], nil
}

// slurm writes the batch script and, if requested, submits it.
func (o Submission) slurm(ctx context.Context, out io.Writer, s *unfinished, job Job) (collect bool, err error) {
	options, err := o.slurmOptions(s, job)
	if err != nil {
		return false, err
	}
	script, err := options.Script(job)
	if err != nil {
		return false, err
	}
	if _, err := atomicfile.MakeFolderIn(s.dir, LogsDir); err != nil {
		return false, err
	}
	path, err := o.write(ctx, out, s.Dir, "submit.sbatch", script)
	if err != nil || path == "" {
		return false, err
	}
	fmt.Fprintf(out, "%s: %s of %d; %d of %d cells are left to run\n", path, shardCount(len(options.Pending)), job.Shards,
		len(s.missing), s.cells())
	if !o.Submit && !o.Wait {
		fmt.Fprintf(out, "submit it: sbatch %s\n", path)
		fmt.Fprintf(out, "collect:   cachesim sweep merge %s\n", s.Dir)
		return false, nil
	}
	return o.submitScript(ctx, out, s, job, path)
}

func (o Submission) slurmOptions(s *unfinished, job Job) (Slurm, error) {
	options := o.Slurm
	options.Program, options.Pending = o.Program, s.pending(job.Shards)
	if traces := os.Getenv(workload.Env); traces != "" {
		absolute, err := filepath.Abs(traces)
		if err != nil {
			return options, err
		}
		options.Traces = absolute
	}
	var err error
	if options.Program == "" {
		if options.Program, err = os.Executable(); err != nil {
			return options, fmt.Errorf("cannot find the path of this program (%w); give it with --program", err)
		}
	}
	options.WorkDir, err = os.Getwd()
	return options, err
}

// submitScript submits the script and, with Wait, waits for the job.
func (o Submission) submitScript(ctx context.Context, out io.Writer, s *unfinished, job Job,
	path string) (collect bool, err error) {
	var number string
	err = Submit(ctx, path, o.Wait, func(n string) {
		number = n
		fmt.Fprintf(out, "submitted job %s; its logs are %s\n", n,
			filepath.Join(s.Dir, LogsDir, n+"_*.log"))
	})
	failed := new(FailedError)
	switch {
	case ctx.Err() != nil && number != "":
		return false, fmt.Errorf("interrupted: job %s continues; scancel %s ends it, cachesim sweep merge %s collects its "+
			"results", number, number, s.Dir)
	case errors.As(err, &failed):
		// The cells say more than the exit code: they may be complete nevertheless.
	case err != nil:
		return false, err
	}
	if !o.Wait {
		fmt.Fprintf(out, "collect: cachesim sweep merge %s\n", s.Dir)
		return false, nil
	}
	if err := s.look(); err != nil {
		return false, err
	}
	if len(s.missing) > 0 {
		return false, s.unfinishedError(job, number)
	}
	return true, nil
}

// The number of unfinished shards that are shown with their logs, and the number of lines of each.
const (
	logsShown  = 5
	linesOfLog = 5
)

// unfinishedError says which shards of a finished job have missing cells, and what they wrote last.
func (s *unfinished) unfinishedError(job Job, number string) error {
	var b strings.Builder
	pending := s.pending(job.Shards)
	fmt.Fprintf(&b, "job %s has ended, but %d of %d cells are missing, of %s:", number, len(s.missing), s.cells(),
		shardCount(len(pending)))
	for _, shard := range pending[:min(logsShown, len(pending))] {
		path := LogFile(s.Dir, number, shard)
		fmt.Fprintf(&b, "\n  shard %d, %s:", shard, path)
		lines, err := LastLines(path, linesOfLog)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && len(lines) == 0:
			lines = []string{fmt.Sprintf("wrote nothing; scontrol show job %s_%d may give the reason", number, shard)}
		case err != nil:
			lines = []string{err.Error()}
		case !slices.ContainsFunc(lines, isError):
			// A task that is killed says nothing itself: its log ends with whatever it said before.
			lines = append(lines, fmt.Sprintf("no error; scontrol show job %s_%d may give the reason", number, shard))
		}
		for _, line := range lines {
			fmt.Fprintf(&b, "\n    %s", line)
		}
	}
	if more := len(pending) - logsShown; more > 0 {
		fmt.Fprintf(&b, "\n  and %s more", shardCount(more))
	}
	b.WriteString("\nthe same command, run again, runs what is missing")
	return &UnfinishedError{b.String()}
}

// isError reports whether a line of a log is an error of ours or of Slurm's.
func isError(line string) bool {
	return strings.HasPrefix(line, "cachesim: ") || strings.HasPrefix(line, "slurmstepd: error: ")
}
