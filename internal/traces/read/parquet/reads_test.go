package parquet_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/write"
)

// readRow is a read with other names of columns and other types than those that are written.
type readRow struct {
	When   int64   `parquet:"when,timestamp(microsecond)"`
	Rank   *int32  `parquet:"rank,optional"`
	File   string  `parquet:"file"`
	Offset uint32  `parquet:"offset"`
	Count  float64 `parquet:"count"`
	Size   *int64  `parquet:"file_size,optional"`
}

func readRows() []readRow {
	rank, size := int32(7), int64(1500)
	return []readRow{
		{2_000_000, &rank, "/a", 1000, 1000, &size}, {3_000_000, nil, "/\xffb\n", 0, 5, nil}, {4, nil, "/a", 1500, 1, &size},
	}
}

func smallParquetOfReads(t testing.TB) string {
	return tracetest.ParquetOf(t, []struct {
		Path   string `parquet:"path"`
		Offset int64  `parquet:"offset"`
		Length int64  `parquet:"length"`
	}{{"/a", 0, 5}, {"/b", 4 << 20, 9}})
}

// TestParquetReads: the columns of reads have the usual names, or those that options give; a read asks for blocks.
func TestParquetReads(t *testing.T) {
	const format = "parquet:block=1,path=file,length=count,time=when,job-column=rank"
	s := must.Get(tracetest.OpenText(t, tracetest.ParquetOf(t, readRows()), format+",offset=offset"))(t)
	records := must.Get(tracetest.Drain(s))(t)
	var got []string
	for _, rec := range records {
		text := fmt.Sprintf("%d %q %d", rec.Time, rec.Text, rec.Size)
		if h := files.HeadOf(&rec); rec.Begins {
			text += fmt.Sprintf(" %q %d %d %d", h.Job, h.Offset, h.Length, h.FileSize)
		}
		got = append(got, text)
	}
	want := []string{`2000000000 "/a#0" 1024 "7" 1000 500 1500`, `2000000000 "/a#1" 476`,
		`3000000000 "/\xffb\n#0" 1024 "" 0 5 -1`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	if s.Info.Cut != 1 || s.Info.LeftOut != 1 {
		t.Errorf("%d reads cut, %d left out, want 1, 1", s.Info.Cut, s.Info.LeftOut)
	}
	if want := "reads of files in blocks of 1 KiB, key path#block, time in us"; !strings.Contains(s.Info.Text(), want) {
		t.Errorf("read as %q, want %q", s.Info.Text(), want)
	}
	if s, err := tracetest.OpenText(t, smallParquetOfReads(t), "parquet:key=path"); err != nil || s.Fields.Kind != nil {
		t.Errorf("with a key, rows are %v with error %v, want plain objects", s.Fields.Kind, err)
	}
}

// TestTimesOfParquetReads: numbers of seconds, or of a unit that the first number has.
func TestTimesOfParquetReads(t *testing.T) {
	type row struct {
		Path   string `parquet:"path"`
		Offset int64  `parquet:"offset"`
		Length int64  `parquet:"length"`
		Time   int64  `parquet:"time"`
	}
	for at, want := range map[int64]int64{17: 17e9, 1_600_000_000_123: 1_600_000_000_123e6} {
		s := must.Get(tracetest.OpenText(t, tracetest.ParquetOf(t, []row{{"/a", 0, 5, at}}), ""))(t)
		if got := must.Get(tracetest.Drain(s))(t); len(got) != 1 || got[0].Time != want {
			t.Errorf("%d is read as %v, want %d", at, got, want)
		}
	}
}

func TestBadParquetReads(t *testing.T) {
	type pathless struct {
		Path   *string `parquet:"path,optional"`
		Offset int64   `parquet:"offset"`
		Length int64   `parquet:"length"`
	}
	path := "/a"
	for name, c := range map[string]struct{ content, format, want string }{
		"no path": {tracetest.ParquetOf(t, []pathless{{nil, 0, 1}}), "", `row 1: column "path": the value is missing`},
		"negative offset": {tracetest.ParquetOf(t, []pathless{{&path, 0, 1}, {&path, -5, 1}}), "",
			`row 2: column "offset": size -5`},
		"negative length": {tracetest.ParquetOf(t, []pathless{{&path, 0, -1}}), "", `row 1: column "length": size -1`},
		"huge offset": {tracetest.ParquetOf(t, []pathless{{&path, 1 << 62, 1}}), "",
			`row 1: column "offset": size 4611686018427387904: want a whole number of bytes`},
		"too many blocks": {tracetest.ParquetOf(t, []pathless{{&path, 0, 1 << 50}}), "", "row 1: a read of 268435456 blocks"},
		"text as offset": {tracetest.ParquetOf(t, readRows()), "parquet:path=file,offset=file,length=count",
			`column "file" cannot be the offset`},
		"no length":     {tracetest.ParquetOf(t, readRows()), "parquet:path=file", "the option path is for reads of files"},
		"block of keys": {smallParquet(t), "parquet:block=4", "the option block is for reads of files"},
		"key and block": {smallParquetOfReads(t), "parquet:key=path,block=4", "the option block is for reads of files"},
		"tenants":       {smallParquetOfReads(t), "parquet:tenant=job", "write --tenant job"},
		"operation":     {smallParquetOfReads(t), "parquet:op=path", "reads of files have no column of the op"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := tracetest.OpenText(t, c.content, c.format)
			if err == nil {
				_, err = tracetest.Drain(s)
			}
			must.Fail(t, err, c.want)
		})
	}
}

// TestParquetKeepsReads: everything known about reads is written, in several row groups.
func TestParquetKeepsReads(t *testing.T) {
	var table strings.Builder
	table.WriteString("path,job,offset,length,file_size\n")
	for i := range 70_000 {
		size := ""
		if i%3 == 0 {
			size = "9000000"
		}
		fmt.Fprintf(&table, "/%d,%s,%d,10,%s\n", i%1000, strings.Repeat("j", i%2), i, size)
	}
	load := func(path, format string) *traces.Trace {
		t.Helper()
		return must.Get(read.Load(t.Context(), []string{path}, read.Options{
			Selection: read.Selection{Format: format}, Needs: traces.Needs{Times: true, Sizes: true, Kind: true}}))(t)
	}
	in := tracetest.WriteTexts(t, table.String())[0]
	from := must.Get(read.Open(in, read.Options{}))(t)
	defer from.Close()
	records := must.Get(tracetest.Drain(from))(t)
	out := filepath.Join(t.TempDir(), "x.parquet")
	tracetest.Write(t, out, from.Fields, records)
	want, got := load(in, ""), load(out, "")
	if !reflect.DeepEqual(got.Kind, want.Kind) || !reflect.DeepEqual(got.Objects, want.Objects) ||
		!reflect.DeepEqual(got.Times, want.Times) {
		t.Error("the trace differs after it was written and read")
	}
	w := must.Get(write.Create(t.Context(), out, write.Options{Fields: from.Fields}))(t)
	defer w.Discard()
	if w.Remarks() != "" {
		t.Errorf("remarks %q, want none", w.Remarks())
	}
}
