package filestate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestCheck(t *testing.T) {
	write := func(t *testing.T, path, content string) {
		t.Helper()
		must.Do(t, os.WriteFile(path, []byte(content), 0o644))
	}
	for name, test := range map[string]struct {
		change func(t *testing.T, path string)
		want   string // "" for no error
	}{
		"unchanged": {func(*testing.T, string) {}, ""},
		"gone":      {func(t *testing.T, path string) { os.Remove(path) }, ""},
		"cut": {func(t *testing.T, path string) { os.Truncate(path, 2) },
			"changed while it was read, from 7 bytes to 2"},
		"longer": {func(t *testing.T, path string) { write(t, path, "content and more") }, "from 7 bytes to 16"},
		"written": {func(t *testing.T, path string) { os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)) },
			"changed while it was read, at "},
		"replaced": {func(t *testing.T, path string) {
			write(t, path+".new", "CONTENT")
			os.Rename(path+".new", path)
		}, "replaced by another file while it was read"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trace")
			write(t, path, "content")
			state := must.Get(Of(path))(t)
			test.change(t, path)
			switch err := state.Check(); {
			case test.want == "" && err != nil:
				t.Errorf("error %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), path+": ") ||
				!strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestCheckOfNoRegularFile(t *testing.T) {
	dir := t.TempDir()
	state := must.Get(Of(dir))(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	if err := state.Check(); err != nil {
		t.Error(err)
	}
	if _, err := Of(filepath.Join(dir, "none")); err == nil {
		t.Error("a file that is not there has a state")
	}
}
