package records

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// A folder that cannot be written to is found before a replay, and nothing is left in one that can.
func TestCheckDirFindsWhatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, jsonName), 0o755))
	if err := CheckDir(dir); err == nil {
		t.Errorf("a folder in which %s is a folder was accepted", jsonName)
	}
	if err := CheckDir(filepath.Join(dir, "a\x00b")); err == nil {
		t.Error("a folder that no system can make was accepted")
	}
}

// Records are rewritten in the format in which they are, whatever the file is called; other contents are an error.
func TestRewriteKeepsTheFormat(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, Write(dir, sample()))
	for _, name := range FileNames() {
		before := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		path := filepath.Join(dir, "renamed")
		must.Do(t, os.WriteFile(path, before, 0o644))
		if err := Rewrite(path, sample()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("%s: rewritten as something else (%v)", name, err)
		}
	}
	if err := Rewrite(filepath.Join(dir, "missing"), sample()); err == nil {
		t.Error("a missing file was rewritten")
	}
}

func TestCheckDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	must.Do(t, CheckDir(dir))
	must.Do(t, os.Mkdir(dir, 0o755)) // the check has not
	must.Do(t, CheckDir(dir))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("the folder holds %v (%v)", entries, err)
	}
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o644))
	must.Fail(t, CheckDir(file), "is a file, want a folder")
}
