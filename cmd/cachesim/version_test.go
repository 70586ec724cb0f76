package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionTellsProgramsApart(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}
	modified := func(value string) debug.BuildSetting { return debug.BuildSetting{Key: "vcs.modified", Value: value} }
	for _, test := range []struct {
		commit   string
		settings []debug.BuildSetting
		want     string
	}{
		{"", nil, release},
		{"", []debug.BuildSetting{modified("true")}, release},
		{"abc1234", nil, release + "+abc1234"},
		{"abc1234", []debug.BuildSetting{revision, modified("true")}, release + "+abc1234"},
		{"abc1234-dirty", nil, release + "+abc1234-dirty.d1"},
		{"", []debug.BuildSetting{revision, modified("false")}, release + "+0123456"},
		{"", []debug.BuildSetting{modified("true"), revision}, release + "+0123456-dirty.d1"},
	} {
		if got := versionOf(test.commit, test.settings, func() string { return "d1" }); got != test.want {
			t.Errorf("commit %q, build settings %v: %s, want %s", test.commit, test.settings, got, test.want)
		}
	}
	if got := digestOfProgram(); len(got) != 8 || got == "unknown" {
		t.Errorf("digest %q of this program", got)
	}
}
