package tables

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSetRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.tsv")
	columns := []string{"name", "value"}
	for _, r := range [][]string{{"b", "1"}, {"gone", "2"}, {"a", `a "word"`}, {"b", ""}} {
		if err := SetRow(path, columns, r, []string{"a", "b", "c"}); err != nil {
			t.Fatal(err)
		}
	}
	want := "name\tvalue\na\t\"a \"\"word\"\"\"\nb\t\n"
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Errorf("table %q (%v), want %q", text, err, want)
	}
	if err := SetRow(path, []string{"other"}, []string{"a"}, []string{"a"}); err == nil {
		t.Error("a table with other columns was replaced")
	}
}
