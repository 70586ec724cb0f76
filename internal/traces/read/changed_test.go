package read_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// A file that changes while it is read gives an error, whatever was read from it.
func TestFileThatChangesWhileItIsRead(t *testing.T) {
	var records []stream.Record
	for i := range 100_000 {
		records = append(records, stream.Record{Time: int64(i) * 1e9, Num: uint64(i % 5000), Size: 100})
	}
	cut := func(t *testing.T, path string) {
		info := must.Get(os.Stat(path))(t)
		must.Do(t, os.Truncate(path, info.Size()/3/formats.OracleGeneralRecord*formats.OracleGeneralRecord))
	}
	extend := func(t *testing.T, path string) {
		file := must.Get(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
		defer file.Close()
		must.Get(file.Write(make([]byte, formats.OracleGeneralRecord)))(t)
	}
	for _, name := range brief.Sample(2, "t.oraclegeneral", "t.csv", "t.csv.gz", "t.parquet", "t.txt.zst") {
		for what, change := range map[string]func(*testing.T, string){"cut": cut, "extended": extend} {
			for _, merge := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s, merge %v", name, what, merge), func(t *testing.T) {
					path := filepath.Join(t.TempDir(), name)
					tracetest.Write(t, path, stream.Fields{Time: true, Size: true}, records)
					opts := read.Options{Selection: read.Selection{Merge: merge}}
					changed := false
					opts.Progress = func(int64, int64) {
						if !changed {
							change(t, path)
							changed = true
						}
					}
					_, err := read.Load(t.Context(), []string{path}, opts)
					must.Fail(t, err, path+": changed while it was read, from ")
				})
			}
		}
	}
}

// Requests written after those that a limit keeps do not matter.
func TestFileThatGrowsBehindALimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	tracetest.WriteFile(t, path, []byte("key\n"+strings.Repeat("a\n", 100)))
	opts := read.Options{Selection: read.Selection{Limit: 10}, Progress: func(int64, int64) {
		file := must.Get(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
		defer file.Close()
		must.Get(file.WriteString("b\n"))(t)
	}}
	if trace, err := read.Load(t.Context(), []string{path}, opts); err != nil || len(trace.Objects) != 10 {
		t.Errorf("error %v, want 10 requests", err)
	}
}

// Standard input may be a file that the shell has opened.
func TestStandardInputThatChangesWhileItIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	tracetest.WriteFile(t, path, []byte("key\n"+strings.Repeat("a\n", 1<<20)))
	file, err := os.Open(path)
	must.Do(t, err)
	defer file.Close()
	_, err = read.Load(t.Context(), []string{"-"}, read.Options{Stdin: file, Progress: func(int64, int64) {
		must.Do(t, os.Truncate(path, 1<<19))
	}})
	must.Fail(t, err, "standard input: changed while it was read, from ")
}

// A program that was stopped while it wrote, or a disk that filled up, may leave a file of its full length.
func TestOracleGeneralThatEndsWithZeros(t *testing.T) {
	var records []stream.Record
	for i := range 10_000 {
		records = append(records, stream.Record{Time: int64(i) * 1e9, Num: uint64(i % 500), Size: 100})
	}
	path := filepath.Join(t.TempDir(), "t.oraclegeneral")
	tracetest.Write(t, path, stream.Fields{Time: true, Size: true}, records)
	whole := must.Get(os.ReadFile(path))(t)
	for _, c := range []struct {
		zeros int
		merge bool
		want  string
	}{
		{100_000, false, "byte 240000: the file ends with 100000 records of only zeros"},
		{100_000, true, "byte 240000: the file ends with 100000 records of only zeros"},
		{32, false, "head -c 240000"},
		{31, false, ""},
	} {
		tracetest.WriteFile(t, path, append(whole[:len(whole):len(whole)],
			make([]byte, c.zeros*formats.OracleGeneralRecord)...))
		trace, err := read.Load(t.Context(), []string{path},
			read.Options{Selection: read.Selection{Merge: c.merge}})
		switch {
		case c.want == "" && (err != nil || len(trace.Objects) != len(records)+c.zeros):
			t.Errorf("%d records of zeros: %v", c.zeros, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%d records of zeros: error %v, want %q", c.zeros, err, c.want)
		}
	}
}
