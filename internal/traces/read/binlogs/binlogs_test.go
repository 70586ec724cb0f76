package binlogs_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

const second = int64(1e9)

// pack returns values one after another, without padding.
func pack(t testing.TB, values ...any) string { return string(tracetest.BytesOf(t, values...)) }

func big(t testing.TB, values ...any) string {
	t.Helper()
	var b []byte
	for _, v := range values {
		b = must.Get(binary.Append(b, binary.BigEndian, v))(t)
	}
	return string(b)
}

func TestBinary(t *testing.T) {
	for name, c := range map[string]struct {
		content, format string
		want            []stream.Record
	}{
		"big-endian keys of 64 bits, as of Corda and Scarab": {big(t, uint64(7), uint64(1<<63)), "binary:key=i64be",
			[]stream.Record{{Num: 7}, {Num: 1 << 63}}},
		"big-endian keys of 32 bits, as of Cache2k and LIRS2": {big(t, uint32(7), uint32(1<<31)), "binary:format=i32be",
			[]stream.Record{{Num: 7}, {Num: 1 << 31}}},
		"little-endian keys": {pack(t, uint32(7), uint32(9)), "binary:format=i32le", []stream.Record{{Num: 7}, {Num: 9}}},
		"little-endian keys of 64 bits": {pack(t, uint64(7), uint64(9)), "binary:key=i64le",
			[]stream.Record{{Num: 7}, {Num: 9}}},
		"all fields": {pack(t, uint32(5), uint64(7), uint32(100), uint8(3), uint16(2), int32(60), uint8(0)),
			"binary:format=<IQIBHix,time=1,key=2,size=3,op=4,ttl=6,time-unit=ms", []stream.Record{
				{Time: 5e6, Num: 7, Size: 100, Op: stream.OpWrite, TTL: 60 * second}}},
		"all fields, big-endian": {big(t, float64(1.5), uint16(7), int64(9)), "binary:format=>dHq,time=1,key=2,size=3",
			[]stream.Record{{Time: 1500e6, Num: 7, Size: 9}}},
		"words, counts and a header": {"header" + pack(t, uint16(0), uint16(7)) + "get\x00",
			"binary:format=<2H4s,skip=6,key=2,op=3",
			[]stream.Record{{Num: 7, Op: stream.OpRead}}},
		"a negative time to live": {pack(t, uint16(7), int16(-1)), "binary:format=<Hh,ttl=2", []stream.Record{{Num: 7}}},
		"reads only": {pack(t, uint8(1), uint8(12), uint8(2), uint8(9)), "binary:format=<BB,op=2,ops=reads",
			[]stream.Record{{Num: 1, Op: stream.OpRead}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tracetest.ReadText(t, c.content, c.format)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

// TestLayouts reads a record of each of libCacheSim's layouts, written field by field as its structs have them.
func TestLayouts(t *testing.T) {
	const at, key, size = uint32(5), uint64(77), uint32(100)
	times := stream.Record{Time: 5 * second, Num: 77, Size: 100}
	with := func(change func(*stream.Record)) stream.Record {
		rec := times
		change(&rec)
		return rec
	}
	set := with(func(r *stream.Record) { r.Op, r.TTL, r.KeySize = stream.OpWrite, 60*second, 8 })
	untimed := stream.Record{Num: 77, Size: 100}
	for layout, c := range map[string]struct {
		content string
		want    stream.Record
		tenant  string
	}{
		"twr":   {pack(t, at, key, uint32(8<<22|100), uint32(3<<24|60)), set, ""},
		"twrNS": {pack(t, at, key, uint32(8<<22|100), uint32(3<<24|60), uint16(4)), set, "4"},
		"CF1": {pack(t, at, key, uint64(100), int32(60), int32(1), int32(2), [9]byte{}),
			with(func(r *stream.Record) { r.TTL = 60 * second }), ""},
		"akamai":      {pack(t, at, key, size, uint16(4), uint16(5), uint16(6)), times, "4"},
		"wiki16u":     {pack(t, key, size, uint16(1)), untimed, ""},
		"wiki19u":     {pack(t, at, key, size, uint16(1)), times, ""},
		"wiki19t":     {pack(t, at, key, size), times, ""},
		"standardIQI": {pack(t, at, key, size), times, ""},
		"standardIQQ": {pack(t, at, key, uint64(100)), times, ""},
		"standardIII": {pack(t, at, uint32(77), size), times, ""},
		"standardIQIBH": {pack(t, at, key, size, uint8(9), uint16(4)),
			with(func(r *stream.Record) { r.Op = stream.OpDelete }), "4"},
		"oracleGeneralOpNS": {pack(t, at, key, size, uint8(1), uint16(4), int64(-1)),
			with(func(r *stream.Record) { r.Op = stream.OpRead }), "4"},
		"oracleSimTwrNS": {pack(t, at, key, size, int32(60), uint16(4), int64(-1)),
			with(func(r *stream.Record) { r.TTL = 60 * second }), "4"},
		"oracleSysTwrNS": {pack(t, at, key, uint16(8), size, uint16(3), uint16(4), int32(60), int64(-1)), set, "4"},
		"oracleCF1": {pack(t, at, key, uint64(0xffffffff<<32|100), int32(60), int32(1), int32(2), int64(-1), [9]byte{}),
			with(func(r *stream.Record) { r.TTL = 60 * second }), ""},
		"oracleAkamai":  {pack(t, at, key, size, int16(4), int16(5), int16(6), int64(-1)), times, "4"},
		"oracleWiki16u": {pack(t, key, size, uint16(1), int64(-1)), untimed, ""},
		"oracleWiki19u": {pack(t, at, key, size, uint16(1), int64(-1)), times, ""},
		"valpin":        {pack(t, key), stream.Record{Num: 77}, ""},
	} {
		t.Run(layout, func(t *testing.T) {
			got, err := tracetest.ReadText(t, c.content+c.content, "libcachesim:layout="+layout)
			if want := []stream.Record{c.want, c.want}; err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
			got, err = tracetest.ReadText(t, c.content, "libcachesim:tenant=tenant,layout="+layout)
			if c.tenant == "" {
				must.Fail(t, err, layout+" has none")
			} else if err != nil || string(got[0].Tenant) != c.tenant {
				t.Errorf("tenant of %+v, %v, want %s", got, err, c.tenant)
			}
		})
	}
}

// TestNamesSayTheLayout: a file is recognised by its name.
func TestNamesSayTheLayout(t *testing.T) {
	content := pack(t, uint32(5), uint64(77), uint32(100), uint8(1), uint16(4), int64(-1))
	for file, want := range map[string]string{"w1.oracleGeneralOpNS.bin": "libcachesim",
		"w1_oraclegeneralopns": "libcachesim",
		"w1.bin":               ""} {
		path := filepath.Join(t.TempDir(), file)
		must.Do(t, os.WriteFile(path, []byte(content), 0o600))
		s, err := read.Open(path, read.Options{})
		if err == nil {
			defer s.Close()
		}
		if want == "" && err == nil || want != "" && (err != nil || s.Info.Format != want) {
			t.Errorf("%s: %+v, %v, want %q", file, s, err, want)
		}
	}
}

// header returns a header of lcs of versions 1 to 8.
func header(version uint64, requests int64) string {
	b := make([]byte, 8192)
	binary.LittleEndian.PutUint64(b, 0x123456789abcdef0)
	binary.LittleEndian.PutUint64(b[8:], version)
	binary.LittleEndian.PutUint64(b[16:], 1)
	binary.LittleEndian.PutUint64(b[24:], uint64(requests))
	copy(b[8184:], b[:8])
	return string(b)
}

// shortHeader returns a header of the first form of lcs.
func shortHeader(format string, record uint32, fields ...byte) string {
	b := make([]byte, 1024)
	binary.LittleEndian.PutUint64(b, 0x123456789abcdef0)
	copy(b[8:], format)
	copy(b[248:], fields)
	binary.LittleEndian.PutUint64(b[488:], 1)
	binary.LittleEndian.PutUint32(b[1000:], uint32(len(format)-1))
	binary.LittleEndian.PutUint32(b[1004:], record)
	copy(b[1016:], b[:8])
	return string(b)
}

func TestLCS(t *testing.T) {
	const opTenant = uint32(3 | 4<<8)
	plain := stream.Record{Time: 5 * second, Num: 77, Size: 100}
	written, expires := plain, plain
	written.Op = stream.OpWrite
	expires.Op, expires.TTL = stream.OpWrite, 60*second
	third := pack(t, uint32(5), uint64(77), int64(100), opTenant, uint32(60), int64(-1))
	for name, c := range map[string]struct {
		content string
		want    stream.Record
	}{
		"version 1": {header(1, 1) + pack(t, uint32(5), uint64(77), uint32(100), int64(-1)), plain},
		"version 2": {header(2, 1) + pack(t, uint32(5), uint64(77), uint32(100), opTenant, int64(-1)), written},
		"version 3": {header(3, 1) + third, expires}, "version 4": {header(4, 1) + third + pack(t, [1]uint32{}), expires},
		"version 5": {header(5, 1) + third + pack(t, [2]uint32{}), expires},
		"version 6": {header(6, 1) + third + pack(t, [4]uint32{}), expires},
		"version 7": {header(7, 1) + third + pack(t, [8]uint32{}), expires},
		"version 8": {header(8, 1) + third + pack(t, [16]uint32{}), expires},
		"first form": {shortHeader("<IQIqB", 25, 2, 3, 1, 0, 4, 5) + pack(t, uint32(5), uint64(77), uint32(100), int64(-1),
			uint8(3)),
			written},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tracetest.ReadText(t, c.content, "")
			if err != nil || !reflect.DeepEqual(got, []stream.Record{c.want}) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
	got, err := tracetest.ReadText(t, header(3, 1)+third, "lcs:tenant=tenant")
	if err != nil || string(got[0].Tenant) != "4" {
		t.Errorf("tenant of %+v, %v, want 4", got, err)
	}
}

func TestRefuse(t *testing.T) {
	long := strings.Repeat("\x01\x02\x03\x04", 40)
	for name, c := range map[string]struct{ content, format, want string }{
		"no format": {long, "binary",
			"how are its records laid out? Say it with --input-format 'binary:format=<IQI"},
		"byte order":   {long, "binary:format=IQI", `format "IQI": want < (little-endian) or > (big-endian) first`},
		"letter":       {long, "binary:format=<IP", `format "<IP": unknown letter 'P'`},
		"no letters":   {long, "binary:format=<4", `format "<4": want letters of fields`},
		"only padding": {long, "binary:format=<4x", `format "<4x": want letters of fields`},
		"too long":     {long, "binary:format=<99999s", "want records of at most 65536 bytes"},
		"too many":     {long, "binary:format=<2000B", "want at most 1024 fields"},
		"field":        {long, "binary:format=<I,time=2", "time is field 2: the format has 1, counted from 1"},
		"key of text":  {long, "binary:format=<4s", "key is field 1, which is text or a float: want a whole number"},
		"key":          {long, "binary:format=<I,key=x", "key=x: want the number of a field, from 1"},
		"tenant":       {long, "binary:format=<I,tenant=x", "tenant=x: want the number of a field, from 1"},
		"size": {pack(t, int32(1), int32(2), int32(1), int32(-2)), "binary:format=<ii,size=2",
			"byte 8: size -2: want a number of bytes"},
		"time": {pack(t, int32(1), int32(-2)), "binary:format=<ii,time=2", "byte 0: time -2 s: want one from 0"},
		"time of no kind": {pack(t, int32(1), float32(-2)), "binary:format=<if,time=2",
			"byte 0: time -2 s: want one from 0"},
		"op": {pack(t, int32(1), uint8(15)), "binary:format=<iB,op=2",
			"byte 0: operation 15: want a number of libCacheSim's"},
		"word": {"\x01look", "binary:format=<B4s,op=2", `byte 0: operation "look": want one such as get`},
		"cut off": {long + "ab", "binary:format=<I",
			"byte 160: the file is cut off within a record: want 4 bytes, got 2"},
		"skip":   {long, "binary:format=<I,skip=1000", "byte 160: the file ends within the first 1000 bytes"},
		"layout": {long, "libcachesim", "which layout have its records? Name it, as in libcachesim:layout=twr"},
		"lcs, no header": {long, "lcs",
			"want a header of 8192 or 1024 bytes that begins and ends with the signature of lcs"},
		"lcs, version": {header(9, 1), "", "byte 0: version 9 of lcs: want 1 to 8"},
		"lcs, cut off": {header(1, 2) + pack(t, uint32(5), uint64(77), uint32(100), int64(-1)), "",
			"the file ends after 1 requests, and its header states 2"},
		"lcs, negative": {header(1, -2), "", "the header states -2 requests"},
		"lcs, length": {shortHeader("<IQI", 24, 2, 3, 1), "",
			`the header states records of 24 bytes, and its format "<IQI" has 16`},
		"lcs, no key":        {shortHeader("<IQI", 16), "", "the header names no field of the key"},
		"lcs, beyond fields": {shortHeader("<IQI", 16, 9), "", "key is field 9: the format has 3"},
	} {
		t.Run(name, func(t *testing.T) {
			records, err := tracetest.ReadText(t, c.content, c.format)
			must.Fail(t, err, c.want, records)
		})
	}
}

// TestRealTrace reads a real trace in its own format and as records.
func TestRealTrace(t *testing.T) {
	dir := os.Getenv("CACHESIM_TRACES")
	if dir == "" {
		t.Skip("CACHESIM_TRACES names no folder of real traces")
	}
	path := filepath.Join(dir, "block", "cloudPhysicsIO.oracleGeneral.bin.zst")
	read := func(format string) []stream.Record {
		s := must.Get(read.Open(path, read.Options{Selection: read.Selection{Format: format}}))(t)
		defer s.Close()
		return must.Get(tracetest.Drain(s))(t)
	}
	want, got := read("oraclegeneral"), read("binary:format=<IQIq,time=1,key=2,size=3")
	if len(want) != 113872 || !reflect.DeepEqual(got, want) {
		t.Errorf("%d records, want %d that are equal", len(got), len(want))
	}
}
