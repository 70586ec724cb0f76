package read_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/write"
)

var allFields = stream.Fields{Time: true, Size: true, Op: true, Groups: true}

func TestCSVWriterExample(t *testing.T) {
	records := []stream.Record{
		{Time: 1_500_000_000, Num: 7, Size: 10, Op: stream.OpRead},
		{Time: 2_000_000_001, Text: []byte("007"), Size: 0, Op: stream.OpDelete},
		{Time: 1, Text: []byte(`a,"b"`), Size: math.MaxInt64},
	}
	for _, c := range []struct {
		fields stream.Fields
		want   string
	}{
		{stream.Fields{Time: true, Size: true, Op: true},
			"time,key,size,op\n1.5,7,10,read\n2.000000001,007,0,delete\n0.000000001,\"a,\"\"b\"\"\",9223372036854775807,\n"},
		{stream.Fields{}, "key\n7\n007\n\"a,\"\"b\"\"\"\n"},
		{stream.Fields{Size: true}, "key,size\n7,10\n007,0\n\"a,\"\"b\"\"\",9223372036854775807\n"},
	} {
		var out bytes.Buffer
		must.Do(t, tracetest.TryWrite(t.Context(), "-", write.Options{Fields: c.fields, Stdout: &out}, records))
		if out.String() != c.want {
			t.Errorf("%+v: got %q, want %q", c.fields, out.String(), c.want)
		}
	}
}

func TestWritersRefuseWhatTheirFormatCannotHold(t *testing.T) {
	for _, c := range []struct {
		format string
		rec    stream.Record
		want   string
	}{
		{"oraclegeneral", stream.Record{Size: 1 << 32}, "record 2: size 4294967296 does not fit"},
		{"oraclegeneral", stream.Record{Time: 1 << 32 * 1e9}, "record 2: time 4294967296 s does not fit"},
		{"csv", stream.Record{Time: -1}, "record 2: time -1 ns, size 0: neither may be negative"},
		{"parquet", stream.Record{Size: -1}, "record 2: time 0 ns, size -1: neither may be negative"},
		{"plain", stream.Record{Text: []byte("two words")}, "record 2: key \"two words\" has white space"},
		{"csv", stream.Record{Text: []byte("a\x00")}, "record 2: key \"a\\x00\" has control characters"},
	} {
		path := filepath.Join(t.TempDir(), "out")
		err := tracetest.TryWrite(t.Context(), path, write.Options{Format: c.format, Fields: allFields},
			[]stream.Record{{}, c.rec})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: got error %v, want %s", c.format, err, c.want)
		}
		if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
			t.Errorf("%s: %s is left behind", c.format, left[0].Name())
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ path, format, want string }{
		{filepath.Join(dir, "x"), "", "does not imply a format"},
		{filepath.Join(dir, "x.csv"), "cvs", `did you mean "csv"`},
		{filepath.Join(dir, "x.csv.bz2"), "", "cannot write .bz2"},
		{filepath.Join(dir, "no", "x.csv"), "", "does not exist"},
		{dir, "csv", "folder"},
	} {
		_, err := write.Create(t.Context(), c.path, write.Options{Format: c.format})
		must.Fail(t, err, c.want, c.path, c.format)
	}
}

func TestFormatIsToldByName(t *testing.T) {
	for path, want := range map[string]string{
		"a.csv": "csv", "a.CSV.GZ": "csv", "a.txt.zst": "plain", "a.batches.gz": "batches",
		"a.oracleGeneral": "oraclegeneral", "b/cloud.oracleGeneral.bin.zst": "oraclegeneral",
	} {
		format, err := formats.ChooseWritable(path, "", stream.Fields{})
		if err != nil || format.Name != want {
			t.Errorf("%s: got %q and error %v, want %q", path, format.Name, err, want)
		}
	}
}

// fullDisk accepts some bytes and then fails.
type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if len(p) > d.left {
		return 0, os.ErrClosed
	}
	d.left -= len(p)
	return len(p), nil
}

func TestWriterReportsAFullDisk(t *testing.T) {
	records := make([]stream.Record, 100_000)
	for _, format := range recordFormats() {
		err := tracetest.TryWrite(t.Context(), "-", write.Options{Format: format, Fields: stream.Fields{Groups: true},
			Stdout: &fullDisk{100}}, records)
		if err != os.ErrClosed {
			t.Errorf("%s: got error %v, want that of the disk", format, err)
		}
	}
}

func TestOracleGeneralWriterExample(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.oracleGeneral")
	records := []stream.Record{{Time: 1.9e9, Num: 5, Size: 3}, {Time: 2e9, Text: []byte("b"), Size: 4},
		{Time: 3e9, Num: 5,
			Size: 3}}
	tracetest.Write(t, path, allFields, records)
	got := must.Get(os.ReadFile(path))(t)
	id := stream.HashText([]byte("b"))
	want := []byte{
		1,
		0,
		0,
		0,
		5,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		3,
		0,
		0,
		0,
		3,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		2,
		0,
		0,
		0,
		byte(id),
		byte(id >> 8),
		byte(id >> 16),
		byte(id >> 24),
		byte(id >> 32),
		byte(id >> 40),
		byte(id >> 48),
		byte(id >> 56),
		4,
		0,
		0,
		0,
		255,
		255,
		255,
		255,
		255,
		255,
		255,
		255,
		3,
		0,
		0,
		0,
		5,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		3,
		0,
		0,
		0,
		255,
		255,
		255,
		255,
		255,
		255,
		255,
		255,
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
}

func TestOracleGeneralWriterRefusesKeysThatBecomeOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.oracleGeneral")
	err := tracetest.TryWrite(t.Context(), path, write.Options{},
		[]stream.Record{{Num: stream.HashText([]byte("b"))}, {Text: []byte("b")}})
	must.Fail(t, err, "would both become the number")
	if _, err := os.Stat(path); err == nil {
		t.Error("the file exists")
	}
}

func TestWriterStopsWithItsContext(t *testing.T) {
	for _, format := range recordFormats() {
		ctx, cancel := context.WithCancel(t.Context())
		path := filepath.Join(t.TempDir(), "x.zst")
		w := must.Get(write.Create(ctx, path, write.Options{Format: format, Fields: stream.Fields{Groups: true}}))(t)
		must.Do(t, w.Write(&stream.Record{Num: 1}))
		cancel()
		if err := w.Close(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got error %v", format, err)
		}
		if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
			t.Errorf("%s: %s is left behind", format, left[0].Name())
		}
	}
}
