package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/testing/faults"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// Whatever fails, the old file or the whole new one is there, and nothing else.
func TestEveryFailureLeavesTheOldOrTheNew(t *testing.T) {
	for name, write := range map[string]func(dir string) error{
		"Write":    func(dir string) error { return Write(t.Context(), filepath.Join(dir, "file"), text("new")) },
		"WriteIn":  func(dir string) error { return WriteIn(dir, "file", text("new")) },
		"WriteNew": func(dir string) error { return WriteNew(dir, "other", []byte("new")) },
	} {
		t.Run(name, func(t *testing.T) {
			failed := 0
			for n := 1; ; n++ {
				dir := t.TempDir()
				must.Do(t, os.WriteFile(filepath.Join(dir, "file"), []byte("old"), 0o644))
				done, operation := 0, filestate.Operation("")
				restore := faults.Inject(func(op filestate.Operation, _ string) error {
					if done++; done == n {
						operation = op
						return syscall.EIO
					}
					return nil
				})
				err := write(dir)
				restore()
				if operation == "" {
					if failed < 3 {
						t.Errorf("only %d operations can fail", failed)
					}
					return
				}
				if operation == filestate.Delete {
					continue // leaves a temporary file to the next program
				}
				failed++
				if err != nil && (!errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), dir)) {
					t.Errorf("%s fails: error %v", operation, err)
				}
				want := map[string]string{"file": "old"}
				if err == nil && name == "WriteNew" {
					want["other"] = "new"
				} else if err == nil {
					want["file"] = "new"
				}
				entries, _ := os.ReadDir(dir)
				for _, e := range entries {
					if got := mustRead(t, filepath.Join(dir, e.Name())); got != want[e.Name()] {
						t.Errorf("%s fails: %s holds %q, want %q", operation, e.Name(), got, want[e.Name()])
					}
				}
				if len(entries) != len(want) {
					t.Errorf("%s fails: %v", operation, entries)
				}
			}
		})
	}
}
