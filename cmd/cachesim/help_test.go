package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
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

// Without arguments the program fits a terminal of 80 columns and leads with a log; so does its help.
func TestFirstScreenFits(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run(nil, nil, &stdout, &stderr); code != exitFine || stderr.Len() > 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	lines := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
	if len(lines) > 20 {
		t.Errorf("%d lines, want at most 20", len(lines))
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("longer than 80 columns: %s", line)
		}
	}
	var help bytes.Buffer
	run([]string{"--help"}, nil, &help, &stderr)
	for _, text := range []string{stdout.String(), help.String()} {
		i := strings.Index(text, "\n  cachesim ")
		if i < 0 || !strings.HasPrefix(text[i:], "\n  cachesim access.log ") {
			t.Errorf("the first example is not cachesim access.log:\n%s", text)
		}
	}
}
