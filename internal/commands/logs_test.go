package commands

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/testdata/logs"
)

// TestLogsAreReadAsTheyAre replays a small log of each kind without any flag, as a new user would, or describes it if
// nothing in it could hit. The first line that
// the program says of each, what was recognised, is in testdata/golden.
func TestLogsAreReadAsTheyAre(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, logs.Write(dir))
	var got strings.Builder
	for _, kind := range logs.Kinds() {
		var stdout, stderr bytes.Buffer
		command, want := "run", "lru"
		if kind.LengthsOnly {
			command, want = "stat", "unknown: the trace has no contents"
		}
		code := run([]string{command, filepath.Join(dir, kind.File)}, nil, &stdout, &stderr)
		if code != exitFine {
			t.Errorf("%s: exit code %d: %s", kind.File, code, &stderr)
			continue
		}
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%s: no table:\n%s", kind.File, &stdout)
		}
		first, _, _ := strings.Cut(stderr.String(), "\n")
		fmt.Fprintln(&got, first)
	}
	golden := filepath.Join(repository, "testdata", "golden", "logs.txt")
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	if want := string(must.Get(os.ReadFile(golden))(t)); got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
}
