package all_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
)

// Whoever names a program instead of a policy reads which policy stands for it, and that one exists.
func TestProgramsHaveStandIns(t *testing.T) {
	for _, name := range []string{"apache-httpd", "zfs", "optimum", "golang-lru", "groupcache"} {
		_, err := policies.Registry.Parse(name)
		if err == nil {
			t.Fatalf("%s is a policy", name)
		}
		_, after, _ := strings.Cut(err.Error(), ": write ")
		policy, _, _ := strings.Cut(after, ",")
		if _, ok := policies.Registry.Find(policy); !ok {
			t.Errorf("%s: %v; there is no policy %q", name, err, policy)
		}
	}
}
