package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: an error in a file, or in a test, of one system is found there and nowhere else.
func TestCheck(t *testing.T) {
	for _, c := range []struct{ file, text string }{
		{"a_windows.go", "package a\n\nvar n int = \"text\"\n"},
		{"a_windows_test.go", "package a\n\nvar n int = missing\n"},
		{"a_windows.go", "package a\n\nimport _ \"a/b\"\n"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"go.mod": "module a\n\ngo 1.26\n", "a.go": "package a\n", c.file: c.text} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if errs, err := check(dir, "linux/arm64"); err != nil || len(errs) > 0 {
			t.Errorf("%q on linux: %v %v, want no error", c.text, errs, err)
		}
		errs, err := check(dir, "windows/amd64")
		if err != nil || len(errs) == 0 || !strings.Contains(errs[0], c.file+":3") {
			t.Errorf("%q on windows: %v %v, want an error in line 3 of %s", c.text, errs, err, c.file)
		}
	}
	if _, err := check(".", "windows"); err == nil {
		t.Error("a platform without an architecture is accepted")
	}
}
