package policies_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestExampleOfContributing compiles the policy that CONTRIBUTING shows into this package, registers it and runs the
// shared suite for it: whoever begins with a copy begins with a policy that passes.
func TestExampleOfContributing(t *testing.T) {
	brief.Long(t, "compiles this package again")
	page, err := os.ReadFile("../../CONTRIBUTING.md")
	must.Do(t, err)
	_, after, _ := strings.Cut(string(page), "## Add a policy")
	_, after, _ = strings.Cut(after, "```go\n")
	source, _, ok := strings.Cut(after, "```\n")
	entry := regexp.MustCompile(`(?m)^var (\w+) = Entry\{\n\tName: +"(\w+)"`).FindStringSubmatch(source)
	if !ok || entry == nil {
		t.Fatal("CONTRIBUTING shows no policy with an entry below \"Add a policy\"")
	}
	dir := t.TempDir()
	files := map[string]string{
		"example.go":          source,
		"example_register.go": "package policies\n\nfunc init() { Register(Queues, " + entry[1] + ") }\n",
	}
	overlay := map[string]map[string]string{"Replace": {}}
	for name, text := range files {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		here := must.Get(filepath.Abs("contributing_" + name))(t)
		overlay["Replace"][here] = path
	}
	list, err := json.Marshal(overlay)
	must.Do(t, err)
	overlayFile := filepath.Join(dir, "overlay.json")
	must.Do(t, os.WriteFile(overlayFile, list, 0o644))
	suite := "^TestSuite/(bytes|^" + entry[2] + "$)/^" + entry[2] + "$"
	out, err := exec.Command("go", "test", "-short", "-v", "-overlay", overlayFile, "-run", suite, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("the policy in CONTRIBUTING does not pass the suite: %v\n%s", err, out)
	}
	if passed := strings.Count(string(out), "/"+entry[2]+" ("); passed < 8 {
		t.Errorf("the suite has %d tests of the policy, want at least 8:\n%s", passed, out)
	}
}
