package workload

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
)

// writeTree writes files below a new folder and returns it.
func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return dir
}

func TestFindAll(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"p/2026/11/02/b.csv": "", "p/2026/11/01/a.csv": "", "p/2026/11/01/c.txt": "", "p/2026/12/01/d.csv": "",
		"p/2026/11/e.csv": "", "p/2026/11/.hidden.csv": "", "p/2026/11/.git/f.csv": "", "odd[1].csv": "", "empty/.keep": "",
	})
	for path, want := range map[string]string{
		"p/2026/11":          "p/2026/11/01/a.csv p/2026/11/01/c.txt p/2026/11/02/b.csv p/2026/11/e.csv",
		"p/2026/11/**":       "p/2026/11/01/a.csv p/2026/11/01/c.txt p/2026/11/02/b.csv p/2026/11/e.csv",
		"p/2026/11/**/*.csv": "p/2026/11/01/a.csv p/2026/11/02/b.csv p/2026/11/e.csv",
		"p/**/0[12]/?.csv":   "p/2026/11/01/a.csv p/2026/11/02/b.csv p/2026/12/01/d.csv",
		"p/*/12/*/*":         "p/2026/12/01/d.csv",
		"p/2026/11/e.csv":    "p/2026/11/e.csv",
		"odd[1].csv":         "odd[1].csv",
		"p/2027/**":          `"p/2027/**": no file matches, nor in DIR; ** stands for all folders below`,
		"p/[":                `"p/[": is no file and no pattern`,
		"empty":              "empty: is a folder without files",
		"none.csv":           "none.csv: no such trace file",
	} {
		got, err := FindAll([]string{path}, []string{dir})
		if err != nil {
			if text := strings.ReplaceAll(err.Error(), dir, "DIR"); !strings.HasPrefix(text, want) {
				t.Errorf("%s: error %s, want %s", path, text, want)
			}
			continue
		}
		for i := range got {
			got[i] = filepath.ToSlash(must.Get(filepath.Rel(dir, got[i]))(t))
		}
		if !reflect.DeepEqual(got, strings.Fields(want)) {
			t.Errorf("%s: %q, want %s", path, got, want)
		}
	}
}

// Logs that were just rotated are empty.
func TestFindAllWithoutEmptyFiles(t *testing.T) {
	dir := writeTree(t, map[string]string{"logs/a": "", "logs/b": "k\n", "logs/1/c": "", "logs/1/d": "k\n", "none/e": ""})
	for path, want := range map[string]string{"logs": "1/d b", "logs/**": "1/d b", "none": "e", "logs/a": "a"} {
		var got []string
		for _, file := range must.Get(FindAll([]string{path}, []string{dir}))(t) {
			_, name, _ := strings.Cut(filepath.ToSlash(must.Get(filepath.Rel(dir, file))(t)), "/")
			got = append(got, name)
		}
		if !reflect.DeepEqual(got, strings.Fields(want)) {
			t.Errorf("%s: %q, want %s", path, got, want)
		}
	}
}

// TestLoadFolder compares a folder and a pattern with the files by name, and replays what a record says of them.
func TestLoadFolder(t *testing.T) {
	dir := writeTree(t, map[string]string{"logs/1/a": "k1\nk2\n", "logs/2/b": "k1\nk3\n", "logs/c": "k3\n"})
	named := Workload{Files: []string{"logs/1/a", "logs/2/b", "logs/c"}}
	want, wantSum, err := named.LoadSummed(t.Context(), []string{dir}, traces.LoadOptions{})
	must.Do(t, err)
	for _, path := range []string{"logs", "logs/**"} {
		w := Workload{Files: []string{path}}
		got, sum, err := w.LoadSummed(t.Context(), []string{dir}, traces.LoadOptions{})
		must.Do(t, err)
		if !reflect.DeepEqual(got.Objects, want.Objects) || sum.Checksum != wantSum.Checksum || got.Name != path ||
			!reflect.DeepEqual(sum.Files, w.Files) {
			t.Errorf("%s: %s has objects %d of %q with %s, want %d with %s", path, got.Name, got.Objects, sum.Files,
				sum.Checksum, want.Objects, wantSum.Checksum)
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, "logs", "d"), []byte("k9\n"), 0o644))
		if _, err := sum.Load(t.Context(), []string{dir}, traces.LoadOptions{}); err == nil ||
			!strings.Contains(err.Error(), path+": the trace has changed") {
			t.Errorf("%s with another file: error %v, want that the trace has changed", path, err)
		}
		must.Do(t, os.Remove(filepath.Join(dir, "logs", "d")))
	}
}

// TestRotatedLogInFolder reads a folder with a rotated log, whose names are not in the order of time.
func TestRotatedLogInFolder(t *testing.T) {
	line := func(minute, key string) string {
		return `10.0.0.1 - - [01/Nov/2026:23:` + minute + `:00 +0000] "GET /` + key + ` HTTP/1.1" 200 5 "-" "curl"` + "\n"
	}
	dir := writeTree(t, map[string]string{"l/access.log": line("03", "c"), "l/access.log.1": line("02", "b"),
		"l/access.log.2": line("01", "a")})
	w := Workload{Files: []string{"l"}}
	got, read, err := w.LoadSummed(t.Context(), []string{dir}, traces.LoadOptions{Needs: traces.Needs{Keys: true}})
	must.Do(t, err)
	if got.Keys[0].Text != "/a" || len(read.Files) != 3 || !strings.HasSuffix(read.Files[0], "access.log.2") {
		t.Errorf("keys %v of %q, want the oldest first", got.Keys, read.Files)
	}
}
