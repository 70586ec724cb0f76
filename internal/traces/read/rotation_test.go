package read

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestNamesOfRotatedLogs(t *testing.T) {
	for _, names := range [][]string{
		{"access.log", "access.log.1", "access.log.10.gz"},
		{"d/access.log.2.gz", "d/access.log.1"},
		{"access_log-20260101", "access_log-20260102.xz", "access_log"},
		{"access.log-20260101-1772000000", "access.log-20260102"},
		{"access.log.2026-01-01", "access.log.2026-01-02.1"},
		{"access-2026-03-01T12-00-00.000.log.gz", "access.log"},
		{"access-20260301.log", "access-20260302.log"},
		{"requests", "requests.1"},
	} {
		if !areRotated(names) {
			t.Errorf("%q: no rotated log", names)
		}
	}
	for _, names := range [][]string{
		{"trace.1", "trace.2"}, {"a.log", "b.log"}, {"access.log"}, {"d/access.log", "e/access.log.1"},
		{"access.log", "access.log.old"}, {"access.log", "other.log.1"}, {"part-1.csv", "part-2.csv"},
		{"wiki.1190153705", "wiki.1190157306"}, {"access.log.1", "access.log.csv"},
	} {
		if areRotated(names) {
			t.Errorf("%q: a rotated log", names)
		}
	}
}

// TestRotatedLogsAreReadByTime: in whatever order they are named. Other files keep their order.
func TestRotatedLogsAreReadByTime(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(content), 0o644))
		return path
	}
	log := func(name string, at int) string {
		return write(name, fmt.Sprintf("time,key\n%d,a\n%d,b\n", at, at+5))
	}
	now, before, old := log("access.log", 30), log("access.log.1", 20), log("access.log.2", 10)
	untimed := write("access.log.3", "key\na\n")
	for _, c := range []struct {
		paths []string
		opts  Options
		want  []int
	}{
		{[]string{now, before, old}, Options{}, []int{2, 1, 0}},
		{[]string{before, now, old}, Options{}, []int{2, 0, 1}},
		{[]string{old, before, now}, Options{}, nil},
		{[]string{now, before, old}, Options{Selection: Selection{Merge: true}}, nil},
		{[]string{now, before, old}, Options{Selection: Selection{PerFile: true}}, nil},
		{[]string{now, before, untimed}, Options{}, nil},
		{[]string{now, before, filepath.Join(dir, "access.log.4")}, Options{}, nil},
		{[]string{now, log("copy.log", 1)}, Options{}, nil},
		{[]string{now}, Options{}, nil},
	} {
		if got := RotationOrder(t.Context(), c.paths, c.opts); !slices.Equal(got, c.want) {
			t.Errorf("%q: order %v, want %v", c.paths, got, c.want)
		}
	}
}
