package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	b := must.Get(os.ReadFile(path))(t)
	return string(b)
}

// wantNames fails unless dir holds exactly these files: nothing is missing and no hidden file is left.
func wantNames(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("%s holds %q, want %q", dir, got, names)
	}
}

func TestWriteCreatesAndReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	for _, content := range []string{"first", "2"} {
		must.Do(t, Write(t.Context(), path, text(content)))
		if got := mustRead(t, path); got != content {
			t.Errorf("got %q, want %q", got, content)
		}
	}
	wantNames(t, dir, "out")
}

func TestNothingAppearsBeforeCommit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	f := must.Get(Create(t.Context(), path))(t)
	must.Get(f.Write([]byte("half")))(t)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is there before Commit: %v", err)
	}
	f.Abort()
	wantNames(t, dir)
}

func TestAbortAfterCommitKeepsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f := must.Get(Create(t.Context(), path))(t)
	must.Do(t, f.Commit())
	f.Abort()
	mustRead(t, path)
}

func TestFailedWriteKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	must.Do(t, os.WriteFile(path, []byte("old"), 0o600))
	broken := errors.New("source broke off")
	err := Write(t.Context(), path, func(w io.Writer) error {
		io.WriteString(w, "new")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got error %v, want %v", err, broken)
	}
	if got := mustRead(t, path); got != "old" {
		t.Errorf("the old file now holds %q", got)
	}
	wantNames(t, dir, "out")
}

func TestPermissionsStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(path, nil, 0o600))
	must.Do(t, Write(t.Context(), path, text("new")))
	info, err := os.Lstat(path)
	if err != nil || mustRead(t, path) != "new" || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// A link is replaced, whether it leads to a file, to a folder that is not there, or to itself; what it leads to stays.
func TestLinksAreReplaced(t *testing.T) {
	for _, target := range []string{"victim", "nowhere/at/all", "link"} {
		for way, write := range map[string]func(dir string) error{
			"Write":   func(dir string) error { return Write(t.Context(), filepath.Join(dir, "link"), text("new")) },
			"WriteIn": func(dir string) error { return WriteIn(dir, "link", text("new")) },
		} {
			dir := t.TempDir()
			victim, link := filepath.Join(dir, "victim"), filepath.Join(dir, "link")
			must.Do(t, os.WriteFile(victim, []byte("precious"), 0o644))
			must.Do(t, os.Symlink(target, link))
			if err := write(dir); err != nil {
				t.Errorf("%s over a link to %s: %v", way, target, err)
				continue
			}
			info, err := os.Lstat(link)
			if err != nil || !info.Mode().IsRegular() || mustRead(t, link) != "new" {
				t.Errorf("%s over a link to %s: %v, %v", way, target, info, err)
			}
			if got := mustRead(t, victim); got != "precious" {
				t.Errorf("%s over a link to %s: the victim holds %q", way, target, got)
			}
			wantNames(t, dir, "link", "victim")
		}
	}
}

func TestWriteNewDoesNotFollowLinks(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Symlink("victim", filepath.Join(dir, "link")))
	if err := WriteNew(dir, "link", []byte("new")); err != fs.ErrExist {
		t.Errorf("error %v, want %v", err, fs.ErrExist)
	}
	wantNames(t, dir, "link")
}

func TestFolderThatIsALink(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	must.Do(t, os.Symlink(elsewhere, filepath.Join(dir, "cells")))
	_, err := MakeFolderIn(dir, "cells")
	must.Fail(t, err, "is a symbolic link, want a folder")
	if err := MakeFolder(filepath.Join(dir, "cells")); err != nil {
		t.Errorf("a link that the user named: %v", err)
	}
}

func TestDeviceIsWrittenNotReplaced(t *testing.T) {
	must.Do(t, Write(t.Context(), os.DevNull, text("gone")))
	info, err := os.Stat(os.DevNull)
	if err != nil || info.Mode()&os.ModeDevice == 0 {
		t.Errorf("%s is no device any more: %v, %v", os.DevNull, info, err)
	}
}

func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	err := Write(t.Context(), "/dev/full", text("too much"))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "cannot write /dev/full") {
		t.Errorf("got error %v, want one that names the file and the full disk", err)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o644))
	for _, c := range []struct{ name, path, want string }{
		{"missing folder", filepath.Join(dir, "none", "out"), "does not exist; create it first"},
		{"file as folder", filepath.Join(file, "out"), "is a file, want a folder"},
		{"folder as file", dir, "it is a folder"},
		{"long name", filepath.Join(dir, strings.Repeat("x", 300)), "name too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Write(t.Context(), c.path, text("x"))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
				t.Errorf("got error %v, want one with %q and the path", err, c.want)
			}
		})
	}
	wantNames(t, dir, "file")
}

func TestNoPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o555))
	if err := Write(t.Context(), filepath.Join(dir, "out"), text("x")); err == nil ||
		!strings.Contains(err.Error(), "no permission") {
		t.Errorf("got error %v, want one about the permission", err)
	}
}

func TestMakeFolder(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	for range 2 {
		must.Do(t, MakeFolder(deep))
	}
	file := filepath.Join(deep, "file")
	must.Do(t, Write(t.Context(), file, text("x")))
	must.Fail(t, MakeFolder(file), "is a file, want a folder")
	if err := MakeFolder(filepath.Join(file, "below")); err == nil {
		t.Error("a folder below a file was created")
	}
}

// A folder that can be made is not made yet; one that cannot is an error at once.
func TestCheckFolder(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, CheckFolder(filepath.Join(dir, "a", "b")))
	must.Do(t, CheckFolder(dir))
	if entries := must.Get(os.ReadDir(dir))(t); len(entries) > 0 {
		t.Errorf("the check has left %v", entries)
	}
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	must.Do(t, Write(t.Context(), file, text("x")))
	must.Do(t, os.Symlink(filepath.Join(dir, "nowhere"), link))
	must.Fail(t, CheckFolder(file), "is a file, want a folder")
	must.Fail(t, CheckFolder(link), "cannot create the folder")
	for _, path := range []string{filepath.Join(file, "a", "b"), filepath.Join(dir, "a\x00b"),
		filepath.Join(dir, strings.Repeat("n", 300), "a")} {
		if err := CheckFolder(path); err == nil {
			t.Errorf("%.40q was accepted", path)
		}
	}
}

func TestWriteNewKeepsTheFirst(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new")
	const writers = 8
	errs := make(chan error, writers)
	for i := range writers {
		go func() { errs <- WriteNew(dir, "new", bytes.Repeat([]byte{byte('a' + i)}, 10_000)) }()
	}
	written := 0
	for range writers {
		switch err := <-errs; {
		case err == nil:
			written++
		case err != fs.ErrExist:
			t.Error(err)
		}
	}
	content := mustRead(t, path)
	if written != 1 || content != strings.Repeat(content[:1], 10_000) {
		t.Errorf("%d of %d writers wrote", written, writers)
	}
	wantNames(t, dir, "new")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestWriteNewWithoutLinks(t *testing.T) {
	dir := t.TempDir()
	from, path := filepath.Join(dir, "from"), filepath.Join(dir, "new")
	for _, want := range []error{nil, fs.ErrExist} {
		must.Do(t, os.WriteFile(from, []byte("x"), 0o644))
		if err := renameNew(from, path); err != want {
			t.Errorf("error %v, want %v", err, want)
		}
	}
}

func TestWriteNewNamesTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nowhere")
	must.Fail(t, WriteNew(dir, "new", nil), dir+" does not exist")
}
