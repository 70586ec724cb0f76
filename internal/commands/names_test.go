package commands

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
)

// TestNamesOfOthers: every name in the second columns of docs/policies-names.md is one that a flag takes, and policies
// of libraries are there.
func TestNamesOfOthers(t *testing.T) {
	text := string(must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "policies-names.md")))(t))
	quoted := regexp.MustCompile("`([^`]+)`")
	kinds := map[string]*sim.Kind{"--admit ": sim.AdmissionKind, "--prefetch ": sim.KindOf("prefetcher"),
		"--cache ": sim.CacheKind}
	named := map[string]bool{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 2 || !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") {
			continue
		}
		for _, match := range quoted.FindAllStringSubmatch(beforeReason(cells[1]), -1) {
			name := match[1]
			var err error
			of := false
			for flag, kind := range kinds {
				if rest, is := strings.CutPrefix(name, flag); is {
					of = true
					_, err = kind.Parse(rest)
				}
			}
			if !of {
				var spec policies.Spec
				spec, err = policies.Registry.Parse(name)
				named[spec.Entry.Name] = true
			}
			if err != nil {
				t.Errorf("%s: %s: %v", cells[0], name, err)
			}
		}
	}
	for _, name := range []string{"caffeine", "guava", "moka", "otter", "theine", "ristretto", "quick-cache", "gl-cache"} {
		if !named[name] {
			t.Errorf("%s is not on the page", name)
		}
	}
}

// beforeReason cuts off why something is not here, which has names of others.
func beforeReason(cell string) string {
	before, _, _ := strings.Cut(cell, "not here")
	if at := strings.LastIndex(before, "; `"); at >= 0 && strings.HasSuffix(before, "is ") {
		before = before[:at]
	}
	return before
}
