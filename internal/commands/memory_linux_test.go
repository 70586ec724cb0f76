package commands

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// measured is the result of one run of the program.
type measured struct {
	exit   int
	stdout string
	stderr string
	peak   int64 // bytes of memory
}

// programOf returns a name for this test binary under which TestMain acts as the program.
func programOf(t *testing.T) string {
	t.Helper()
	self := must.Get(os.Executable())(t)
	program := filepath.Join(t.TempDir(), "cachesim")
	must.Do(t, os.Symlink(self, program))
	return program
}

// measure runs the program as a separate process.
func measure(t *testing.T, args ...string) measured {
	t.Helper()
	return measureCommand(t, exec.Command(programOf(t), args...))
}

func measureCommand(t *testing.T, cmd *exec.Cmd) measured {
	t.Helper()
	if testing.Short() {
		t.Skip("the race detector, which runs the short tests, takes more memory than the program")
	}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	peakFile := filepath.Join(t.TempDir(), "peak")
	cmd.Env = append(cmd.Environ(), peakVariable+"="+peakFile)
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	kilobytes := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	if peak, err := os.ReadFile(peakFile); err == nil {
		kilobytes = must.Get(strconv.ParseInt(strings.TrimSpace(string(peak)), 10, 64))(t)
	}
	return measured{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), kilobytes << 10}
}

// peakVariable names the file into which a program that a test measures writes its peak of memory, in KiB, unless it
// ends at once. What the kernel reports of a process that has ended is no less than what the test itself used when it
// started the process.
const peakVariable = "CACHESIM_TEST_PEAK"

func init() { ended = writePeak }

// writePeak writes the largest resident memory of this process.
func writePeak() {
	file := os.Getenv(peakVariable)
	if file == "" {
		return
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	peak, _, _ := strings.Cut(after, "kB")
	if err := os.WriteFile(file, []byte(peak), 0o600); err != nil {
		panic(err)
	}
}

// wantRefusal makes sure that a run ended with the exit code and a single line that contains the text, and used at most
// this many bytes.
func (m measured) wantRefusal(t *testing.T, exit int, text string, most int64) {
	t.Helper()
	if m.exit != exit || strings.Count(m.stderr, "\n") != 1 || !strings.Contains(m.stderr, text) {
		t.Errorf("exit code %d, want %d and one line with %q:\n%.2000s", m.exit, exit, text, m.stderr)
	}
	if m.peak > most {
		t.Errorf("it took %d MiB, want at most %d", m.peak>>20, most>>20)
	}
}

func TestTooLargeARunEndsWithALineAndACodeOfItsOwn(t *testing.T) {
	m := measure(t, "stat", "zipf(requests=30000000,objects=20000000)", "--memory", "96MiB", "--quiet")
	m.wantRefusal(t, exitOutOfMemory, "out of memory", 200<<20)
}

// limitHelp finds the number of requests that the refusal of a run suggests.
var limitHelp = regexp.MustCompile(`--limit ([0-9]+),`)

// A run that would not fit is rejected before it loads the trace, and the message gives a remedy that works. How many
// requests it suggests depends on what the process holds already, which differs by a few MiB between machines.
func TestRunsAreRefusedBeforeTheyStart(t *testing.T) {
	run := []string{"run", "zipf(requests=60000000,objects=1000)", "--policy", "lru", "--capacity", "10",
		"--memory", "128MiB", "--quiet"}
	m := measure(t, run...)
	m.wantRefusal(t, exitOutOfMemory, "about 60 million, would take about 458 MiB", 100<<20)
	limit := limitHelp.FindStringSubmatch(m.stderr)
	if limit == nil {
		t.Fatalf("the error suggests no --limit: %s", m.stderr)
	}
	if n, err := strconv.Atoi(limit[1]); err != nil || n < 5_000_000 || n > 16_000_000 {
		t.Errorf("--limit %s, want a number of requests that fills most of the 128 MiB", limit[1])
	}
	for _, help := range []string{"--sample 0.1", "a larger --memory"} {
		if !strings.Contains(m.stderr, help) {
			t.Errorf("the error does not mention %q: %s", help, m.stderr)
		}
	}
	m = measure(t, append(run, "--limit", limit[1])...)
	if m.exit != exitFine {
		t.Errorf("what the error says would help did not: %s", m.stderr)
	}
}

func TestSweepsAreRefusedBeforeTheyStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large.yaml")
	text := "name: large\ntitle: Large\nsource: none\nabout: none\ntraces:\n  - {name: zipf, generate: " +
		"\"zipf(requests=60000000,objects=1000)\"}\npolicies: [lru]\ncapacities: [10]\n"
	must.Do(t, os.WriteFile(file, []byte(text), 0o644))
	m := measure(t, "sweep", file, "-o", filepath.Join(t.TempDir(), "out"), "--memory", "128MiB", "--quiet")
	m.wantRefusal(t, exitOutOfMemory, "about 60 million", 100<<20)
}

// The shell's limit bounds the address space. A failed allocation would end with a dump by the runtime.
func TestNothingEndsInADumpUnderUlimit(t *testing.T) {
	for _, c := range []struct {
		kibibytes   int
		args, wants string
	}{
		{1_900_000, "stat 'zipf(requests=1000)' --quiet", "the Go runtime would take about 2.0 GiB"},
		{3_000_000, "stat 'zipf(requests=200000000,objects=150000000)' --quiet", "that ulimit -v leaves"},
		{3_000_000, "stat 'zipf(requests=400000000,objects=1000)' --quiet", "that ulimit -v leaves"},
		{2_300_000, "stat 'zipf(requests=40000000,objects=20000000)' --quiet", "that ulimit -v leaves"},
	} {
		script := fmt.Sprintf("ulimit -v %d; exec %s %s", c.kibibytes, programOf(t), c.args)
		m := measureCommand(t, exec.Command("sh", "-c", script))
		m.wantRefusal(t, exitOutOfMemory, c.wants, 2<<30)
	}
}

// Prompts of 1000 tokens in blocks of 16 are 62 requests each, for 17 new blocks. What a further one takes is bounded,
// with the optimum, while it is read and while it is replayed, so that ten million fit into a machine of 24 GiB.
func TestPromptsTakeLittleMemoryPerBlock(t *testing.T) {
	brief.Long(t, "measures the memory of large replays")
	file := filepath.Join(t.TempDir(), "prompts.jsonl")
	peak := func(prompts int, args ...string) int64 {
		made := measure(t, "gen", "llm", "--prompts", fmt.Sprint(prompts), "--conversations", fmt.Sprint(prompts*11/40),
			"--prompt-mean", "1000", "--block", "16", "--quiet", "-o", file)
		m := measure(t, append(args, "--quiet")...)
		if made.exit != exitFine || m.exit != exitFine {
			t.Fatalf("%v: exit code %d and %d: %s%s", args, made.exit, m.exit, made.stderr, m.stderr)
		}
		return m.peak
	}
	for _, c := range []struct {
		most int64 // bytes per prompt
		args []string
	}{
		{1250, []string{"run", file, "--cache", "prefix", "--policy", "lru", "--capacity", "1%", "--answers", "off"}},
		{1500, []string{"run", file, "--cache", "tiers(host=4x,ssd=16x)", "--policy", "lru", "--capacity", "1%",
			"--answers", "off"}},
		{200, []string{"run", file, "--cache", "prefix", "--policy", "lru", "--capacity", "1%", "--sample", "0.1",
			"--answers", "off"}},
		// Answers have blocks of their own, and are found in the prompts that follow; and there is room for what a server
		// found of each prompt.
		{2600, []string{"run", file, "--cache", "prefix", "--policy", "lru", "--capacity", "1%"}},
	} {
		const few, many = 30_000, 120_000
		each := (peak(many, c.args...) - peak(few, c.args...)) / (many - few)
		t.Logf("%v takes %d bytes per prompt", c.args[3:], each)
		if each > c.most {
			t.Errorf("%v takes %d bytes per prompt, want at most %d", c.args[3:], each, c.most)
		}
	}
}
