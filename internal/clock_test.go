package internal

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// clockUses are what reads the clock of the machine or waits for it.
var clockUses = regexp.MustCompile(`\btime\.(?:Now|Since|Until|After|AfterFunc|Tick|NewTimer|NewTicker|Sleep)\b|` +
	`\bWithTimeout|\bWithDeadline|\bSet(?:Read|Write)?Deadline\b|\bMatchTimeout\b`)

// clockUsers are the files that may do so, each with what the time is for: none is for a result. Measured times are
// metrics of the machine, which no digest, baseline or experiment has.
var clockUsers = map[string]string{
	"internal/commands/embed.go":                   "says how long it took",
	"internal/commands/join.go":                    "says how long it took",
	"internal/commands/experiments/report.go":      "dates pins",
	"internal/commands/experiments/reproduce.go":   "says how long it took",
	"internal/commands/progress/bar.go":            "progress",
	"internal/commands/progress/cells.go":          "progress",
	"internal/base/atomicfile/filelock_windows.go": "waits for a file that another program has open",
	"internal/base/atomicfile/lock.go":             "waits for a lock",
	"internal/base/atomicfile/temporary.go":        "removes temporary files that are a day old",
	"internal/commands/searching/judge.go":         "refuses what takes too long",
	"internal/commands/searching/challenge.go":     "stops a search, whose number of tries is printed",
	"internal/base/memory/watch.go":                "ends a program that runs out of memory",
	"internal/base/testing/programs/client.go":     "waits for programs of tests",
	"internal/base/testing/programs/programs.go":   "waits for programs of tests",
	"internal/base/testing/programs/web.go":        "waits for programs of tests",
	"internal/base/terminal/status.go":             "draws the progress",
	"internal/cache/kv/replay.go":                  "measures ns_per_request",
	"internal/cuda/cudatest/bench.go":              "measures a benchmark",
	"internal/experiment/estimate.go":              "measures how long an experiment will take",
	"internal/experiment/replay.go":                "measures how long a cell took",
	"internal/policies/custom/programs/process.go": "waits for a program",
	"internal/oracle/predictors/learner.go":        "measures the training",
	"internal/oracle/predict/predictor.go":         "measures predictions",
	"internal/serving/hlem/pools/border.go":        "measures decision_ns",
	"internal/sim/device_sets.go":                  "measures ns_per_request",
	"internal/sim/lru.go":                          "measures ns_per_request",
	"internal/sim/replay.go":                       "progress",
	"internal/sim/replayer.go":                     "measures ns_per_request",
	"internal/traces/embed/endpoint.go":            "waits for a service",
	"internal/traces/read/scan.go":                 "progress",
}

// TestNoResultDependsOnTheClock finds every use of the clock of the machine in the program.
func TestNoResultDependsOnTheClock(t *testing.T) {
	found := map[string]bool{}
	for _, root := range []string{"../internal", "../cmd", "../cachesim.go", "../run.go", "../policytest"} {
		must.Do(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for i, line := range strings.Split(string(text), "\n") {
				if code, _, _ := strings.Cut(line, "//"); clockUses.MatchString(code) {
					name := strings.TrimPrefix(filepath.ToSlash(path), "../")
					found[name] = true
					if clockUsers[name] == "" {
						t.Errorf("%s:%d: %s: results must not depend on the clock; what is the time for?", name, i+1,
							strings.TrimSpace(line))
					}
				}
			}
			return err
		}))
	}
	for name := range clockUsers {
		if !found[name] {
			t.Errorf("%s does not use the clock, or is gone: remove its line", name)
		}
	}
}
