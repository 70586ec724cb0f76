package formats_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// entry is a record of oracleGeneral.
type entry struct {
	rec  stream.Record
	next int64
}

// zipfEntries returns n records with times, sizes and next accesses as in a trace of a store of objects.
func zipfEntries(n int, from int64) []entry {
	r := rand.New(rand.NewPCG(1, 2))
	popularity := rand.NewZipf(r, 1.1, 1, 1000)
	entries, last := make([]entry, n), map[uint64]int{}
	for i := range entries {
		key := popularity.Uint64()*0x9e3779b97f4a7c15 + 1
		entries[i] = entry{stream.Record{Time: (from + int64(i/10)) * 1e9, Num: key, Size: int64(r.ExpFloat64() * 1e6)},
			-1}
		if before, again := last[key]; again {
			entries[before].next = int64(i) + 1
		}
		last[key] = i
	}
	return entries
}

func encodeEntries(entries []entry) string {
	var records []stream.Record
	var next []int64
	for _, e := range entries {
		records, next = append(records, e.rec), append(next, e.next)
	}
	return string(tracetest.OracleGeneral(records, next))
}

// change returns a copy in which each record is changed.
func change(entries []entry, each func(e *entry)) []entry {
	changed := slices.Clone(entries)
	for i := range changed {
		each(&changed[i])
	}
	return changed
}

// Traces that were cut, sampled, merged or shuffled have wrong next accesses and times; a user who names the format
// reads them for their keys.
func TestPlausibleOracleGeneralIsRead(t *testing.T) {
	whole := zipfEntries(20_000, 1_700_000_000)
	var sampled, merged []entry
	for i, e := range whole {
		if e.rec.Num%10 == 3 {
			sampled = append(sampled, e)
		}
		if i < 10_000 {
			merged = append(merged, e, whole[i+10_000])
		}
	}
	shuffled := slices.Clone(whole)
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(shuffled), func(i, k int) {
		shuffled[i], shuffled[k] = shuffled[k],
			shuffled[i]
	})
	reversed := slices.Clone(whole)
	slices.Reverse(reversed)
	for name, entries := range map[string][]entry{
		"whole":            whole,
		"one record":       whole[:1],
		"two, reversed":    {whole[5000], whole[0]},
		"its end":          whole[15_000:],
		"sampled":          sampled,
		"merged":           merged,
		"concatenated":     slices.Concat(whole[:100], whole[:100], whole),
		"shuffled":         shuffled,
		"reversed":         reversed,
		"no next accesses": change(shuffled, func(e *entry) { e.next = 0 }),
		"never again":      change(shuffled, func(e *entry) { e.next = -1 }),
		"another never": change(shuffled, func(e *entry) {
			e.next = max(e.next, 0) + (math.MaxInt64-1)*oneIf(e.next < 0) + oneIf(e.next < 0)
		}),
		"unknown":         change(whole, func(e *entry) { e.next = -2 }),
		"no times":        change(shuffled, func(e *entry) { e.rec.Time = 0 }),
		"no sizes":        change(whole, func(e *entry) { e.rec.Size = 0 }),
		"keys alone":      change(whole, func(e *entry) { *e = entry{rec: stream.Record{Num: e.rec.Num}} }),
		"large objects":   change(whole, func(e *entry) { e.rec.Size = math.MaxUint32 }),
		"small keys":      change(shuffled, func(e *entry) { e.rec.Num %= 100 }),
		"few are damaged": append(change(whole[:1], func(e *entry) { e.next = math.MinInt64 }), whole...),
	} {
		records, err := tracetest.ReadText(t, encodeEntries(entries), "oraclegeneral")
		if err != nil || len(records) != len(entries) {
			t.Errorf("%s: %d of %d records, error %v", name, len(records), len(entries), err)
		}
	}
}

// lists returns a file of numbers, each of width bytes.
func lists(width, n int, number func(r *rand.Rand) uint64) string {
	r := rand.New(rand.NewPCG(5, 6))
	var content []byte
	for range n {
		content = append(content, binary.LittleEndian.AppendUint64(nil, number(r))[:width]...)
	}
	return string(content)
}

// Data that cannot be oracleGeneral records is refused even if the user names that format, and the error says what it
// looks like.
func TestNonsenseIsNoOracleGeneral(t *testing.T) {
	var vscsi []stream.Record
	for i := range 3000 {
		vscsi = append(vscsi, stream.Record{Time: int64(i) * 1e9, Num: uint64(i) * 77 % 1000, Size: 4096,
			Op: stream.OpRead})
	}
	below := func(n uint64) func(*rand.Rand) uint64 { return func(r *rand.Rand) uint64 { return r.Uint64N(n) } }
	clock := uint64(1_700_000_000)
	for name, c := range map[string]struct{ content, want string }{
		"csv": {"time,key,size\n" + strings.Repeat("17,4711,4096\n", 2400) + "17,4711,64",
			"looks like csv"},
		"one line": {"/images/2023/logo.jpg,17", "want the number of a later request"},
		"random":   {lists(8, 9000, (*rand.Rand).Uint64), "looks like binary data"},
		"int32":    {lists(4, 18_000, below(500_000)), "have an impossible next access"},
		"int64":    {lists(8, 9000, below(500_000)), "whole numbers of 64 bits"},
		"times in int64": {lists(8, 9000, func(r *rand.Rand) uint64 { clock += r.Uint64N(9); return clock }),
			"whole numbers of 64 bits"},
		"float64": {lists(8, 9000, func(r *rand.Rand) uint64 { return math.Float64bits(r.Float64()) }),
			"have an impossible next access"},
		"vscsi":         {string(encodeVSCSI(1, vscsi)), "looks like vscsi"},
		"vscsi 2":       {string(encodeVSCSI(2, vscsi)), "looks like vscsi"},
		"zeros":         {string(make([]byte, 24*5000)), "only zeros in its first 65536 bytes"},
		"a record of 0": {string(make([]byte, 24)), "only zeros"},
		"huge, shuffled": {encodeEntries(change(zipfEntries(5000, 0),
			func(e *entry) { e.rec.Size = math.MaxUint32; e.rec.Time = int64(e.rec.Num%1000) * 1e9 })),
			"larger than 1 GiB"},
		"empty, shuffled": {encodeEntries(change(zipfEntries(5000, 0),
			func(e *entry) { e.rec.Size = 0; e.rec.Time = int64(e.rec.Num%1000) * 1e9 })),
			"have size 0, and the times of"},
	} {
		for _, named := range []string{"oraclegeneral", "vscsi", "parquet"} {
			if named == "vscsi" && strings.HasPrefix(name, named) {
				continue
			}
			_, err := tracetest.ReadText(t, c.content, named)
			switch {
			case err == nil:
				t.Errorf("%s as %s: no error", name, named)
			case named == "oraclegeneral" && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(),
				"looks like oraclegeneral")):
				t.Errorf("%s: error %v, want %q", name, err, c.want)
			}
		}
	}
}

// The error about unrecognised binary data names the formats that can read it, and no others.
func TestUnknownBinaryDataNamesWhatCanReadIt(t *testing.T) {
	shuffled := zipfEntries(1000, 0)
	slices.Reverse(shuffled)
	for content, want := range map[string]string{
		encodeEntries(shuffled): "name the format: --input-format oraclegeneral",
		lists(8, 9000,
			(*rand.Rand).Uint64): "no other binary format fits; if it has " +
			"records of one length: --input-format binary",
		lists(8, 3, func(*rand.Rand) uint64 { return 1 }): "name the format: --input-format oraclegeneral",
	} {
		_, err := tracetest.ReadText(t, content, "")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "csv") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestJSONIsNoTextTrace(t *testing.T) {
	content := `{"key":"a"}` + "\n" + `{"key":"b"}` + "\n"
	for _, named := range []string{"plain", "batches"} {
		if _, err := tracetest.ReadText(t, content, named); err == nil || !strings.Contains(err.Error(),
			"is not in format "+named+": line 1 is JSON") {
			t.Errorf("as %s: error %v", named, err)
		}
	}
}

// What a collector of logs took as it came begins with a priority in angle brackets, and PowerShell writes UTF-16.
func TestLogsThatLookLikeOtherFiles(t *testing.T) {
	const line = `10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 2326` + "\n"
	records, err := tracetest.ReadText(t, "<190>Oct 10 13:55:36 web nginx: "+line, "")
	if err != nil || len(records) != 1 || string(records[0].Text) != "/a" {
		t.Errorf("after a priority of syslog: %v, error %v; want a request for /a", records, err)
	}
	must.NotGet(tracetest.ReadText(t, "<html>\n", ""))(t, "looks like HTML")
	must.NotGet(tracetest.ReadText(t, "\xff\xfe1\x000\x00\n\x00", ""))(t, "iconv -f UTF-16 -t UTF-8")
}

// The rest of a file that was cut within its first bytes is not text.
func TestFilesCutWithinTheirFirstBytes(t *testing.T) {
	for content, want := range map[string]string{
		"P":        "the first bytes of a Parquet file",
		"PA":       "the first bytes of a Parquet file",
		"PAR":      "the first bytes of a Parquet file",
		"PAR1":     "want a signature, metadata",
		"\x28\xb5": "zstd data is cut off after 2 bytes", "\x1f": "gzip data is cut off", "\xfd": "xz data is cut off",
		"\x00\x00": "only zeros",
	} {
		must.NotGet(tracetest.ReadText(t, content, ""))(t, want, content)
	}
	for _, content := range []string{"P\n", "PAR2", "B", "BZ", "("} {
		if records, err := tracetest.ReadText(t, content, ""); err != nil || len(records) != 1 {
			t.Errorf("%q: %v, error %v; want one key", content, records, err)
		}
	}
}

// oneIf returns 1 for true.
func oneIf(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
