package traces

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/random"
)

// anyRecord draws a record that every format but plain can hold, except for text keys, and times that are no seconds.
func anyRecord(t *rapid.T) Record {
	key := anyKey(t)
	rec := Record{
		Time: rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "time"),
		Size: rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, maxSize)).Draw(t, "size"),
		Num:  key.Num,
		Op:   Op(rapid.IntRange(int(OpUnknown), int(OpDelete)).Draw(t, "op")),

		Begins: rapid.Bool().Draw(t, "begins"),
	}
	if key.Text != "" {
		rec.Text = []byte(key.Text + rapid.SampledFrom([]string{"", ",", `"`, " x", "é"}).Draw(t, "suffix"))
	}
	return rec
}

// held returns what is left of a record in a format.
func held(rec Record, format string, fields Fields) Record {
	keysOnly := format == "plain" || format == "batches"
	if !fields.Time || keysOnly {
		rec.Time = 0
	}
	if !fields.Size || keysOnly {
		rec.Size = 0
	}
	if !fields.Op || keysOnly || format == "oraclegeneral" {
		rec.Op = OpUnknown
	}
	rec.Begins = rec.Begins && format == "batches"
	if format == "oraclegeneral" {
		rec.Time = rec.Time / 1e9 * 1e9
		if rec.Text != nil {
			rec.Num, rec.Text = textID(rec.Text), nil
		}
		if !fields.Size {
			rec.Size = 1
		}
	}
	return rec
}

func TestRoundTrips(t *testing.T) {
	dir := t.TempDir()
	inputFormats := map[string]string{
		"csv":           "csv:ops=all,delimiter=comma,header=true",
		"plain":         "plain",
		"oraclegeneral": "oraclegeneral",
		"parquet":       "parquet:ops=all",
		"batches":       "batches",
	}
	compressionNames := map[string]string{
		"": "", ".gz": "gzip", ".zst": "zstd", ".xz": "xz", ".s2": "s2", ".sz": "snappy", ".lz4": "lz4",
	}
	endings := slices.Sorted(maps.Keys(compressionNames))
	for _, format := range recordFormats() {
		t.Run(format, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				fields := Fields{
					Time: rapid.Bool().Draw(rt, "times"), Size: rapid.Bool().Draw(rt, "sizes"), Op: rapid.Bool().Draw(rt,
						"ops"), Groups: format == "batches",
				}
				records := rapid.SliceOfN(rapid.Custom(anyRecord), 1, 50).Draw(rt, "records")
				want := make([]Record, len(records))
				records[0].Begins = true
				for i := range records {
					makeFit(&records[i], format)
					want[i] = held(records[i], format, fields)
				}
				ending := rapid.SampledFrom(endings).Draw(rt, "ending")
				path := filepath.Join(dir, "x"+ending)
				if err := tryWriteTrace(t.Context(), path, CreateOptions{Format: format, Fields: fields}, records); err != nil {
					rt.Fatal(err)
				}
				stream, err := Open(path, LoadOptions{Selection: Selection{Format: inputFormats[format]}})
				if err != nil {
					rt.Fatal(err)
				}
				defer stream.Close()
				got, err := drain(stream)
				if err != nil || !reflect.DeepEqual(got, want) {
					rt.Fatalf("got %v and error %v, want %v", got, err, want)
				}
				if stream.Info.Compression != compressionNames[ending] {
					rt.Fatalf("compression %q, want %q", stream.Info.Compression, compressionNames[ending])
				}
			})
		})
	}
}

// recordFormats returns the formats that hold any records, not prompts or queries alone.
func recordFormats() []string {
	return slices.DeleteFunc(WritableFormats(), func(name string) bool {
		return slices.Contains([]string{"mooncake",
			"queries", "npy", "fvecs"}, name)
	})
}

// makeFit changes what a format refuses.
func makeFit(rec *Record, format string) {
	switch {
	case (format == "plain" || format == "batches") && rec.Text != nil:
		rec.Text = []byte(strings.NewReplacer(" ", "_", ",", ".").Replace(string(rec.Text)))
	case format == "oraclegeneral":
		rec.Size = min(rec.Size, math.MaxUint32)
		rec.Time = min(rec.Time, math.MaxUint32*1e9)
	}
}

// TestWrittenFormatsAreDetected reads files whose names say nothing.
func TestWrittenFormatsAreDetected(t *testing.T) {
	var records []Record
	for i := range 3000 {
		records = append(records, Record{Time: int64(i) * 1e9, Num: random.Scramble(uint64(i % 700)), Size: int64(i % 700), Op: OpRead,
			Begins: i%7 == 0 || i%10 == 0})
	}
	for _, format := range recordFormats() {
		path := filepath.Join(t.TempDir(), "trace")
		if err := tryWriteTrace(t.Context(), path, CreateOptions{Format: format, Fields: allFields}, records); err != nil {
			t.Fatal(err)
		}
		got, err := Load(t.Context(), []string{path}, everything)
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		want := naiveTrace(records, Fields{Time: got.Times != nil, Size: got.HasSizes(), Op: got.Ops != nil})
		checkColumns(t, got, want)
		if got.Readings[0].Format != format {
			t.Errorf("%s is read as %s", format, got.Readings[0].Format)
		}
	}
}

func TestParquetOfSeveralRowGroups(t *testing.T) {
	for _, text := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "x.parquet")
		var records []Record
		for i := range uint64(2*parquetGroup + 5) {
			rec := Record{Num: random.Scramble(i % 1000), Time: int64(i)}
			if text {
				rec = Record{Text: fmt.Appendf(nil, "object %d", i%1000), Time: int64(i)}
			}
			records = append(records, rec)
		}
		writeTrace(t, path, Fields{Time: true}, records)
		got, err := Load(t.Context(), []string{path}, everything)
		if err != nil {
			t.Fatal(err)
		}
		checkColumns(t, got, naiveTrace(records, Fields{Time: true}))
	}
}
