package lists

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
)

func TestCachesOfPolicies(t *testing.T) {
	const most = "exact pools prefix semantic sets igtcache tiers attention redis valkey memcached"
	for name, want := range map[string]string{
		"lru":        most,
		"rank":       most,
		"ttl":        strings.Replace(most, "attention ", "", 1), // it has no blocks with times
		"fpb":        "exact prefix semantic sets igtcache tiers attention",
		"fpb-binary": "exact prefix sets igtcache tiers attention",
		"opt":        "exact prefix sets tiers attention",
		"pfoo-l":     "exact tiers",
		"rac":        "exact prefix semantic tiers attention",
		"opt-unheld": "prefix tiers",
		"one-set":    "attention",
		"vllm":       "prefix",
		"redis":      "redis",
		"igtcache":   "igtcache",
	} {
		if got := strings.Join(cachesOf(policies.Known(name).Entry), " "); got != want {
			t.Errorf("%s works in %s, want %s", name, got, want)
		}
	}
}
