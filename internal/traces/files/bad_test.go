package files_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// oddPaths are paths that a file system allows.
var oddPaths = []string{
	"/a\xff\xfe b", "/line\nend", `/quo"te`, "/comma,", "/semi;#1", "/\u00e9\u202e", " /blanks ", "/tab\t", "/back\\slash",
	"/" + strings.Repeat("d/", 2000) + "f", "/" + strings.Repeat("x", 100_000),
}

// TestOddPaths: every format that can state such a path reads it byte for byte, and so do tables that are written.
func TestOddPaths(t *testing.T) {
	octal := func(path string) string {
		var text strings.Builder
		text.WriteByte('/') // which strace does not escape
		for _, b := range []byte(path[1:]) {
			fmt.Fprintf(&text, `\%03o`, b)
		}
		return text.String()
	}
	for _, path := range oddPaths {
		quoted := `"` + strings.ReplaceAll(path, `"`, `""`) + `"`
		contents := map[string]string{
			"reads": "path,offset,length\n" + quoted + ",0,5\n",
			"dftracer": `{"name":"FH","cat":"dftracer","args":{"name":` + jsonText(path) + `,"value":1}}` + "\n" +
				`{"name":"pread","cat":"POSIX","pid":7,"ts":1,"args":{"fhash":1,"ret":5,"offset":0}}` + "\n",
		}
		if path[0] == '/' {
			contents["strace"] = "1.5 pread64(3<" + octal(path) + `>, "x", 5, 0) = 5` + "\n"
		}
		for format, content := range contents {
			got, _, err := readsOf(t, content, format)
			if err != nil || len(got) != 1 || got[0].path != path {
				t.Errorf("%s: %.60q is read as %.60v with error %v", format, path, got, err)
			}
		}
	}
}

// jsonText writes text as a JSON string, with the bytes that are not UTF-8 as they are, as DFTracer does.
func jsonText(text string) string {
	var out bytes.Buffer
	out.WriteByte('"')
	for _, b := range []byte(text) {
		switch {
		case b == '"' || b == '\\':
			out.WriteByte('\\')
			out.WriteByte(b)
		case b < ' ':
			fmt.Fprintf(&out, `\u%04x`, b)
		default:
			out.WriteByte(b)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// TestLongLines: a path that no file system allows is refused, not held in memory.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	for format, content := range map[string]string{
		"reads":  "path,offset,length\n/" + long + ",0,5\n",
		"strace": "1.5 pread64(3</" + long + `>, "x", 5, 0) = 5` + "\n",
		"fio":    "fio version 2 iolog\n/" + long + " read 0 5\n",
	} {
		_, _, err := readsOf(t, content, format)
		must.Fail(t, err, ": longer than 1048576 bytes", format)
	}
}

// TestHugeNumbers: numbers beyond the bounds are errors, or rows that are left out and counted where they cannot be
// those of a read. None wraps around.
func TestHugeNumbers(t *testing.T) {
	for _, number := range []string{"-1", "1125899906842625", "9223372036854775807", "9223372036854775808",
		"18446744073709551616", "99999999999999999999999", "1e300", "NaN", "0x10", ""} {
		for format, line := range map[string]string{
			"reads":    "path,offset,length\n/a,N,5\n",
			"reads ":   "path,offset,length\n/a,0,N\n",
			"reads  ":  "path,offset,length,file_size\n/a,1,5,N\n",
			"juicefs":  "2022.09.22 08:55:21.013121 [uid:0,gid:0,pid:0] read (1,5,N): OK (5) <1.3>\n",
			"juicefs ": "2022.09.22 08:55:21.013121 [uid:0,gid:0,pid:0] read (1,N,0): OK <1.3>\n",
			"strace":   "1.5 pread64(3</a>, \"x\", 5, N) = 5\n",
			"strace ":  "1.5 pread64(3</a>, \"x\", 5, 0) = N\n",
			"strace  ": "1.5 open(\"a\") = 3</a>\n1.6 lseek(3</a>, 0, SEEK_SET) = N\n1.7 write(3</a>, \"\", 5) = N\n",
			"fio":      "fio version 2 iolog\n/a read N 5\n",
			"fio ":     "fio version 2 iolog\n/a read 0 N\n",
			"blkparse": "  8,0 3 1 0.25 697 Q R N + 8 [a]\n",
			"msr":      "128166372003061629,hm,1,Read,N,32768,413\n",
			"alibaba":  "419,R,N,16384,1577808144360767\n",
			"dftracer": `{"name":"pread","cat":"POSIX","pid":7,"ts":1,"args":{"fhash":1,"ret":5,"offset":N}}` + "\n",
			"dftracer ": `{"name":"open","cat":"POSIX","pid":7,"ts":1,"args":{"fhash":1,"ret":3}}` + "\n" +
				`{"name":"write","cat":"POSIX","pid":7,"ts":1,"args":{"fd":3,"fhash":1,"ret":N}}` + "\n" +
				`{"name":"write","cat":"POSIX","pid":7,"ts":1,"args":{"fd":3,"fhash":1,"ret":N}}` + "\n" +
				`{"name":"read","cat":"POSIX","pid":7,"ts":1,"args":{"fd":3,"fhash":1,"ret":5}}` + "\n",
		} {
			got, leftOut, err := readsOf(t, strings.ReplaceAll(line, "N", number), strings.TrimSpace(format))
			for _, r := range got {
				if r.offset < 0 || r.length <= 0 || r.offset > 1<<50 || r.length > 1<<50 {
					t.Errorf("%s with %s: read %v", format, number, r)
				}
			}
			if err == nil && leftOut == 0 && len(got) == 0 {
				t.Errorf("%s with %s: nothing is read, left out or refused", format, number)
			}
		}
	}
}

// TestLogsCutOff: a log that ends in the middle of a line is an error that says what to do, or reads what is there.
func TestLogsCutOff(t *testing.T) {
	for _, f := range files.Formats {
		content := tracetest.ExampleOf(t, f.Name)
		if f.Name == "fio" {
			content = "fio version 2 iolog\n/a read 4096 512\n/b read 4096 512"
		}
		whole, _, err := readsOf(t, content, f.Name)
		if err != nil || len(whole) == 0 {
			t.Fatalf("%s: the example gives %d reads and error %v", f.Name, len(whole), err)
		}
		last := strings.LastIndexByte(content, '\n') + 1
		advised := 0
		for end := last + 1; end < len(content); end++ {
			got, _, err := readsOf(t, content[:end], f.Name)
			switch {
			case err == nil && len(got) > len(whole):
				t.Errorf("%s: %q gives %v", f.Name, content[last:end], got)
			case err != nil && strings.Contains(err.Error(), "the file ends within this line"):
				advised++
			}
		}
		if advised == 0 && f.Name != "blkparse" { // where such lines belong to the summary
			t.Errorf("%s: no cut of %q is reported as one", f.Name, content[last:])
		}
		if _, _, err := readsOf(t, content[:last/2]+"\n"+content, f.Name); last > 0 && f.Name != "strace" && err == nil {
			t.Errorf("%s: a line cut in the middle of the log is read without an error", f.Name)
		}
	}
}

// TestLateReads: reads out of order keep their order and are counted, and merging sorts only between files.
func TestLateReads(t *testing.T) {
	content := "time,path,offset,length\n5,/a,0,1\n3,/b,0,1\n4,/c,0,1\n2,/d,0,1\n"
	trace := tracetest.MustLoadText(t, content, read.Options{Needs: traces.Needs{Times: true}})
	c := files.Of(trace.Kind)
	if want := []string{"/a", "/b", "/c", "/d"}; !reflect.DeepEqual(c.Paths, want) || c.Late != 2 {
		t.Errorf("files %v, %d reads late, want %v, 2", c.Paths, c.Late, want)
	}
	if want := "the times of 2 of the 4 reads are before"; !strings.Contains(fmt.Sprint(trace.Warnings), want) {
		t.Errorf("warnings %q, want %q", trace.Warnings, want)
	}
}

// TestMergedRanks: ranks have handles and hashes of their own, even with equal numbers, and are merged by time.
func TestMergedRanks(t *testing.T) {
	rank := func(pid int, path string, times ...int) string {
		lines := []string{"[", `{"name":"FH","cat":"dftracer","args":{"name":"` + path + `","value":1}},`,
			`{"name":"open","cat":"POSIX","pid":` + strconv.Itoa(pid) + `,"ts":1,"args":{"fhash":1,"ret":3}},`}
		for _, time := range times {
			lines = append(lines, fmt.Sprintf(
				`{"name":"read","cat":"POSIX","pid":%d,"ts":%d,"args":{"fd":3,"fhash":1,"ret":1024}},`, pid, time))
		}
		return strings.Join(lines, "\n") + "\n"
	}
	paths := tracetest.WriteTexts(t, rank(7, "/a", 10, 30, 50), rank(7, "/b", 20, 40), rank(8, "/a", 60))
	trace := must.Get(read.Load(t.Context(), paths, read.Options{
		Selection: read.Selection{Merge: true, Format: "dftracer:block=1"}, Needs: traces.Needs{Keys: true},
	}))(t)
	got := ""
	for _, o := range trace.Objects {
		got += trace.Keys[o].String() + " "
	}
	if want := "/a#0 /b#0 /a#1 /b#1 /a#2 /a#0 "; got != want {
		t.Errorf("reads %s, want %s", got, want)
	}
	if c := files.Of(trace.Kind); !reflect.DeepEqual(c.JobNames, []string{"7", "8"}) || c.Late != 0 {
		t.Errorf("jobs %q, %d reads late, want 7 and 8, 0", c.JobNames, c.Late)
	}
	if trace.LeftOut() != 9 { // a bracket, a name and an open in each
		t.Errorf("%d rows left out, want 9", trace.LeftOut())
	}
}

// TestReadsWithoutTimes: requests are not counted in place of times, which models would take for seconds.
func TestReadsWithoutTimes(t *testing.T) {
	for _, content := range []string{
		"path,offset,length\n/a,0,1\n/b,0,1\n", "fio version 2 iolog\n/a read 0 1\n/b read 0 1\n",
	} {
		trace := tracetest.MustLoadText(t, content, read.Options{Needs: traces.Needs{Times: true}})
		if trace.Times != nil {
			t.Errorf("%q has the times %v, want none", content, trace.Times)
		}
		if reading := trace.ReadAs(); !strings.Contains(reading, ", no time,") {
			t.Errorf("%q is read as %q, want a word on the times", content, reading)
		}
	}
}
