package read_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// A key that never repeats gets a warning that names the columns that do, known names first.
func TestAKeyThatNeverRepeats(t *testing.T) {
	var log, numbers strings.Builder
	log.WriteString("id,timestamp,request,zone,name,constant,bytes_sent\n")
	for i := range 300 {
		fmt.Fprintf(&log, "%d,%d,/%d,z%d,n%d,x,7\n", i, i, i%40, i%90, i%10)
		fmt.Fprintf(&numbers, "%d,%d\n", i, i%7)
	}
	type row struct {
		ID  int64  `parquet:"id"`
		URI string `parquet:"request_uri"`
	}
	var rows []row
	for i := range 300 {
		rows = append(rows, row{int64(i), fmt.Sprint("/", i%20)})
	}
	var general []byte
	for i := range 300 { // time, key, size and next access
		general = words(general, 0, uint32(i), 0, 1, math.MaxUint32, math.MaxUint32)
	}
	for name, c := range map[string]struct{ content, format, want string }{
		"csv": {
			log.String(), "",
			`no key ever repeats in column "id"; "name" does, and "zone", and "request": --input-format csv:key=name`,
		},
		"parquet": {
			string(tracetest.ParquetOf(t, rows)), "",
			`no key ever repeats in column "id"; "request_uri" does: --input-format parquet:key=request_uri`,
		},
		"no header": {
			numbers.String(), "csv:key=1", `no key ever repeats in column "1"; "2" does: --input-format csv:key=2`,
		},
		"a good key":    {log.String(), "csv:key=request", ""},
		"no column":     {"key,size\n" + numbersOnly(300), "", "no key ever repeats, so that no cache can hit"},
		"a short trace": {"key,size\n" + numbersOnly(2), "", "no key ever repeats, so that no cache can hit"},
		"one request":   {"key,size\n" + numbersOnly(1), "", ""},
		"text alone": {
			"key,what\n" + numbersOnly(300), "",
			`no key ever repeats in column "key", and no other column looks like keys, so that no cache can hit`,
		},
		"queries": {
			numbersOnly(300), "text", "no key ever repeats, so that only similar queries (--cache semantic) can hit",
		},
		"reads of files": {
			"path,offset,length\na,0,4096\na,8388608,4096\n", "",
			"no key ever repeats, so that only what was prefetched can hit",
		},
		"recommender requests": {
			"user,tokens,shards\na,10,1:5\nb,10,1:5\n", "",
			"no key ever repeats, so that only the rows that users have in common (--cache pools) can hit",
		},
		"binary": {string(general), "", "no key ever repeats, so that no cache can hit"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a")
			must.Do(t, os.WriteFile(path, []byte(c.content), 0o644))
			got := must.Get(read.Load(t.Context(), []string{path},
				read.Options{Selection: read.Selection{Format: c.format}}))(t)
			if have := strings.Join(got.Warnings, "|"); have != c.want {
				t.Errorf("warned %q, want %q", have, c.want)
			}
		})
	}
	// Keys that repeat only across files never repeat if each file is replayed through an empty cache.
	var files []string
	for i := range 2 {
		files = append(files, filepath.Join(t.TempDir(), fmt.Sprint(i)))
		must.Do(t, os.WriteFile(files[i], []byte(log.String()), 0o644))
	}
	for perFile, want := range map[bool]int{true: 1, false: 0} {
		selected := read.Selection{PerFile: perFile, Format: "csv:key=id,time=none"}
		got, err := read.Load(t.Context(), files, read.Options{Selection: selected})
		if err != nil || len(got.Warnings) != want {
			t.Errorf("two files, one by one %v: %v, warned %q", perFile, err, got.Warnings)
		}
	}
	piped := must.Get(read.Load(t.Context(), []string{"-"},
		read.Options{Stdin: strings.NewReader(log.String())}))(t)
	want := `no key ever repeats in column "id"; ` +
		`if another holds the key (request, zone, name): --input-format csv:key=NAME`
	if len(piped.Warnings) != 1 || piped.Warnings[0] != want {
		t.Errorf("from a pipe: warned %q, want %q", piped.Warnings, want)
	}
}

// numbersOnly returns rows of two numbers, the first of which never repeats.
func numbersOnly(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "%d,%d\n", i, 1)
	}
	return s.String()
}

// words appends numbers of 4 bytes.
func words(to []byte, numbers ...uint32) []byte {
	for _, n := range numbers {
		to = binary.LittleEndian.AppendUint32(to, n)
	}
	return to
}
