package formats_test

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

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/write"
)

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
			got, err := tracetest.ReadText(t, content, format)
			if err != nil || !reflect.DeepEqual(got, vscsiRecords) {
				t.Errorf("version %d as %q: got %v and error %v", version, format, got, err)
			}
		}
		length := len(content) / len(vscsiRecords)
		for n := 1; n < len(content); n++ {
			got, err := tracetest.ReadText(t, content[:n], "vscsi")
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
		{bytes.Repeat([]byte{9}, 80), "is not in format vscsi: want records of 32 bytes"},
	} {
		must.NotGet(tracetest.ReadText(t, string(c.content), "vscsi"))(t, c.want)
	}
}

// TestBinaryIsDetectedWhateverItsFirstByte begins files with the bytes that other kinds of files begin with.
func TestBinaryIsDetectedWhateverItsFirstByte(t *testing.T) {
	for first := range 256 {
		records := []stream.Record{{Time: int64(first) * 1e9, Num: 1 << 50, Size: 9}, {Time: 3e11, Num: 1 << 50, Size: 9},
			{Time: 3e11, Num: 2, Size: 9}}
		s, err := tracetest.OpenText(t, string(tracetest.OracleGeneral(records, []int64{2, -1, -1})), "")
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
		"right":           {tracetest.OracleGeneral(right, []int64{2, -1, math.MaxInt64}), source.Likely},
		"other key next":  {tracetest.OracleGeneral(right, []int64{3, -1, -1}), source.No},
		"next before":     {tracetest.OracleGeneral(right, []int64{2, 1, -1}), source.No},
		"next too far":    {tracetest.OracleGeneral(right, []int64{1 << 40, -1, -1}), source.No},
		"only zeros":      {make([]byte, 240), source.No},
		"text":            {bytes.Repeat([]byte("1234567\n"), 30), source.No},
		"short":           {make([]byte, 23), source.No},
		"clock goes back": {tracetest.OracleGeneral([]stream.Record{{Time: 2e9}, {Time: 1e9}}, []int64{-1, -1}), source.No},
	} {
		if got := asOracleGeneral(source.NewHead(c.content, true), "x.bin"); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	if got := asOracleGeneral(source.NewHead(make([]byte, 240), true), "x.oraclegeneral.bin"); got != source.Certain {
		t.Errorf("by name: got %v", got)
	}
}

func FuzzVSCSI(f *testing.F) {
	tracetest.Fuzz(f, "vscsi", string(encodeVSCSI(1, vscsiRecords)), string(encodeVSCSI(2, vscsiRecords)))
}

func FuzzWriters(f *testing.F) {
	f.Add("time,key,size,op\n1.5,a b,5,get\n2,\"x,y\",6,set\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content string) {
		records, err := tracetest.ReadText(t, content, "csv")
		if err != nil || len(records) == 0 {
			return
		}
		for _, format := range formats.WritableNames() {
			path := filepath.Join(dir, "out")
			options := write.Options{Format: format,
				Fields: stream.Fields{Time: true, Size: true, Op: true, Groups: true}}
			if err := tracetest.TryWrite(t.Context(), path, options, records); err != nil {
				continue
			}
			opened, err := read.Open(
				path,
				read.Options{Selection: read.Selection{
					Format: map[string]string{"csv": "csv:ops=all,delimiter=comma,header=true"}[format]}},
			)
			if err != nil {
				os.Remove(path)
				continue // plain text that looks like something else
			}
			if got, err := tracetest.Drain(opened); err != nil || len(got) != len(records) {
				t.Errorf("%s: %d records and error %v, want %d", format, len(got), err, len(records))
			}
			opened.Close()
		}
	})
}

// asOracleGeneral returns how sure that format is about a file.
func asOracleGeneral(head source.Head, name string) source.Confidence {
	all := formats.All()
	return all[slices.IndexFunc(all, func(f source.Format) bool { return f.Name == "oraclegeneral" })].Detect(head, name)
}
