package read_test

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

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
	"github.com/cachesim/cachesim/internal/traces/write"
)

// anyRecord draws a record that every format except plain can hold, apart from text keys and fractions of seconds.
func anyRecord(t *rapid.T) stream.Record {
	key := tracetest.AnyKey(t)
	rec := stream.Record{
		Time: rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "time"),
		Size: rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, source.MaxSize)).Draw(t, "size"),
		Num:  key.Num,
		Op:   stream.Op(rapid.IntRange(int(stream.OpUnknown), int(stream.OpDelete)).Draw(t, "op")),

		TTL:    rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 1e10)).Draw(t, "ms to live") * 1e6,
		Served: stream.Served(rapid.IntRange(0, 3).Draw(t, "served")),
		Begins: rapid.Bool().Draw(t, "begins"),
	}
	if key.Text != "" {
		rec.Text = []byte(key.Text + rapid.SampledFrom([]string{"", ",", `"`, " x", "é"}).Draw(t, "suffix"))
	}
	return rec
}

func held(rec stream.Record, format string, fields stream.Fields) stream.Record {
	keysOnly := format == "plain" || format == "batches"
	if !fields.Time || keysOnly {
		rec.Time = 0
	}
	if !fields.Size || keysOnly {
		rec.Size = 0
	}
	if !fields.Op || keysOnly || format == "oraclegeneral" {
		rec.Op = stream.OpUnknown
	}
	if holds := format == "csv" || format == "parquet"; !holds || !fields.TTL {
		rec.TTL = 0
	}
	if holds := format == "csv" || format == "parquet"; !holds || !fields.Served {
		rec.Served = stream.ServedUnknown
	}
	rec.Begins = rec.Begins && format == "batches"
	if format == "oraclegeneral" {
		rec.Time = rec.Time / 1e9 * 1e9
		if rec.Text != nil {
			rec.Num, rec.Text = stream.HashText(rec.Text), nil
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
				fields := stream.Fields{
					Time: rapid.Bool().Draw(rt, "times"), Size: rapid.Bool().Draw(rt, "sizes"), Op: rapid.Bool().Draw(rt,
						"ops"), Groups: format == "batches", TTL: rapid.Bool().Draw(rt, "ttls"),
					Served: rapid.Bool().Draw(rt, "served"),
				}
				records := rapid.SliceOfN(rapid.Custom(anyRecord), 1, 50).Draw(rt, "records")
				want := make([]stream.Record, len(records))
				records[0].Begins = true
				for i := range records {
					makeFit(&records[i], format)
					want[i] = held(records[i], format, fields)
				}
				ending := rapid.SampledFrom(endings).Draw(rt, "ending")
				path := filepath.Join(dir, "x"+ending)
				must.Do(rt, tracetest.TryWrite(t.Context(), path, write.Options{Format: format, Fields: fields}, records))
				opened, err := read.Open(path, read.Options{Selection: read.Selection{Format: inputFormats[format]}})
				must.Do(rt, err)
				defer opened.Close()
				got, err := tracetest.Drain(opened)
				if err != nil || !reflect.DeepEqual(got, want) {
					rt.Fatalf("got %v and error %v, want %v", got, err, want)
				}
				if opened.Info.Compression != compressionNames[ending] {
					rt.Fatalf("compression %q, want %q", opened.Info.Compression, compressionNames[ending])
				}
			})
		})
	}
}

// recordFormats returns the formats that hold any records, not only prompts or queries.
func recordFormats() []string {
	return slices.DeleteFunc(formats.WritableNames(), func(name string) bool {
		return slices.Contains([]string{"mooncake",
			"queries", "npy", "fvecs", "reads", "recommender"}, name)
	})
}

// makeFit changes what a format would refuse.
func makeFit(rec *stream.Record, format string) {
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
	var records []stream.Record
	for i := range 3000 {
		records = append(records, stream.Record{Time: int64(i) * 1e9, Num: random.Scramble(uint64(i % 700)),
			Size: int64(i % 700), Op: stream.OpRead,
			Begins: i%7 == 0 || i%10 == 0})
	}
	for _, format := range recordFormats() {
		path := filepath.Join(t.TempDir(), "trace")
		must.Do(t, tracetest.TryWrite(t.Context(), path, write.Options{Format: format, Fields: allFields}, records))
		got, err := read.Load(t.Context(), []string{path}, everything)
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		want := naiveTrace(records, stream.Fields{Time: got.Times != nil, Size: got.HasSizes(), Op: got.Ops != nil})
		checkColumns(t, got, want)
		if got.Readings[0].Format != format {
			t.Errorf("%s is read as %s", format, got.Readings[0].Format)
		}
	}
}

func TestParquetOfSeveralRowGroups(t *testing.T) {
	for _, text := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "x.parquet")
		var records []stream.Record
		for i := range uint64(2*(1<<16) + 5) {
			rec := stream.Record{Num: random.Scramble(i % 1000), Time: int64(i)}
			if text {
				rec = stream.Record{Text: fmt.Appendf(nil, "object %d", i%1000), Time: int64(i)}
			}
			records = append(records, rec)
		}
		tracetest.Write(t, path, stream.Fields{Time: true}, records)
		got := must.Get(read.Load(t.Context(), []string{path}, everything))(t)
		checkColumns(t, got, naiveTrace(records, stream.Fields{Time: true}))
	}
}
