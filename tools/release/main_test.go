package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const version = "1.2.3"

// put writes a file with a time of its own, which must not matter.
func put(t *testing.T, path, content string, at time.Time) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600),
		os.Chtimes(path, at, at)); err != nil {
		t.Fatal(err)
	}
}

// pack packs programs for two systems, made at some time, and returns the archives by name.
func pack(t *testing.T, made time.Time) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	programs, out, readme := filepath.Join(dir, "programs"), filepath.Join(dir, "out"), filepath.Join(dir, "README.md")
	put(t, filepath.Join(programs, "linux_amd64", "cachesim"), "for Linux", made)
	put(t, filepath.Join(programs, "windows_arm64", "cachesim.exe"), "for Windows", made)
	put(t, readme, "read me", made)
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	r := release{version: version, programs: programs, out: out, time: time.Unix(1_800_000_000, 0).UTC(),
		files: []string{readme}}
	if err := r.write(); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(out, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestArchives(t *testing.T) {
	files := pack(t, time.Now())
	const tarName, zipName = "cachesim_1.2.3_linux_amd64.tar.gz", "cachesim_1.2.3_windows_arm64.zip"
	wantSums := fmt.Sprintf("%x  %s\n%x  %s\n", sha256.Sum256(files[tarName]), tarName, sha256.Sum256(files[zipName]),
		zipName)
	if got := string(files["SHA256SUMS"]); got != wantSums {
		t.Errorf("sums\n%swant\n%s", got, wantSums)
	}
	want := []string{"cachesim_1.2.3_linux_amd64/cachesim -rwxr-xr-x for Linux",
		"cachesim_1.2.3_linux_amd64/README.md -rw-r--r-- read me"}
	if got := tarContent(t, files[tarName]); !slices.Equal(got, want) {
		t.Errorf("tar has %q, want %q", got, want)
	}
	want = []string{"cachesim_1.2.3_windows_arm64/cachesim.exe -rwxr-xr-x for Windows",
		"cachesim_1.2.3_windows_arm64/README.md -rw-r--r-- read me"}
	if got := zipContent(t, files[zipName]); !slices.Equal(got, want) {
		t.Errorf("zip has %q, want %q", got, want)
	}
}

func tarContent(t *testing.T, archive []byte) (files []string) {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, fmt.Sprint(header.Name, " ", fs.FileMode(header.Mode), " ", string(content)))
	}
}

func zipContent(t *testing.T, archive []byte) (files []string) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.File {
		content, err := fs.ReadFile(r, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, fmt.Sprint(f.Name, " ", f.Mode(), " ", string(content)))
	}
	return files
}

func TestSameBytesAtAnyTime(t *testing.T) {
	first, second := pack(t, time.Unix(1_500_000_000, 0)), pack(t, time.Unix(1_700_000_000, 0))
	if len(first) != 3 || len(first) != len(second) {
		t.Fatalf("%d files, then %d, want 3", len(first), len(second))
	}
	for name, content := range first {
		if !bytes.Equal(content, second[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestLargeAndMissingPrograms(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "programs", "linux_amd64", "cachesim")
	put(t, large, "", time.Now())
	if err := os.Truncate(large, maxProgram+1); err != nil {
		t.Fatal(err)
	}
	for programs, want := range map[string]string{
		filepath.Join(dir, "programs"): "44000001 bytes, want at most 44000000",
		t.TempDir():                    "holds no program",
	} {
		err := release{version: version, programs: programs, out: dir, time: time.Now()}.write()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
