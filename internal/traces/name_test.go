package traces_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/traces"
)

// A week of hourly logs has a name of one line, a few files have all of their names.
func TestManyFilesHaveAShortName(t *testing.T) {
	for files, want := range map[string]string{
		"a.log":                           "a.log",
		"a.log b.log c.log":               "a.log+b.log+c.log",
		"a-00.log.gz b c d a-23.log.gz":   "5 files, a-00 to a-23.log.gz",
		"a b c d":                         "4 files, a to d",
		"access.log access.log.1 c x.log": "4 files, access to x.log",
		"access.log c d access.log.3":     "4 files, access.log to access.log.3",
		".log b c .log":                   "4 files, .log to .log",
	} {
		if got := traces.NameOf(strings.Fields(files)); got != want {
			t.Errorf("%s: %q, want %q", files, got, want)
		}
	}
}
