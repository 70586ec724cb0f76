package version

import (
	"runtime/debug"
	"testing"
)

const release = "0.1.0"

func TestVersionTellsProgramsApart(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}
	modified := func(value string) debug.BuildSetting { return debug.BuildSetting{Key: "vcs.modified", Value: value} }
	for _, test := range []struct {
		commit   string
		settings []debug.BuildSetting
		module   string
		want     string
	}{
		{"", nil, "(devel)", release},
		{"", []debug.BuildSetting{modified("true")}, "", release},
		{"abc1234", nil, "v0.9.0", release + "+abc1234"},
		{"abc1234", []debug.BuildSetting{revision, modified("true")}, "", release + "+abc1234"},
		{"abc1234-dirty", nil, "", release + "+abc1234-dirty.d1"},
		{"", []debug.BuildSetting{revision, modified("false")}, "v0.0.0-2026+dirty", release + "+0123456"},
		{"", []debug.BuildSetting{modified("true"), revision}, "", release + "+0123456-dirty.d1"},
		{"v0.2.0", nil, "", "0.2.0"},
		{"v0.2.0-5-gabc1234", nil, "", "0.2.0-5-gabc1234"},
		{"v0.2.0-dirty", nil, "", "0.2.0-dirty.d1"},
		{"", nil, "v0.3.1", "0.3.1"},
	} {
		info := debug.BuildInfo{Main: debug.Module{Version: test.module}, Settings: test.settings}
		if got := versionOf(release, test.commit, info, func() string { return "d1" }); got != test.want {
			t.Errorf("commit %q, module %q, build settings %v: %s, want %s", test.commit, test.module, test.settings, got,
				test.want)
		}
	}
	if got := digestOfProgram(); len(got) != 8 || got == "unknown" {
		t.Errorf("digest %q of this program", got)
	}
}
