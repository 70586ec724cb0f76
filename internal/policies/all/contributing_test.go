package all_test

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

// TestExampleOfContributing adds the policy that CONTRIBUTING shows to its folder as the page says, and runs the shared
// suite for it: whoever begins with a copy begins with a policy that passes.
func TestExampleOfContributing(t *testing.T) {
	brief.Long(t, "compiles these packages again")
	page, err := os.ReadFile("../../../CONTRIBUTING.md")
	must.Do(t, err)
	_, after, _ := strings.Cut(string(page), "## Add a policy")
	_, after, _ = strings.Cut(after, "```go\n")
	source, _, ok := strings.Cut(after, "```\n")
	entry := regexp.MustCompile(`(?m)^var (\w+) = policies.Entry\{\n\tName: +"(\w+)"`).FindStringSubmatch(source)
	if !ok || entry == nil {
		t.Fatal("CONTRIBUTING shows no policy with an entry below \"Add a policy\"")
	}
	entries, err := os.ReadFile("../queues/queues.go")
	must.Do(t, err)
	dir := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {}}
	for name, text := range map[string]string{
		"queue.go":  source,
		"queues.go": strings.Replace(string(entries), "fifoEntry", entry[1]+", fifoEntry", 1),
	} {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		overlay["Replace"][must.Get(filepath.Abs("../queues/"+name))(t)] = path
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
