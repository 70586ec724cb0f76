package traces

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/cachesim/cachesim/internal/traces/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// encodeVSCSI writes records in a version of vscsi.
func encodeVSCSI(version int, records []stream.Record) []byte {
	commands := map[stream.Op]uint16{stream.OpUnknown: 0x12, stream.OpRead: 0x28, stream.OpWrite: 0x8a}
	var b []byte
	le := binary.LittleEndian
	for i, rec := range records {
		size, us := uint32(rec.Size), uint64(rec.Time/1000)
		if version == 1 {
			b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, uint32(i)), size), 1)
			b = le.AppendUint16(le.AppendUint16(b, commands[rec.Op]), 1<<8|7)
			b = le.AppendUint64(le.AppendUint64(b, rec.Num), us)
		} else {
			b = le.AppendUint16(le.AppendUint16(b, commands[rec.Op]), 2<<8|7)
			b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, uint32(i)), size), 1)
			b = le.AppendUint64(le.AppendUint64(le.AppendUint64(b, rec.Num), us), 99)
		}
	}
	return b
}

var vscsiRecords = []stream.Record{
	{Time: 5000, Num: 1 << 40, Size: 4096, Op: stream.OpRead}, {Time: 4000, Num: 0, Size: 512, Op: stream.OpWrite},
	{Time: 1 << 50 * 1000, Num: math.MaxUint64, Size: math.MaxUint32},
}

func TestVSCSI(t *testing.T) {
	for version := 1; version <= 2; version++ {
		content := string(encodeVSCSI(version, vscsiRecords))
		for _, format := range []string{"", "vscsi", fmt.Sprintf("vscsi:version=%d", version)} {
			got, err := readAll(t, content, format)
			if err != nil || !reflect.DeepEqual(got, vscsiRecords) {
				t.Errorf("version %d as %q: got %v and error %v", version, format, got, err)
			}
		}
		length := len(content) / len(vscsiRecords)
		for n := 1; n < len(content); n++ {
			got, err := readAll(t, content[:n], "vscsi")
			switch {
			case n%length == 0:
				if err != nil || len(got) != n/length {
					t.Errorf("version %d, %d bytes: got %v and error %v", version, n, got, err)
				}
			case err == nil || n > length && !strings.Contains(err.Error(), fmt.Sprintf("byte %d: the file is cut off",
				n/length*length)):
				t.Errorf("version %d, %d bytes: got error %v", version, n, err)
			}
		}
	}
}

func TestVSCSIErrors(t *testing.T) {
	many := encodeVSCSI(1, make([]stream.Record, source.HeadLen/32+2))
	many[(source.HeadLen/32+1)*32+15] = 2
	late := encodeVSCSI(2, make([]stream.Record, 2))
	binary.LittleEndian.PutUint64(late[40+24:], math.MaxInt64/1000+1)
	for _, c := range []struct {
		content []byte
		want    string
	}{
		{many, fmt.Sprintf("byte %d: the record states version 2: want 1", (source.HeadLen/32+1)*32)},
		{late, "byte 40: time 9223372036854776 us"},
		{bytes.Repeat([]byte{9}, 80), "is no vscsi trace: want records of 32 bytes"},
	} {
		if _, err := readAll(t, string(c.content), "vscsi"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want %s", err, c.want)
		}
	}
}

// TestBinaryIsDetectedWhateverItsFirstByte begins files with the bytes that other kinds of files begin with.
func TestBinaryIsDetectedWhateverItsFirstByte(t *testing.T) {
	for first := range 256 {
		records := []stream.Record{{Time: int64(first) * 1e9, Num: 1 << 50, Size: 9}, {Time: 3e11, Num: 1 << 50, Size: 9},
			{Time: 3e11, Num: 2, Size: 9}}
		s, err := openString(t, string(encodeOracleGeneral(records, []int64{2, -1, -1})), "")
		if err != nil || s.Info.Format != "oraclegeneral" {
			t.Errorf("first byte %d: got error %v", first, err)
		}
	}
}

func TestOracleGeneralIsNotSeenInOtherFiles(t *testing.T) {
	right := []stream.Record{{Num: 7, Size: 1}, {Num: 7, Size: 1}, {Num: 8, Size: 1}}
	for name, c := range map[string]struct {
		content []byte
		want    source.Confidence
	}{
		"right":             {encodeOracleGeneral(right, []int64{2, -1, math.MaxInt64}), source.Likely},
		"other key next":    {encodeOracleGeneral(right, []int64{3, -1, -1}), source.No},
		"next before":       {encodeOracleGeneral(right, []int64{2, 1, -1}), source.No},
		"next too far":      {encodeOracleGeneral(right, []int64{1 << 40, -1, -1}), source.No},
		"nothing but zeros": {make([]byte, 240), source.No},
		"text":              {bytes.Repeat([]byte("1234567\n"), 30), source.No},
		"short":             {make([]byte, 23), source.No},
		"clock goes back":   {encodeOracleGeneral([]stream.Record{{Time: 2e9}, {Time: 1e9}}, []int64{-1, -1}), source.No},
	} {
		if got := asOracleGeneral(source.NewHead(c.content, true), "x.bin"); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	if got := asOracleGeneral(source.NewHead(make([]byte, 240), true), "x.oraclegeneral.bin"); got != source.Certain {
		t.Errorf("by name: got %v", got)
	}
}

// writeParquetRows writes rows of any type.
func writeParquetRows[T any](t testing.TB, rows []T, options ...parquet.WriterOption) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, options...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestParquetColumns(t *testing.T) {
	type stamped struct {
		Timestamp int64  `parquet:"Timestamp,timestamp(microsecond)"`
		ObjectID  string `parquet:"object_id,dict"`
		Bytes     uint32 `parquet:"bytes"`
		Command   string `parquet:"cmd"`
	}
	type numbered struct {
		Seconds float64 `parquet:"ts"`
		Key     int32   `parquet:"key"`
		Other   uint64  `parquet:"other,optional,delta"`
	}
	type floats struct { // as pandas writes integers of which some are missing
		ID   float64 `parquet:"id"`
		Size float32 `parquet:"size"`
		Time float64 `parquet:"time"`
	}
	stampedRows := []stamped{{1, "7", 3, "GET"}, {2, "07", 4, "set"}}
	numberedRows := []numbered{{1.5, -7, 1 << 63}, {2, 7, 5}}
	for _, c := range []struct {
		content, format string
		want            []stream.Record
	}{
		{writeParquetRows(t, stampedRows), "", []stream.Record{
			{Time: 1000, Num: 7, Size: 3, Op: stream.OpRead}, {Time: 2000, Text: []byte("07"), Size: 4, Op: stream.OpWrite}}},
		{writeParquetRows(t, stampedRows), "parquet:ops=reads,time=none",
			[]stream.Record{{Num: 7, Size: 3, Op: stream.OpRead}}},
		{writeParquetRows(t, stampedRows), "parquet:op=none,key=bytes,size=none",
			[]stream.Record{{Time: 1000, Num: 3}, {Time: 2000, Num: 4}}},
		{writeParquetRows(t, numberedRows), "", []stream.Record{{Time: 1.5e9, Text: []byte("-7")}, {Time: 2e9, Num: 7}}},
		{writeParquetRows(t, []floats{{5, 4096, 1}, {-3, 0, 2}}), "", []stream.Record{
			{Num: 5, Size: 4096, Time: 1e9}, {Text: []byte("-3"), Time: 2e9}}},
		{writeParquetRows(t, numberedRows), "parquet:key=other,time-unit=ms",
			[]stream.Record{{Time: 1.5e6, Num: 1 << 63}, {Time: 2e6, Num: 5}}},
	} {
		got, err := readAll(t, c.content, c.format)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %v and error %v, want %v", c.format, got, err, c.want)
		}
	}
}

func TestParquetErrors(t *testing.T) {
	type row struct {
		Key  *string `parquet:"key,optional"`
		Size int64   `parquet:"size"`
		Op   string  `parquet:"op"`
		Time int64   `parquet:"time"`
		List []int64 `parquet:"list"`
		Real float64 `parquet:"real"`
	}
	key, empty := "k", ""
	for _, c := range []struct {
		row          row
		format, want string
	}{
		{row{}, "", `row 1: column "key": the value is missing`},
		{row{Key: &empty}, "", `row 1: column "key": the key is empty`},
		{row{Key: &key, Size: -1}, "", `row 1: column "size": size -1`},
		{row{Key: &key, Op: "fly"}, "", `row 1: column "op": operation "fly"`},
		{row{Key: &key, Time: -1}, "", `row 1: column "time": time -1`},
		{row{Key: &key, Time: math.MaxInt64}, "", `row 1: column "time": time 9223372036854775807`},
		{row{Key: &key, Real: math.NaN()}, "parquet:time=real", `row 1: column "real": time NaN`},
		{row{}, "parquet:key=list", `column "list" cannot be the key: it holds nested or repeated values, want whole numbers or strings`},
		{row{Key: &key, Real: 5.5}, "parquet:key=real", `row 1: column "real": key 5.5: want a whole number`},
		{row{Key: &key, Real: 1 << 53}, "parquet:key=real",
			`row 1: column "real": key 9.007199254740992e+15: want a whole number, and in`},
		{row{Key: &key, Real: 5.5}, "parquet:size=real", `row 1: column "real": size 5.5: want a whole number of bytes`},
		{row{Key: &key, Real: math.NaN()}, "parquet:size=real",
			`row 1: column "real": size NaN: want a whole number of bytes`},
		{row{}, "parquet:size=key", `column "key" cannot be the size: it holds STRING, want whole numbers`},
		{row{}, "parquet:op=size", `column "size" cannot be the operation`},
		{row{}, "parquet:time=key", `column "key" cannot be the time`},
		{row{}, "parquet:key=no", `unknown column "no"`},
	} {
		_, err := readAll(t, writeParquetRows(t, []row{c.row}), c.format)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %s", c.format, err, c.want)
		}
	}
	type keyless struct{ Real float64 }
	if _, err := readAll(t, writeParquetRows(t, []keyless{{1}}), ""); err == nil ||
		!strings.Contains(err.Error(), "no column is known to hold the key") {
		t.Errorf("without a key: got error %v", err)
	}
}

// smallParquet is a file with dictionaries, several pages and two row groups.
func smallParquet(t testing.TB) string {
	type row struct {
		Time int64  `parquet:"time,timestamp(microsecond),delta"`
		Key  string `parquet:"key,dict,zstd"`
		Size int64  `parquet:"size,optional,snappy"`
	}
	var rows []row
	for i := range 40 {
		rows = append(rows, row{int64(i), fmt.Sprint("key", i%5), int64(i%5 + 1)})
	}
	return writeParquetRows(t, rows, parquet.PageBufferSize(64), parquet.MaxRowsPerRowGroup(25))
}

func TestCutOffParquet(t *testing.T) {
	content := smallParquet(t)
	if got, err := readAll(t, content, ""); err != nil || len(got) != 40 {
		t.Fatalf("got %d records and error %v", len(got), err)
	}
	for n := range len(content) {
		if _, err := readAll(t, content[:n], "parquet"); err == nil {
			t.Errorf("no error after %d of %d bytes", n, len(content))
		}
	}
}

// TestDamagedParquet changes one byte after the other. Not every change can be noticed, but none may crash.
func TestDamagedParquet(t *testing.T) {
	content := smallParquet(t)
	for i := range len(content) {
		for _, change := range []byte{1, 0x80, 0xff} {
			damaged := []byte(content)
			damaged[i] ^= change
			s, err := Open("-", LoadOptions{Selection: Selection{Format: "parquet"}, Stdin: bytes.NewReader(damaged)})
			if err != nil {
				continue
			}
			if got, err := drain(s); err == nil && len(got) != 40 {
				t.Errorf("byte %d: %d records and no error", i, len(got))
			}
			s.Close()
		}
	}
}

func TestParquetThatClaimsMuch(t *testing.T) {
	list := []byte{0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0} // field 2: a list of 2^31-1 structures
	var length [4]byte
	binary.LittleEndian.PutUint32(length[:], uint32(len(list)))
	for want, content := range map[string]string{
		"metadata make no sense":            "PAR1" + string(list) + string(length[:]) + "PAR1",
		"claims 4294967295 bytes":           "PAR1" + string(list) + "\xff\xff\xff\xffPAR1",
		"the signature PAR1 is missing":     "PAR1" + strings.Repeat("x", 40),
		"want a signature, metadata and th": "PAR1",
	} {
		if _, err := readAll(t, content, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

func FuzzParquet(f *testing.F) { fuzzFormat(f, "parquet", smallParquet(f), smallParquetOfQueries(f)) }

func FuzzVSCSI(f *testing.F) {
	fuzzFormat(f, "vscsi", string(encodeVSCSI(1, vscsiRecords)), string(encodeVSCSI(2, vscsiRecords)))
}

// FuzzOracleGeneral also holds Load against maps.
func FuzzOracleGeneral(f *testing.F) {
	f.Add(encodeOracleGeneral([]stream.Record{{Num: 1}, {Num: 2, Size: 5}, {Num: 1}}, []int64{3, -1, math.MaxInt64}))
	f.Fuzz(func(t *testing.T, content []byte) {
		opts := everything
		opts.Format, opts.Stdin = "oraclegeneral", bytes.NewReader(content)
		got, err := Load(t.Context(), []string{"-"}, opts)
		if err != nil {
			return
		}
		opts.Stdin = bytes.NewReader(content)
		s, err := Open("-", opts)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		records, err := drain(s)
		if err != nil {
			t.Fatal(err)
		}
		checkColumns(t, got, naiveTrace(records, s.Fields))
	})
}

func FuzzWriters(f *testing.F) {
	f.Add("time,key,size,op\n1.5,a b,5,get\n2,\"x,y\",6,set\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content string) {
		records, err := readAll(t, content, "csv")
		if err != nil || len(records) == 0 {
			return
		}
		for _, format := range formats.WritableNames() {
			path := filepath.Join(dir, "out")
			if err := tryWriteTrace(t.Context(), path, CreateOptions{Format: format, Fields: allFields}, records); err != nil {
				continue
			}
			opened, err := Open(
				path,
				LoadOptions{Selection: Selection{Format: map[string]string{"csv": "csv:ops=all,delimiter=comma,header=true"}[format]}},
			)
			if err != nil {
				os.Remove(path)
				continue // plain text that looks like something else
			}
			if got, err := drain(opened); err != nil || len(got) != len(records) {
				t.Errorf("%s: %d records and error %v, want %d", format, len(got), err, len(records))
			}
			opened.Close()
		}
	})
}

// asOracleGeneral says how sure that format is of a file.
func asOracleGeneral(head source.Head, name string) source.Confidence {
	all := formats.All()
	return all[slices.IndexFunc(all, func(f source.Format) bool { return f.Name == "oraclegeneral" })].Detect(head, name)
}
