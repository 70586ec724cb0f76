package parquet_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

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
	type floats struct { // as pandas writes integers if some are missing
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
		{tracetest.ParquetOf(t, stampedRows), "", []stream.Record{
			{Time: 1000, Num: 7, Size: 3, Op: stream.OpRead}, {Time: 2000, Text: []byte("07"), Size: 4, Op: stream.OpWrite}}},
		{tracetest.ParquetOf(t, stampedRows), "parquet:ops=reads,time=none",
			[]stream.Record{{Num: 7, Size: 3, Op: stream.OpRead}}},
		{tracetest.ParquetOf(t, stampedRows), "parquet:op=none,key=bytes,size=none",
			[]stream.Record{{Time: 1000, Num: 3}, {Time: 2000, Num: 4}}},
		{tracetest.ParquetOf(t, numberedRows), "", []stream.Record{{Time: 1.5e9, Text: []byte("-7")}, {Time: 2e9, Num: 7}}},
		{tracetest.ParquetOf(t, []floats{{5, 4096, 1}, {-3, 0, 2}}), "", []stream.Record{
			{Num: 5, Size: 4096, Time: 1e9}, {Text: []byte("-3"), Time: 2e9}}},
		{tracetest.ParquetOf(t, numberedRows), "parquet:key=other,time-unit=ms",
			[]stream.Record{{Time: 1.5e6, Num: 1 << 63}, {Time: 2e6, Num: 5}}},
	} {
		got, err := tracetest.ReadText(t, c.content, c.format)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %v and error %v, want %v", c.format, got, err, c.want)
		}
	}
}

// TestParquetCaching: times to live, what the server found, dates as texts, epoch units, and keys of several columns.
func TestParquetCaching(t *testing.T) {
	type row struct {
		Host  string   `parquet:"host"`
		Path  string   `parquet:"path"`
		Shard int32    `parquet:"shard"`
		Date  string   `parquet:"date"`
		Ms    int64    `parquet:"ms"`
		TTL   *float64 `parquet:"ttl,optional"`
		Hit   bool     `parquet:"hit"`
		Cache *string  `parquet:"cache,optional"`
	}
	hour, miss := 1.5, "TCP_MISS"
	content := tracetest.ParquetOf(t, []row{
		{"a.org", "/x", -7, "10/Oct/2000:13:55:36 -0700", 971211336000, &hour, true, nil},
		{"a.org", "y", 8, "2000-10-10T20:55:37Z", 971211337000, nil, false, &miss},
	})
	for format, want := range map[string][]stream.Record{
		"parquet": {{Time: 971211336e9, Text: []byte("/x"), TTL: 15e8, Served: stream.ServedHit},
			{Time: 971211337e9, Text: []byte("y"), Served: stream.ServedMiss}},
		"parquet:key=host+path,time=ms,served=cache,ttl-unit=ms": {
			{Time: 971211336e9, Text: []byte("a.org/x"), TTL: 15e5},
			{Time: 971211337e9, Text: []byte("a.org|y"), Served: stream.ServedMiss}},
		"parquet:key=shard+path,time=none,ttl=none,served=none": {
			{Text: []byte("-7/x")}, {Text: []byte("8|y")}},
	} {
		got, err := tracetest.ReadText(t, content, format)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v and error %v, want %v", format, got, err, want)
		}
	}
	type other struct {
		Key   string `parquet:"key"`
		Cache []string
		TTL   string
	}
	got, err := tracetest.ReadText(t, tracetest.ParquetOf(t, []other{{Key: "k", TTL: "long"}}), "")
	if err != nil || !reflect.DeepEqual(got, []stream.Record{{Text: []byte("k")}}) {
		t.Errorf("columns that only have the names: got %v and error %v", got, err)
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
		{row{Key: &key, Time: math.MaxInt64}, "parquet:time-unit=s", `row 1: column "time": time 9223372036854775807`},
		{row{Key: &key, Real: math.NaN()}, "parquet:time=real", `row 1: column "real": time NaN`},
		{row{}, "parquet:key=list",
			`column "list" cannot be the key: it holds nested or repeated values, want whole numbers or strings`},
		{row{Key: &key, Real: 5.5}, "parquet:key=real", `row 1: column "real": key 5.5: want a whole number`},
		{row{Key: &key, Real: 1 << 53}, "parquet:key=real",
			`row 1: column "real": key 9.007199254740992e+15: want a whole number, below`},
		{row{Key: &key, Real: 5.5}, "parquet:size=real", `row 1: column "real": size 5.5: want a whole number of bytes`},
		{row{Key: &key, Real: math.NaN()}, "parquet:size=real",
			`row 1: column "real": size NaN: want a whole number of bytes`},
		{row{}, "parquet:size=key", `column "key" cannot be the size: it holds STRING, want whole numbers`},
		{row{}, "parquet:op=size", `column "size" cannot be the operation`},
		{row{}, "parquet:time=list", `column "list" cannot be the time`},
		{row{Key: &key}, "parquet:time=key", `row 1: column "key": time "k": want a number`},
		{row{Key: &key, Size: 1}, "parquet:ttl=key", `column "key" cannot be the time to live`},
		{row{Key: &key, Real: -2}, "parquet:ttl=real", `row 1: column "real": time to live -2`},
		{row{Key: &key, Real: -2}, "parquet:key=key+real+list", `column "list" cannot be the key`},
		{row{Key: &key, Real: .5}, "parquet:key=key+real", `row 1: column "real": key 0.5: want a text or a whole number`},
		{row{}, "parquet:key=no", `unknown column "no"`},
	} {
		_, err := tracetest.ReadText(t, tracetest.ParquetOf(t, []row{c.row}), c.format)
		must.Fail(t, err, c.want, c.format)
	}
	type keyless struct{ Real float64 }
	if _, err := tracetest.ReadText(t, tracetest.ParquetOf(t, []keyless{{1}}), ""); err == nil ||
		!strings.Contains(err.Error(), "cannot tell which column has the key") {
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
	return tracetest.ParquetOf(t, rows, parquet.PageBufferSize(64), parquet.MaxRowsPerRowGroup(25))
}

func TestCutOffParquet(t *testing.T) {
	content := smallParquet(t)
	if got, err := tracetest.ReadText(t, content, ""); err != nil || len(got) != 40 {
		t.Fatalf("got %d records and error %v", len(got), err)
	}
	for n := 0; n < len(content); n += brief.Of(1, 7) {
		if _, err := tracetest.ReadText(t, content[:n], "parquet"); err == nil {
			t.Errorf("no error after %d of %d bytes", n, len(content))
		}
	}
}

// TestDamagedParquet changes each byte in turn. Not every change can be noticed, but none may crash.
func TestDamagedParquet(t *testing.T) {
	content := smallParquet(t)
	for i := 0; i < len(content); i += brief.Of(1, 31) {
		for _, change := range []byte{1, 0x80, 0xff} {
			damaged := []byte(content)
			damaged[i] ^= change
			s, err := read.Open("-", read.Options{Selection: read.Selection{Format: "parquet"},
				Stdin: bytes.NewReader(damaged)})
			if err != nil {
				continue
			}
			if got, err := tracetest.Drain(s); err == nil && len(got) != 40 {
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
		"metadata is malformed":             "PAR1" + string(list) + string(length[:]) + "PAR1",
		"claims 4294967295 bytes":           "PAR1" + string(list) + "\xff\xff\xff\xffPAR1",
		"the signature PAR1 is missing":     "PAR1" + strings.Repeat("x", 40),
		"want a signature, metadata and th": "PAR1",
	} {
		must.NotGet(tracetest.ReadText(t, content, ""))(t, want)
	}
}

func FuzzParquet(f *testing.F) {
	tracetest.Fuzz(f, "parquet", smallParquet(f), smallParquetOfQueries(f), smallParquetOfReads(f))
}
