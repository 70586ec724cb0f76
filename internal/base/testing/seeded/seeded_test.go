package seeded

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestDraws logs what it draws, for the test below.
func TestDraws(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) { t.Logf("draws %d", rapid.Uint64().Draw(r, "number")) })
}

// TestSeedIsFixed runs the test above in other processes: two draw the same cases, unless a seed is named.
func TestSeedIsFixed(t *testing.T) {
	drawn := func(environment []string, arguments ...string) string {
		program := exec.Command(os.Args[0], append([]string{"-test.run=^TestDraws$", "-test.v"}, arguments...)...)
		program.Env = append(environment, "HOME="+os.TempDir())
		out := must.Get(program.CombinedOutput())(t)
		return string(regexp.MustCompile(`(?s)draws.*draws \d+`).Find(out))
	}
	fixed := drawn(nil)
	if fixed == "" || drawn(nil) != fixed || drawn(nil, "-rapid.seed="+seed) != fixed {
		t.Error("two runs draw other cases")
	}
	if drawn(nil, "-rapid.seed=7") == fixed || drawn([]string{"RAPID_SEED=7"}) != drawn(nil, "-rapid.seed=7") {
		t.Error("a seed that is named is not used")
	}
}
