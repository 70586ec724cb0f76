package commands

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// The name of an archive member appears in errors and could clear the terminal.
func TestErrorsMoveNoCursor(t *testing.T) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	const content = "1 2 3\n4\x00\x01\xff\n"
	must.Do(t, w.WriteHeader(&tar.Header{Name: "a\x1b[2J\x1b[31mb", Size: int64(len(content)), Mode: 0o644}))
	must.Get(w.Write([]byte(content)))(t)
	w.Close()
	path := filepath.Join(t.TempDir(), "a.tar")
	must.Do(t, os.WriteFile(path, archive.Bytes(), 0o644))
	var stdout, stderr bytes.Buffer
	if code := run([]string{"run", path}, nil, &stdout, &stderr); code != exitWrongUse {
		t.Errorf("exit code %d, want %d", code, exitWrongUse)
	}
	if text := stderr.String(); !strings.Contains(text, `a\x1b[2J`) || strings.Contains(text, "\x1b") {
		t.Errorf("%q", text)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// cobra does not check whether its help was written.
func TestHelpThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {"help", "gen"}, {"--version"}, {"policies"},
		{"completion", "bash"}, {}, {"__complete", "run", "--pol"}} {
		var stderr bytes.Buffer
		if code := run(args, nil, full{}, &stderr); code != exitWrongUse ||
			!strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%q: exit code %d, %q", args, code, stderr.String())
		}
	}
}
