package main

import (
	"bytes"
	"strings"
	"testing"
)

// The help of gen with a generator is about that generator only.
func TestHelpOfOneGenerator(t *testing.T) {
	for generator, want := range map[string]struct{ has, lacks []string }{
		"cluster": {[]string{"Generates cluster: ", "--jobs", "--listing", "(default 0.1)", "gen cluster --jobs 9+14"},
			[]string{"--objects", "--keys", "--size", "[cluster]", "gen zipf", "Sizes, for"}},
		"zipf(alpha=1)": {[]string{"Generates zipf: ", "--objects", "--keys", "Sizes, for --size", "gen zipf -n"},
			[]string{"--jobs", "--listing", "zipf-drift", "gen cluster"}},
		"dialogue": {[]string{"--requests int", "(default 10000)", "--zipf"}, []string{"--objects", "[dialogue"}},
	} {
		var stdout, stderr bytes.Buffer
		if code := run([]string{"gen", generator, "--help"}, nil, &stdout, &stderr); code != exitFine {
			t.Fatalf("%s: exit code %d: %s", generator, code, &stderr)
		}
		for _, text := range want.has {
			if !strings.Contains(stdout.String(), text) {
				t.Errorf("%s: the help lacks %q:\n%s", generator, text, &stdout)
			}
		}
		for _, text := range want.lacks {
			if strings.Contains(stdout.String(), text) {
				t.Errorf("%s: the help has %q:\n%s", generator, text, &stdout)
			}
		}
	}
}
