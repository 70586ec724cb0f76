package read_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/write"
)

// timesFile writes requests for the same keys at the given seconds.
func timesFile(t *testing.T, dir, name string, seconds ...int) string {
	t.Helper()
	var rows strings.Builder
	rows.WriteString("time,key\n")
	for i, s := range seconds {
		fmt.Fprintf(&rows, "%d,%d\n", s, i%2)
	}
	path := filepath.Join(dir, name)
	must.Do(t, os.WriteFile(path, []byte(rows.String()), 0o644))
	return path
}

// Files that are named newest first are read so, and the user is told.
func TestTimesThatRunBackwards(t *testing.T) {
	t.Chdir(t.TempDir())
	newest := timesFile(t, "", "access.log", 30, 31, 40)
	middle := timesFile(t, "", "access.log.1", 10, 11, 29)
	oldest := timesFile(t, "", "access.log.2", 0, 3, 10)
	server2 := timesFile(t, "", "server2.log", 11, 12, 30)
	falling := timesFile(t, "", "export.csv", 9, 8, 9, 1)
	const advice = "name the files oldest first (%s), or read them by time (--merge; in an experiment merge: true)"
	for name, c := range map[string]struct {
		files   []string
		merge   bool
		perFile bool
		want    string
	}{
		"newest first": {
			files: []string{newest, middle, oldest},
			want: "times run backwards: access.log.1 begins 30s before access.log ends, which is read first; " +
				fmt.Sprintf(advice, "access.log.2 access.log.1 access.log"),
		},
		"the last two": {
			files: []string{oldest, newest, middle},
			want: "times run backwards: access.log.1 begins 30s before access.log ends, which is read first; " +
				fmt.Sprintf(advice, "access.log.2 access.log.1 access.log"),
		},
		"two servers": {
			files: []string{middle, server2},
			want: "times run backwards: server2.log begins 18s before access.log.1 ends, which is read first; times of " +
				"files overlap: read them by time (--merge; in an experiment merge: true)",
		},
		"oldest first": {files: []string{oldest, middle, newest}},
		"by time":      {files: []string{newest, middle, oldest}, merge: true},
		"file by file": {files: []string{newest, middle, oldest}, perFile: true},
		"within a file": {
			files: []string{falling},
			want: "times run backwards in export.csv: it begins 8s after it ends; requests are replayed in the order of " +
				"the file, so put the oldest first",
		},
	} {
		t.Run(name, func(t *testing.T) {
			opts := read.Options{Selection: read.Selection{Merge: c.merge, PerFile: c.perFile}}
			got := must.Get(read.Load(t.Context(), c.files, opts))(t)
			if have := strings.Join(got.Warnings, "|"); have != c.want {
				t.Errorf("warned %q, want %q", have, c.want)
			}
			scanned := must.Get(read.Scan(t.Context(), c.files, opts, func(stream.Fields) error { return nil },
				func(*stream.Record) error { return nil }))(t)
			if have := strings.Join(scanned.Warnings, "|"); have != c.want {
				t.Errorf("a scan warned %q, want %q", have, c.want)
			}
		})
	}
}

// oracleGeneral files are read batch by batch, and their times are looked at, too.
func TestTimesThatRunBackwardsInBatches(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, from := range []int{100, 0} {
		csv := timesFile(t, dir, fmt.Sprintf("%d.csv", i), from, from+1, from+50)
		files = append(files, filepath.Join(dir, fmt.Sprintf("%d.oracleGeneral", i)))
		writeAs(t, csv, files[i])
	}
	got := must.Get(read.Load(t.Context(), files, read.Options{}))(t)
	want := "times run backwards: 1.oracleGeneral begins 2m30s before 0.oracleGeneral ends, which is read first"
	if len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], want) {
		t.Errorf("warned %q, want %q", got.Warnings, want)
	}
}

// writeAs converts a trace to the format that a name stands for.
func writeAs(t *testing.T, from, to string) {
	t.Helper()
	var w *write.Writer
	begin := func(fields stream.Fields) (err error) {
		w, err = write.Create(t.Context(), to, write.Options{Fields: fields})
		return err
	}
	must.Get(read.Scan(t.Context(), []string{from}, read.Options{Needs: traces.Needs{Times: true}}, begin,
		func(rec *stream.Record) error { return w.Write(rec) }))(t)
	must.Do(t, w.Close())
}

// Without times, the names of rotated logs say which is older. The numbers of parts say nothing.
func TestRotatedLogsWithoutTimes(t *testing.T) {
	for files, order := range map[string]string{
		"a.log a.log.1":            "(a.log.1 a.log)",
		"a.log a.log.2.gz a.log.1": "(a.log.2.gz a.log.1 a.log)",
		"x b/a.log b/a.log.10":     "(b/a.log.10 b/a.log)",
		"a.log.1 a.log":            "",
		"a.log b.log.1":            "",
		"part.1 part.2 part.3":     "",
		"a.log":                    "",
		"x/a.log y/a.log.1":        "",
	} {
		want := ""
		if order != "" {
			want = "a.log is read before older parts of it, by their names, and requests have no times: name the files " +
				"oldest first " + order
		}
		if got := read.RotatedWarning(strings.Fields(files)); got != want {
			t.Errorf("%s: warned %q, want %q", files, got, want)
		}
	}
}
