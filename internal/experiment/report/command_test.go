package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/experiment"
)

// TestCommandNamesTheFile: the command that repeats a sweep has the name of its file, also where the experiment was
// stored in a sweep's folder, and of a built-in experiment its own.
func TestCommandNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	load := func(name, text string) *experiment.File {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return must.Get(experiment.Load(path))(t)
	}
	text := "name: short\ntitle: t\nsource: s\ntraces: [{name: z, generate: zipf}]\npolicies: [lru]\ncapacities: [5]\n"
	own := load("my file.yaml", text)
	must.Do(t, own.Apply([]string{"seeds=3"}, false))
	stored := load("experiment.yaml", string(must.Get(own.Encode())(t)))
	for _, f := range []*experiment.File{own, stored} {
		if got, want := Command(f), "cachesim sweep 'my file.yaml' --set seeds=3"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	builtIn := must.Get(experiment.Load("example"))(t)
	stored = load("experiment.yaml", string(must.Get(builtIn.Encode())(t)))
	for _, f := range []*experiment.File{builtIn, stored} {
		if got, want := Command(f), "cachesim sweep example"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
