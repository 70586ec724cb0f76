// Package tracetest has the helpers that tests of readers and writers of traces share.
package tracetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/write"
)

// Fuzz reads any input in one format. Nothing may panic or run forever, records must be sane, and every error must name
// its position.
func Fuzz(f *testing.F, spec string, seeds ...string) { FuzzAll(f, []string{spec}, seeds...) }

// FuzzAll is Fuzz for several formats, each of which reads every input.
func FuzzAll(f *testing.F, specs []string, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, spec := range specs {
			ReadAnything(t, data, spec)
		}
	})
}

// ReadAnything reads data in a format. Nothing may panic or run forever, records must be sane, and every error must
// name its position.
func ReadAnything(t *testing.T, data []byte, spec string) {
	readAnything(t, data, spec, 0)
	readAnything(t, data, spec, 1)
}

// readAnything reads up to ten thousand records: one line of arc may stand for a billion. badLines is the share of
// unreadable lines that are left out.
func readAnything(t *testing.T, data []byte, spec string, badLines float64) {
	s, err := read.Open("-", read.Options{Selection: read.Selection{Format: spec}, BadLines: badLines,
		Stdin: bytes.NewReader(data)})
	if err == nil {
		defer s.Close()
		err = checkRecords(t, s)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "standard input: ") {
		t.Errorf("the error does not say where it is: %v", err)
	}
}

func checkRecords(t *testing.T, s *read.Stream) error {
	var rec stream.Record
	for range 10_000 {
		if err := s.Read(&rec); err != nil {
			if err.Error() == "EOF" {
				return nil
			}
			return err
		}
		wrongText := rec.Text != nil && (len(rec.Text) == 0 || rec.Num != 0)
		if rec.Size < 0 || rec.Size > 2*source.MaxSize || rec.Time < 0 || wrongText {
			t.Fatalf("record %+v", rec)
		}
		if _, isNumber := stream.ParseFloatNumber(rec.Text); isNumber {
			t.Fatalf("text key %q is a number", rec.Text)
		}
	}
	return nil
}

// OpenText opens content as standard input.
func OpenText(t testing.TB, content, format string) (*read.Stream, error) {
	t.Helper()
	s, err := read.Open("-", read.Options{Selection: read.Selection{Format: format},
		Stdin: strings.NewReader(content)})
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

// ReadText returns the records of content, with their own texts.
func ReadText(t testing.TB, content, format string) ([]stream.Record, error) {
	t.Helper()
	s, err := OpenText(t, content, format)
	if err != nil {
		return nil, err
	}
	return Drain(s)
}

// Drain returns the records of r, with texts, and what their kind knows, of their own.
func Drain(r stream.Reader) (records []stream.Record, err error) {
	for {
		var rec stream.Record
		if err := r.Read(&rec); err == io.EOF {
			return records, nil
		} else if err != nil {
			return records, err
		}
		rec.Text, rec.Tenant = bytes.Clone(rec.Text), bytes.Clone(rec.Tenant)
		if rec.Extra != nil {
			rec.Extra = rec.Extra.Clone()
		}
		records = append(records, rec)
	}
}

// Write writes records to path and closes it.
func Write(t testing.TB, path string, fields stream.Fields, records []stream.Record) {
	t.Helper()
	if err := TryWrite(t.Context(), path, write.Options{Fields: fields}, records); err != nil {
		t.Fatal(err)
	}
}

// TryWrite is Write that returns the error.
func TryWrite(ctx context.Context, path string, opt write.Options, records []stream.Record) error {
	w, err := write.Create(ctx, path, opt)
	if err != nil {
		return err
	}
	defer w.Discard()
	for i := range records {
		if err := w.Write(&records[i]); err != nil {
			return err
		}
	}
	return w.Close()
}

// BenchmarkRead reads content as standard input, all of its records in each iteration.
func BenchmarkRead(b *testing.B, content []byte, format string, records int) {
	b.Helper()
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		s, err := read.Open("-", read.Options{Selection: read.Selection{Format: format},
			Stdin: bytes.NewReader(content)})
		if err != nil {
			b.Fatal(err)
		}
		var rec stream.Record
		n := 0
		for err = s.Read(&rec); err == nil; err = s.Read(&rec) {
			n++
		}
		if n != records || err != io.EOF {
			b.Fatalf("%d records, %v, want %d", n, err, records)
		}
	}
}

// LoadText loads a trace from the standard input.
func LoadText(t testing.TB, content string, opts read.Options) (*traces.Trace, error) {
	t.Helper()
	opts.Stdin = strings.NewReader(content)
	return read.Load(t.Context(), []string{"-"}, opts)
}

// MustLoadText is LoadText that fails the test on an error.
func MustLoadText(t testing.TB, content string, opts read.Options) *traces.Trace {
	t.Helper()
	trace, err := LoadText(t, content, opts)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// ExampleOf returns the example in the list of formats.
func ExampleOf(t testing.TB, name string) string {
	t.Helper()
	for _, f := range formats.All() {
		if f.Name == name {
			return f.Example
		}
	}
	t.Fatalf("no format %s", name)
	return ""
}

func WriteFile(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// WriteTexts writes files into a new folder and returns their paths.
func WriteTexts(t *testing.T, contents ...string) []string {
	t.Helper()
	dir := t.TempDir()
	paths := make([]string, len(contents))
	for i, content := range contents {
		paths[i] = filepath.Join(dir, fmt.Sprintf("%c.csv", 'a'+i))
		WriteFile(t, paths[i], []byte(content))
	}
	return paths
}

// OracleGeneral returns records in the format oraclegeneral, with the next accesses given.
func OracleGeneral(records []stream.Record, next []int64) []byte {
	var b []byte
	for i, rec := range records {
		b = binary.LittleEndian.AppendUint32(b, uint32(rec.Time/1e9))
		b = binary.LittleEndian.AppendUint64(b, rec.Num)
		b = binary.LittleEndian.AppendUint32(b, uint32(rec.Size))
		b = binary.LittleEndian.AppendUint64(b, uint64(next[i]))
	}
	return b
}

// BytesOf returns values of fixed size in little-endian order, one after another.
func BytesOf(t testing.TB, values ...any) []byte {
	t.Helper()
	var b []byte
	for _, v := range values {
		var err error
		if b, err = binary.Append(b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func ParquetOf[T any](t testing.TB, rows []T, options ...parquet.WriterOption) string {
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

// AnyKey draws a number, or a text.
func AnyKey(t *rapid.T) stream.Key {
	num := rapid.OneOf(rapid.Uint64Range(0, 300), rapid.Uint64Range(math.MaxUint64-3, math.MaxUint64),
		rapid.Uint64()).Draw(t, "num")
	if rapid.Bool().Draw(t, "text") {
		return stream.Key{Text: "k" + strconv.FormatUint(num, 10)}
	}
	return stream.Key{Num: num}
}
