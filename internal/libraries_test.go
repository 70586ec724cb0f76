package internal

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestLibrariesAreNamed compares the libraries that go.mod names directly with those of docs/dependencies.md.
func TestLibrariesAreNamed(t *testing.T) {
	find := func(path, pattern string) (all []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(must.Get(os.ReadFile(path))(t), -1) {
			all = append(all, string(m[1]))
		}
		return all
	}
	required := find("../go.mod", `(?m)^\t(\S+) v\S+$`)
	named := find("../docs/dependencies.md", "(?m)^\\| `(\\S+\\.\\S+/\\S+)` \\|")
	if len(required) == 0 || !slices.Equal(required, named) {
		t.Errorf("docs/dependencies.md names\n%q\ngo.mod\n%q", named, required)
	}
}
