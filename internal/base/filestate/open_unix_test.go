//go:build unix

package filestate

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// Only regular files are opened, and opening never blocks.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	regular, link, pipe, socket := filepath.Join(dir, "regular"), filepath.Join(dir, "link"), filepath.Join(dir,
		"pipe"), filepath.Join(dir, "socket")
	must.Do(t, os.WriteFile(regular, []byte("content"), 0o644))
	must.Do(t, os.Symlink(regular, link))
	must.Do(t, syscall.Mkfifo(pipe, 0o644))
	listener := must.Get(net.Listen("unix", socket))(t)
	defer listener.Close()
	for _, path := range []string{regular, link} {
		file := must.Get(Open(path))(t)
		defer file.Close()
		if text, err := io.ReadAll(file); err != nil || string(text) != "content" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	for path, want := range map[string]string{
		dir: "is a folder: want a regular file", pipe: "is a pipe", "/dev/zero": "is a device", socket: "is a socket",
		filepath.Join(dir, "none"): "no such file",
	} {
		if file, err := Open(path); err == nil {
			file.Close()
			t.Errorf("%s was opened", path)
		} else if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", path, err, want)
		}
	}
	if file, err := Append(pipe); err == nil {
		file.Close()
		t.Error("a pipe was opened to append to it")
	}
	for range 2 {
		file := must.Get(Append(filepath.Join(dir, "log")))(t)
		must.Get(file.WriteString("line\n"))(t)
		file.Close()
	}
	if text, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || string(text) != "line\nline\n" {
		t.Errorf("appended %q (%v)", text, err)
	}
}
