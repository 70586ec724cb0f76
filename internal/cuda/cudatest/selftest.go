package cudatest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptx"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptxrun"
)

// SelfTest checks a self-test. Its sums are in a file, which UPDATE=1 rewrites. It must launch every kernel of the
// modules except the exceptions, have the same sums in the interpreter with any seed, and find devices that go wrong at
// any launch.
func SelfTest(t *testing.T, test *cuda.SelfTest, file string, modules [][]byte, except ...string) {
	t.Helper()
	for seed := range brief.Of[uint64](3, 1) {
		sums, err := test.Record(Device(t, ptxrun.Options{Seed: seed, Processors: 1 + int(seed)}))
		switch {
		case err != nil:
			t.Fatal(err)
		case seed == 0 && os.Getenv("UPDATE") != "":
			if err := os.WriteFile(file, []byte(sums), 0o644); err != nil {
				t.Fatal(err)
			}
			test.Sums = sums
		case sums != strings.ReplaceAll(test.Sums, "\r\n", "\n"):
			t.Fatalf("seed %d: the sums differ from %s; UPDATE=1 rewrites them:\n%s", seed, file, sums)
		}
		if err := test.Check(Device(t, ptxrun.Options{Seed: seed})); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	for _, module := range modules {
		text, err := ptx.Parse(string(module))
		if err != nil {
			t.Fatal(err)
		}
		for name := range text.Kernels {
			if !slices.Contains(except, name) && !strings.Contains(test.Sums, name+" ") {
				t.Errorf("the self-test does not launch %s", name)
			}
		}
	}
	launches := strings.Count(test.Sums, "\n")
	for right := 0; right < launches; right += 1 + launches/brief.Of(12, 3) {
		for _, fault := range []Fault{Nothing, Garbage} {
			err := test.Check(&Faulty{Device: Device(t, ptxrun.Options{}), Fault: fault, Right: right})
			if want := fmt.Sprintf("the self-test of %s failed: launch ", test.Name); err == nil ||
				!strings.Contains(err.Error(), want) || !cuda.Failed(err) {
				t.Errorf("fault %d after %d launches: error %v, want %q", fault, right, err, want)
			}
		}
	}
}
