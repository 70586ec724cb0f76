package commands

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

const testdataDir = "../../testdata"

// genCommands returns the commands in testdata/README.md as arguments after "cachesim".
func genCommands(t *testing.T) [][]string {
	t.Helper()
	readme := must.Get(os.ReadFile(filepath.Join(testdataDir, "README.md")))(t)
	word := regexp.MustCompile(`'[^']*'|[^ ]+`)
	var commands [][]string
	for line := range strings.Lines(string(readme)) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "cachesim ")
		if !ok {
			continue
		}
		words := word.FindAllString(command, -1)
		for i := range words {
			words[i] = strings.Trim(words[i], "'")
		}
		commands = append(commands, words)
	}
	return commands
}

// TestTestdataRegenerates runs the commands in testdata/README.md. UPDATE=1 rewrites the traces.
func TestTestdataRegenerates(t *testing.T) {
	dir := t.TempDir()
	made := map[string]bool{}
	for _, args := range genCommands(t) {
		name := args[len(args)-1]
		made[name] = true
		fresh := filepath.Join(dir, name)
		args[len(args)-1] = fresh
		var stderr bytes.Buffer
		if code := run(args, nil, &stderr, &stderr); code != exitFine {
			t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
		}
		got := must.Get(os.ReadFile(fresh))(t)
		stored := filepath.Join(testdataDir, name)
		if os.Getenv("UPDATE") != "" {
			must.Do(t, os.WriteFile(stored, got, 0o644))
		}
		want := must.Get(os.ReadFile(stored))(t)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: its command gives other bytes (%d, stored %d): a generator, a writer or a compressor has changed; "+
				"set UPDATE=1 if that is meant",
				stored, len(got), len(want))
		}
	}
	files := must.Get(filepath.Glob(filepath.Join(testdataDir, "*.*")))(t)
	for _, file := range files {
		if name := filepath.Base(file); name != "README.md" && !made[name] {
			t.Errorf("%s: no command in README.md makes it", file)
		}
	}
}

func TestGenInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.csv")
	cmd := newGenCommand()
	cmd.SetArgs([]string{"zipf", "-o", path})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	must.Fail(t, cmd.ExecuteContext(ctx), "interrupted")
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}
