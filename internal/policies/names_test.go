package policies_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
)

// noPolicy lists files outside this folder that contain the name of a policy, and why. Mostly the word means something
// else there.
var noPolicy = map[string]string{
	"cmd/cachesim/explain.go":                      "the default of a flag",
	"cmd/cachesim/internal/defaults/defaults.go":   "the default of a flag",
	"internal/results/cost/answer.go":              "what a saving is measured from",
	"internal/results/peers/names.go":              "what other simulators call policies",
	"internal/traces/read/weblogs/cachecontrol.go": "a directive of HTTP",
	"internal/cuda/info.go":                        "what a GPU computes",
	"internal/experiment/curve/policies.go":        "the default of a flag",
	"internal/cuda/cudatest/ptxrun/floats.go":      "a test of numbers",
	"internal/results/accuracy/print.go":           "the clock of a table",
	"internal/serving/route/balance.go":            "a router",
	"internal/cache/prefetch/igt.go":               "a parameter",
	"internal/cache/streams/stream.go":             "a pattern",
	"internal/cache/igtcache/igtcache.go":          "its parameters",
	"internal/cache/igtcache/shorthand.go":         "the default of a parameter",
	"internal/traces/read/cdnlogs/cdnlogs.go":      "a trace format",
	"internal/traces/read/datasets/qqp.go":         "a distribution",
	"internal/traces/read/formats/arc.go":          "a trace format",
	"internal/traces/read/formats/lirs.go":         "a trace format",
	"internal/traces/gen/attention.go":             "a parameter",
	"internal/traces/gen/cluster_jobs.go":          "a pattern",
	"internal/traces/gen/sources.go":               "a distribution",
	"internal/traces/source/rows.go":               "a name of a column of times",
}

// columnOfTraces is a policy, and in traces the column of times to live.
const columnOfTraces = "ttl"

// Everything known about a policy is a field of its entry, so that a new policy needs no line elsewhere and a renamed
// one leaves none behind.
func TestNamesOfPoliciesStandHereOnly(t *testing.T) {
	found := map[string]bool{}
	for _, folder := range []string{"cmd", "internal"} {
		root := filepath.Join("..", "..", folder)
		must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			name, _ := filepath.Rel(filepath.Join("..", ".."), path)
			switch {
			case err != nil:
				return err
			case d.IsDir() && (name == filepath.Join("internal", "policies") || d.Name() == "testdata"):
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			inTraces := strings.HasPrefix(filepath.ToSlash(name), "internal/traces/")
			for _, at := range namesIn(t, path) {
				if inTraces && strings.HasSuffix(at, ": "+columnOfTraces) {
					continue
				}
				found[filepath.ToSlash(name)] = true
				if noPolicy[filepath.ToSlash(name)] == "" {
					t.Errorf("%s names a policy: make what is known of it a field of its entry", at)
				}
			}
			return nil
		}))
	}
	for _, name := range slices.Sorted(maps.Keys(noPolicy)) {
		if !found[name] {
			t.Errorf("%s contains no name of a policy any more: take it off the list", name)
		}
	}
}

func namesIn(t *testing.T, path string) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	file := must.Get(parser.ParseFile(files, path, nil, parser.SkipObjectResolution))(t)
	names := policies.Registry.Names()
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(literal.Value); err == nil && slices.Contains(names, text) {
			found = append(found, files.Position(literal.Pos()).String()+": "+text)
		}
		return true
	})
	return found
}
