package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/write"
)

type access struct {
	job, path      string
	offset, length int64
	size           int64 // of the file, -1 where it is not known
	seconds        float64
}

// readsOf returns the reads of content, and how many rows were left out.
func readsOf(t *testing.T, content, format string) (reads []access, leftOut int64, err error) {
	t.Helper()
	s, err := tracetest.OpenText(t, content, format)
	if err != nil {
		return nil, 0, err
	}
	var rec stream.Record
	for err = s.Read(&rec); err == nil; err = s.Read(&rec) {
		if head := files.HeadOf(&rec); head != nil {
			reads = append(reads, access{string(head.Job), string(head.Path), head.Offset, head.Length, head.FileSize,
				float64(rec.Time) / 1e9})
		}
	}
	if err.Error() == "EOF" {
		err = nil
	}
	return reads, s.Info.LeftOut, err
}

func TestReadsOfEachFormat(t *testing.T) {
	for name, c := range map[string]struct {
		lines   []string
		want    []access
		leftOut int64
	}{
		"reads": {
			lines: []string{
				"time,job,path,offset,length,file_size", "0.5,a,/x,0,10,100", "1,,/y,5,1000,9", "1,b,/y,9,1,9", "2,b,/z,1,2,",
			},
			want: []access{{"a", "/x", 0, 10, 100, 0.5}, {"", "/y", 5, 4, 9, 1}, {"b", "/z", 1, 2, -1, 2}}, leftOut: 1,
		},
		"juicefs": {
			lines: []string{
				"1970.01.01 00:00:05.500000 [uid:0,gid:0,pid:42] read (7,131072,262144): OK (1000) <1.3>",
				"1970.01.01 00:00:06.000000 [uid:0,gid:0,pid:42] lookup (1,data): OK (7,[drwxr-xr-x]) <0.1>",
				"1970.01.01 00:00:06.000000 [uid:0,gid:0,pid:42] read (7,131072,0): input/output error <0.1>",
				"1970.01.01 00:00:07.000000 [uid:0,gid:0,pid:42] read (7,131072,999999): OK (0) <0.1>",
				"#", // nothing happened for a second
				"1970.01.01 00:00:08.000000 [uid:0,gid:0,pid:42] read (7,131072,0,18333): OK (69632) <0.1>",
			},
			want: []access{{"42", "inode:7", 262144, 1000, -1, 5.5}, {"42", "inode:7", 0, 69632, -1, 8}}, leftOut: 4,
		},
		"fio": {
			lines: []string{
				"fio version 3 iolog", "0 /a add", "0 /a open", "1500 /a read 4096 512", "1600 /a write 0 512",
				"fio version 3 iolog", "7 /a read 0 512",
			},
			want: []access{{"", "/a", 4096, 512, -1, 0.0015}, {"", "/a", 0, 512, -1, 0.000007}}, leftOut: 4,
		},
		"blkparse": {
			lines: []string{
				"  8,0    3        1     0.250000000   697  Q   R 10 + 8 [python3]",
				"  8,0    3        2     0.250000000   697  G   R 10 + 8 [python3]",
				"  8,0    3        3     0.260000000   697  Q  WS 10 + 8 [python3]", "CPU0 (8,0):",
				" Reads Queued:           1,        4KiB  Writes Queued:           0,        0KiB",
			},
			want: []access{{"697", "8,0", 5120, 4096, -1, 0.25}}, leftOut: 4,
		},
		"dftracer": {
			lines: []string{
				"[",
				`{"name":"FH","cat":"dftracer","ph":"M","args":{"name":"/d/a","value":138}},`,
				`{"name":"read","cat":"POSIX","pid":7,"ts":1,"args":{"fd":3,"fhash":138,"ret":5}}`, // where is not known
				`{"name":"open","cat":"POSIX","pid":7,"ts":1,"args":{"fhash":138,"ret":3}}`,
				`{"name":"read","cat":"POSIX","pid":7,"ts":1000000,"args":{"fd":3,"fhash":138,"ret":5}}`,
				`{"name":"read","cat":"POSIX","pid":7,"ts":2000000,"args":{"fd":3,"fhash":138,"ret":6}}`,
				`{"name":"lseek64","cat":"POSIX","pid":7,"ts":2,"args":{"fd":3,"fhash":138,"ret":100,"whence":0,"offset":100}}`,
				`{"name":"read","cat":"POSIX","pid":7,"ts":3000000,"args":{"fd":3,"fhash":138,"ret":7}}`,
				`{"name":"read","cat":"POSIX","pid":7,"ts":3,"args":{"fd":3,"fhash":138,"ret":-1}}`,
				`{"name":"pread","cat":"POSIX","pid":8,"ts":4000000,"args":{"fd":9,"fhash":139,"ret":8,"count":9,"offset":50}}`,
				`{"name":"write","cat":"POSIX","pid":7,"ts":4,"args":{"fd":3,"fhash":138,"ret":1000}}`,
				`{"name":"read","cat":"POSIX","pid":7,"ts":4000000,"args":{"fd":3,"fhash":138,"ret":1}}`,
				`{"name":"fopen","cat":"STDIO","pid":7,"ts":4,"args":{"fhash":"ab"}}`,
				`{"name":"fread","cat":"STDIO","pid":7,"ts":5000000,"args":{"fhash":"ab","ret":2,"size":10}}`,
				`{"name":"fseek","cat":"STDIO","pid":7,"ts":5,"args":{"fhash":"ab","ret":0,"whence":0,"offset":70}}`,
				`{"name":"fread","cat":"STDIO","pid":7,"ts":6000000,"args":{"fhash":"ab","ret":1,"size":4}}`,
				`{"name":"fseek","cat":"STDIO","pid":7,"ts":6,"args":{"fhash":"ab","ret":0,"whence":2,"offset":-9}}`,
				`{"name":"fread","cat":"STDIO","pid":7,"ts":6,"args":{"fhash":"ab","ret":1,"size":4}}`, // where is not known
				`{"name":"ftell","cat":"STDIO","pid":7,"ts":6,"args":{"fhash":"ab","ret":95}}`,
				`{"name":"fread","cat":"STDIO","pid":7,"ts":7000000,"args":{"fhash":"ab","ret":1,"size":4}}`,
				"]",
			},
			want: []access{
				{"7", "/d/a", 0, 5, -1, 1}, {"7", "/d/a", 5, 6, -1, 2}, {"7", "/d/a", 100, 7, -1, 3},
				{"8", "hash:139", 50, 8, -1, 4}, {"7", "/d/a", 1107, 1, -1, 4}, {"7", "hash:ab", 0, 20, -1, 5},
				{"7", "hash:ab", 70, 4, -1, 6}, {"7", "hash:ab", 95, 4, -1, 7},
			},
			leftOut: 13,
		},
		"dftracer, older": {
			lines: []string{
				"[",
				` {"id":"0","name":"open","cat":"POSIX","pid":"7","tid":"9","ts":"1","dur":"2","ph":"X","args":{"ret":3,` +
					`"fname":"/d/a"}}`,
				`{"id":"1","name":"read","cat":"POSIX","pid":"7","tid":"9","ts":"1000000","dur":"2","ph":"X",` +
					`"args":{"fname":"/d/a","ret":"5","fd":3}}`,
				`{"id":"2","name":"read","cat":"POSIX","pid":"7","ts":"1000001","ph":"X"}`, // without arguments: of nothing
				`{"id":"3","name":"compute","cat":"app","pid":"7","ts":"1000001","ph":"X","args":{"size":"large"}}`,
				`{"id":"4","name":"mkdir","cat":"POSIX","pid":"7","ts":"1000001","ph":"X","args":{"ret":"0x7f"}}`,
				`{"name":"read","cat":"POSIX","pid":7,"ts":2000000,"args":{"fname":"/d/a","fd":"3","ret":6}}`, // as today
				`{"name":"FH","cat":"dftracer","pid":7,"ph":"M","args":{"name":"/d/b","value":138}}`,
				`{"name":"pread","cat":"POSIX","pid":"7","ts":"3000000","args":{"fhash":"138","ret":"7","offset":"40"}}`,
				`{"name":"fopen","cat":"STDIO","pid":"7","ts":"3","args":{"fname":"/d/c","ret":"0x55d0"}}`,
				`{"name":"fopen","cat":"STDIO","pid":"7","ts":"3","args":{"fname":"/d/e"}}`,
				`{"name":"fread","cat":"STDIO","pid":"7","ts":"4000000","args":{"fname":"/d/c","ret":"2","size":"10"}}`,
				`{"name":"fread","cat":"STDIO","pid":"7","ts":"5000000","args":{"fname":"/d/e","ret":"1","size":"10"}}`,
				"]",
			},
			want: []access{
				{"7", "/d/a", 0, 5, -1, 1}, {"7", "/d/a", 5, 6, -1, 2}, {"7", "/d/b", 40, 7, -1, 3},
				{"7", "/d/c", 0, 20, -1, 4}, {"7", "/d/e", 0, 10, -1, 5},
			},
			leftOut: 9,
		},
		"strace": {
			lines: []string{
				`1.000100 execve("/bin/cat", ["cat"], 0x7ffd /* 20 vars */) = 0`,
				`7 1.5 openat(AT_FDCWD</>, "/d/a", O_RDONLY) = 3</d/a>`,
				`7 2.0 read(3</d/a>, "x) = 9"..., 10) = 4`,
				`[pid  8] 2.5 read(3</d/a>,  <unfinished ...>`,
				`7 2.6 pread64(3</d/a>, "y", 5, 4096) = 5`,
				`[pid  8] 2.7 <... read resumed>"z", 10)        = 6`,
				`7 2.8 lseek(3</d/a>, 8, SEEK_SET) = 8`,
				`7 3.0 read(3</d/a>, "", 10) = 2`,
				`7 3.05 preadv2(3</d/a>, [{iov_base="", iov_len=3}], 1, -1, RWF_NOWAIT) = 3`,
				`7 3.1 read(3</d/a>, 0x7f, 10) = -1 EIO (Input/output error)`,
				`7 3.2 read(4<socket:[1]>, "", 10) = 5`,
				`7 3.5 preadv(5</d/b\76\040c>, [{iov_base="", iov_len=4}], 1, 70) = 4`,
				`7 3.6 +++ exited with 0 +++`,
				`7 3.7 close(3</d/a>) = 0`,
				`7 3.8 read(3</d/a>, "", 10) = 5`,
			},
			want: []access{
				{"7", "/d/a", 0, 4, -1, 2}, {"7", "/d/a", 4096, 5, -1, 2.6}, {"8", "/d/a", 4, 6, -1, 2.7},
				{"7", "/d/a", 8, 2, -1, 3}, {"7", "/d/a", 10, 3, -1, 3.05}, {"7", "/d/b> c", 70, 4, -1, 3.5},
			},
			leftOut: 9,
		},
		"strace:job=x": { // what moves in a file beside reads, and copies that read one
			lines: []string{
				`1.0 openat(AT_FDCWD</>, "/a", O_RDWR) = 3</a>`,
				`1.1 write(3</a>, "abc", 3) = 3`,
				`1.2 read(3</a>, "d", 9) = 1`, // at 3
				`1.3 fcntl(3</a>, F_DUPFD_CLOEXEC, 0) = 4</a>`,
				`1.4 clone(flags=SIGCHLDstrace: Process 12 attached`,
				`, child_tidptr=0x7f) = 12`,
				`[pid 12] 1.5 dup2(4</a>, 0</dev/null> <unfinished ...>`,
				`[pid 11] 1.6 read(4</a>, "e", 1) = 1`, // at 4
				`[pid 12] 1.7 <... dup2 resumed>) = 0</a>`,
				`[pid 12] 1.8 read(0</a>, "fg", 2) = 2`, // at 5
				`[pid 12] 1.9 fcntl(0</a>, F_GETFL) = 0x8000 (flags O_RDWR)`,
				`[pid 12] 2.0 sendfile(5</b>, 0</a>, NULL, 10) = 10`, // at 7
				`[pid 12] 2.1 sendfile(5</b>, 0</a>, [500] => [510], 10) = 10`,
				`[pid 12] 2.2 copy_file_range(3</a>(deleted), NULL, 5</b>, NULL, 4096, 0) = 5`, // at 17
				`[pid 12] 2.3 read(3</a<char 1:9>>, "", 5) = 5`,                                // at 22
				`[pid 12] 2.4 read(3</a>,  <detached ...>`,
				`strace: Process 12 detached`,
			},
			want: []access{
				{"x", "/a", 3, 1, -1, 1.2}, {"x", "/a", 4, 1, -1, 1.6}, {"x", "/a", 5, 2, -1, 1.8}, {"x", "/a", 7, 10, -1, 2},
				{"x", "/a", 500, 10, -1, 2.1}, {"x", "/a", 17, 5, -1, 2.2}, {"x", "/a", 22, 5, -1, 2.3},
			},
			leftOut: 10,
		},
	} {
		t.Run(name, func(t *testing.T) {
			format, _, _ := strings.Cut(name, ",")
			got, leftOut, err := readsOf(t, strings.Join(c.lines, "\n")+"\n", format)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v and error %v, want %v", got, err, c.want)
			}
			if leftOut != c.leftOut {
				t.Errorf("%d rows left out, want %d", leftOut, c.leftOut)
			}
		})
	}
}

func TestBadReads(t *testing.T) {
	for name, c := range map[string]struct{ content, format, want string }{
		"no length":       {"path,offset\n/a,0\n", "reads", "no column length in the header"},
		"negative offset": {"path,offset,length\n/a,-1,5\n", "reads", `line 2: offset: size "-1": want a whole number`},
		"no path":         {"path,offset,length\n,0,5\n", "reads", "line 2: a read without a path"},
		"too many blocks": {"path,offset,length\n/a,0,1125899906842624\n", "reads", "want at most 1048576"},
		"a log cut off":   {`{"name":"FH","cat":"dftracer","args":{"na`, "dftracer", "line 1"},
		"no name":         {`{"cat":"dftracer"}` + "\n", "dftracer", "an event without a name"},
		"no ts": {`{"name":"pread","cat":"POSIX","pid":7,"args":{"fhash":138,"ret":8,"offset":0}}` + "\n", "dftracer",
			"line 1: a pread without a time: want ts"},
		"dftracer pid": {`{"name":"pread","pid":"rank 0","ts":"1","args":{"fname":"/a","ret":8,"offset":0}}` + "\n",
			"dftracer", `line 1: pid: "rank 0": want a whole number`},
		"dftracer ts": {`{"name":"pread","cat":"POSIX","pid":"7","ts":"now","args":{"fname":"/a","ret":8,"offset":0}}` + "\n",
			"dftracer", `line 1: ts: "now": want a whole number`},
		"dftracer ret": {`{"name":"pread","cat":"POSIX","ts":"1","args":{"fname":"/a","ret":"x","offset":0}}` + "\n",
			"dftracer", `line 1: a pread with ret "x": want a whole number`},
		"dftracer write": {`{"name":"write","cat":"POSIX","pid":"7","ts":"1","args":{"fname":"/a","ret":"x"}}` + "\n",
			"dftracer", `line 1: a write with ret "x": want a whole number`},
		"dftracer seek": {`{"name":"lseek","cat":"POSIX","pid":"7","ts":"1","args":{"fname":"/a","ret":"1.5"}}` + "\n",
			"dftracer", `line 1: a lseek with ret "1.5": want a whole number`},
		"dftracer file": {`{"name":"pread","cat":"POSIX","pid":"7","ts":"1","args":{"ret":"8","offset":"0"}}` + "\n",
			"dftracer", "line 1: a pread without a file: want its hash as fhash, or its path as fname"},
		"a word for a process": {`{"name":"read","cat":"POSIX","pid":"x","ts":"1","ph":"X","args":{}}` + "\n",
			"dftracer", `pid: "x": want a whole number`},
		"juicefs time": {"yesterday [uid:0]\n", "juicefs", "want a time such as 2022.09.22"},
		"juicefs read": {"2022.09.22 08:55:21.013121 [uid:0,gid:0,pid:0] read (1,2\n", "juicefs", "want read (INODE"},
		"fio version":  {"fio version 1 iolog\n", "fio", "want fio version 2 iolog, or 3"},
		"fio length":   {"fio version 2 iolog\n/a read 5 x\n", "fio", "line 2: length"},
		"fio blanks":   {"fio version 3 iolog\n\v\n", "fio", "line 2: want a file and an action"},
		"juicefs handle": {"2022.09.22 08:55:21.013121 [uid:0,gid:0,pid:0] read (1,2,3,x): OK\n", "juicefs",
			"want read (INODE"},
		"strace time":      {"read(3</a>, 1) = 1\n", "strace", "want a time in seconds with a fraction"},
		"strace mixed":     {"1.5 clone(strace: Process 7 attached\n, 7) = 7\nhello\n", "strace", "line 3: want a time"},
		"strace no result": {"1.5 read(3</a>, \"\n", "strace", "want the result of read"},
		"blkparse sectors": {"  8,0 3 1 0.25 697 Q R x + 8 [a]\n", "blkparse", `"x" sectors: want`},
	} {
		t.Run(name, func(t *testing.T) {
			reads, _, err := readsOf(t, c.content, c.format)
			must.Fail(t, err, c.want, reads)
		})
	}
}

// TestHeaderOfReads: names of columns are found as those of other CSV files are, whatever their case.
func TestHeaderOfReads(t *testing.T) {
	for _, header := range []string{"path,offset,length,file_size", "Path,OFFSET,Length,FileSize",
		` path, offset ,length ,"file size"`} {
		got, _, err := readsOf(t, header+"\n/a,1,9,5\n", "")
		if want := []access{{"", "/a", 1, 4, 5, 0}}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v and error %v, want %v", header, got, err, want)
		}
	}
}

// TestNoReads: the error says what a file holds instead.
func TestNoReads(t *testing.T) {
	_, err := read.Load(t.Context(), []string{"-"}, read.Options{
		Stdin: strings.NewReader("1.5 read(3, \"x\", 10) = 1\n1.6 close(3) = 0\n"),
	})
	if want := "holds no requests: 2 rows left out (other calls, and reads"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestLineEndsInPaths: a table cannot hold every path, and says so.
func TestLineEndsInPaths(t *testing.T) {
	from, err := tracetest.OpenText(t, `1.5 pread64(3</a\r\nb>, "x", 10, 0) = 1`+"\n", "strace")
	must.Do(t, err)
	records, err := tracetest.Drain(from)
	if err != nil || len(records) != 1 {
		t.Fatalf("%d records and error %v", len(records), err)
	}
	err = tracetest.TryWrite(t.Context(), filepath.Join(t.TempDir(), "x.csv"),
		write.Options{Format: "reads", Fields: from.Fields}, records)
	if want := `"/a\r\nb": CSV cannot hold`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestBlocksOfReads: a read asks for every block that it touches, and the last block of a file ends with the file, or
// with what is read of it.
func TestBlocksOfReads(t *testing.T) {
	content := "path,offset,length,file_size\n/a,1000,2000,5000\n/b,0,1,\n/a,4096,10,5000\n/b,1500,100,\n"
	trace := must.Get(read.Load(t.Context(), []string{"-"}, read.Options{
		Selection: read.Selection{Format: "reads:block=1"}, Needs: traces.Needs{Sizes: true, Keys: true, Kind: true},
		Stdin: strings.NewReader(content),
	}))(t)
	c := files.Of(trace.Kind)
	keys := ""
	for o, key := range trace.Keys {
		keys += fmt.Sprintf("%s:%d ", key, trace.ObjectSizes[o])
	}
	if want := "/a#0:1024 /a#1:1024 /a#2:1024 /b#0:1024 /a#4:904 /b#1:576 "; keys != want {
		t.Errorf("blocks %s, want %s", keys, want)
	}
	if want := []uint32{0, 1, 2, 3, 4, 5}; !reflect.DeepEqual(trace.Objects, want) {
		t.Errorf("requests %v, want %v", trace.Objects, want)
	}
	if want := []int{0, 3, 4, 5}; !reflect.DeepEqual(trace.Groups, want) {
		t.Errorf("reads begin at %v, want %v", trace.Groups, want)
	}
	if !reflect.DeepEqual(c.Sizes, []int64{5000, 1600}) || !reflect.DeepEqual(c.Known, []bool{true, false}) {
		t.Errorf("files of %v bytes, known %v", c.Sizes, c.Known)
	}
}

// TestBytesOfReads: the memory of a trace counts the names of files and jobs.
func TestBytesOfReads(t *testing.T) {
	load := func(name string) int64 {
		trace := must.Get(read.Load(t.Context(), []string{"-"}, read.Options{
			Selection: read.Selection{Format: "reads"},
			Stdin:     strings.NewReader("path,job,offset,length\n" + name + "," + name + ",0,5\n"),
		}))(t)
		return trace.Bytes()
	}
	if more := load(strings.Repeat("a", 5000)) - load("a"); more < 2*4999 {
		t.Errorf("names of 5000 bytes count %d bytes more than those of 1, want 9998", more)
	}
}

// TestAddressesOfBlocks: blocks of a file follow each other, files lie in the order of their paths with a gap between
// them, and nothing lies behind the end of a file.
func TestAddressesOfBlocks(t *testing.T) {
	c := &files.Columns{
		Block: 10, Paths: []string{"/b", "/a"}, Sizes: []int64{35, 20}, Files: []int32{0, 0, 1}, Numbers: []int64{3, 0, 1},
	}
	got := must.Get(c.Addresses())(t)
	const b = 1 << 16 // where the second file begins
	if want := []uint64{b + 3, b, 1}; !reflect.DeepEqual(got.Of, want) {
		t.Errorf("addresses %v, want %v", got.Of, want)
	}
	for address, want := range map[uint64]bool{0: true, 1: true, 2: false, b - 1: false, b + 3: true, b + 4: false,
		2 * b: false} {
		if got.Exists(address) != want {
			t.Errorf("address %d: %v, want %v", address, !want, want)
		}
	}
	if key := got.KeyAt(b + 2); key.Text != "/b#2" {
		t.Errorf("the third block of /b has the key %s", key)
	}
	c.Sizes[1] = 1 << 62
	c.Block = 1
	if _, err := c.Addresses(); err != nil {
		t.Errorf("2 files of 2^62 blocks: %v", err)
	}
	c.Paths, c.Sizes = append(c.Paths, "/c"), append(c.Sizes, 1)
	if _, err := c.Addresses(); err == nil {
		t.Error("3 files of 2^62 blocks have no error: want one, as they need more than 64 bits")
	}
}

// TestRoundTripOfReads writes reads as tables and reads them back.
func TestRoundTripOfReads(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		var table strings.Builder
		table.WriteString("time,job,path,offset,length,file_size\n")
		sizes := map[string]int64{}
		for range rapid.IntRange(1, 20).Draw(rt, "reads") {
			path := rapid.SampledFrom([]string{"/a", "/b,c", `/d"e`, "/\u00e9 f", "/g#1"}).Draw(rt, "path")
			size, known := sizes[path]
			if !known {
				size = rapid.Int64Range(1, 1<<24).Draw(rt, "size")
				sizes[path] = size
			}
			offset := rapid.Int64Range(0, size-1).Draw(rt, "offset")
			length := rapid.Int64Range(1, size-offset).Draw(rt, "length")
			fmt.Fprintf(&table, "%d,job%d,\"%s\",%d,%d,%d\n", rapid.IntRange(0, 100).Draw(rt, "time"), len(path),
				strings.ReplaceAll(path, `"`, `""`), offset, length, size)
		}
		want, _ := must.Get2(readsOf(t, table.String(), "reads:block=64"))(rt)
		from := must.Get(tracetest.OpenText(t, table.String(), "reads:block=64"))(rt)
		records := must.Get(tracetest.Drain(from))(rt)
		for name, format := range map[string]string{"x.csv.zst": "reads", "x.parquet": "parquet"} {
			out := filepath.Join(dir, name)
			must.Do(rt, tracetest.TryWrite(t.Context(), out, write.Options{Format: format, Fields: from.Fields}, records))
			again, err := read.Open(out, read.Options{Selection: read.Selection{Format: format + ":block=64"}})
			must.Do(rt, err)
			defer again.Close()
			back, err := tracetest.Drain(again)
			if err != nil || !reflect.DeepEqual(back, records) {
				rt.Fatalf("%s: got %v and error %v, want %v", name, back, err, want)
			}
		}
	})
}

// TestRealTraining compares the reads of a real training run with what its description counts.
func TestRealTraining(t *testing.T) {
	dir := os.Getenv("CACHESIM_TRACES")
	if dir == "" {
		t.Skip("set CACHESIM_TRACES to the folder of the real traces")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "files", "dlio-unet3d", "*.pfw.gz"))
	if err != nil || len(paths) != 8 {
		t.Fatalf("%d logs in %s/files/dlio-unet3d and error %v, want 8", len(paths), dir, err)
	}
	trace, err := read.Load(t.Context(), paths, read.Options{Selection: read.Selection{Merge: true}})
	must.Do(t, err)
	c := files.Of(trace.Kind)
	if len(trace.Objects) != 34400 || trace.NumObjects != 5600 || len(c.Paths) != 160 || len(c.JobNames) != 8 {
		t.Errorf("%d blocks read, %d blocks, %d files, %d processes, want 34400, 5600, 160, 8", len(trace.Objects),
			trace.NumObjects, len(c.Paths), len(c.JobNames))
	}
}

// Logs of DFTracer until 2024 have numbers in quotes, the path in each call, and no first event of their own.
func TestDFTracerUntil2024(t *testing.T) {
	text := strings.Join([]string{
		"[",
		` {"id":"0","name":"init","cat":"framework","pid":"13","tid":"26","ts":"9","dur":"1","ph":"X","args":{"host":"h"}}`,
		`{"id":"1","name":"open","cat":"POSIX","pid":"13","tid":"26","ts":"9","dur":"1","ph":"X",` +
			`"args":{"ret":18,"fname":"/d/b"}}`,
		`{"id":"2","name":"read","cat":"POSIX","pid":"13","tid":"26","ts":"1000000","dur":"1","ph":"X",` +
			`"args":{"ret":"131072","count":"131072","fname":"/d/b","fd":18}}`,
		`{"id":"3","name":"read","cat":"POSIX","pid":"13","tid":"26","ts":"2000000","dur":"1","ph":"X",` +
			`"args":{"ret":"7","count":"131072","fname":"/d/b","fd":"18"}}`,
	}, "\n")
	got, leftOut, err := readsOf(t, text+"\n", "dftracer")
	want := []access{{"13", "/d/b", 0, 131072, -1, 1}, {"13", "/d/b", 131072, 7, -1, 2}}
	if err != nil || !reflect.DeepEqual(got, want) || leftOut != 3 {
		t.Errorf("reads %v, %d rows left out, error %v; want %v and 3", got, leftOut, err, want)
	}
}
