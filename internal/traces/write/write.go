// Package write writes trace files, in the formats that can be written and in any compression.
package write

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/traces/compress"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Options say how a trace file is written.
type Options struct {
	Format string        // one of WritableFormats; "" for the one that the path implies
	Fields stream.Fields // the fields of the records; others are not written
	Stdout io.Writer     // the output for the path "-"; nil: the standard output of the process
}

// Writer writes one trace file, which gets its name only when Close has written everything.
type Writer struct {
	path     string
	records  int64
	lost     []string
	madeUp   []string
	file     *atomicfile.File // nil for standard output
	sink     *sink
	buffer   *bufio.Writer
	compress io.WriteCloser
	format   source.RecordWriter
	ended    bool
}

// sink receives the bytes until the context ends. It remembers a write error, to tell it from a record that the
// format cannot hold.
type sink struct {
	io.Writer
	ctx context.Context
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	if s.err = cmp.Or(s.err, s.ctx.Err()); s.err != nil {
		return 0, s.err
	}
	n, err := s.Writer.Write(p)
	s.err = err
	return n, err
}

// Create starts a trace file at path. "-" is standard output, which gets prompts as mooncake, queries as queries,
// reads of files as reads, batches as batches and everything else as CSV, unless a format is given. An ending .gz,
// .zst, .xz, .s2, .sz (snappy) or .lz4 compresses the file. Create fails if the format is unknown or not implied by
// the path, or if the file cannot be created. When ctx ends, Write or Close soon return its error.
func Create(ctx context.Context, path string, opt Options) (*Writer, error) {
	if path == "-" {
		opt.Format = cmp.Or(opt.Format, formats.Fullest(opt.Fields))
	}
	format, err := formats.ChooseWritable(path, opt.Format, opt.Fields)
	if err != nil {
		return nil, err
	}
	compress, err := compress.ChooseCompressor(path)
	if err != nil {
		return nil, err
	}
	w := &Writer{path: path, lost: format.Lost(opt.Fields), madeUp: format.MadeUp(opt.Fields)}
	if err := w.openSink(ctx, opt.Stdout); err != nil {
		return nil, err
	}
	w.buffer = bufio.NewWriterSize(w.sink, 1<<16)
	if w.compress, err = compress(w.buffer); err == nil {
		w.format, err = format.Create(ctx, w.compress, w.spoolFolder(), opt.Fields)
	}
	if err != nil {
		w.Discard()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

// CheckListing returns an error if Listing cannot write a file of that name.
func CheckListing(path string) error {
	if path == "-" {
		return errors.New("the listing cannot be written to standard output: want the name of a file")
	}
	if format, err := formats.ChooseWritable(path, "", stream.Fields{}); err == nil && format.Name != "csv" {
		return fmt.Errorf("%s: a listing is written as CSV, and the name implies %s: give it the ending .csv or .csv.zst",
			path, format.Name)
	}
	_, err := compress.ChooseCompressor(path)
	return err
}

// Listing writes the listing of the data set, as CSV that the option files of a format reads, compressed as the
// ending of path says.
func Listing(ctx context.Context, path string, listing *files.Listing) error {
	if err := CheckListing(path); err != nil {
		return err
	}
	return atomicfile.Write(ctx, path, func(w io.Writer) error {
		return compress.Write(&sink{Writer: w, ctx: ctx}, path, listing.Write)
	})
}

func (w *Writer) openSink(ctx context.Context, stdout io.Writer) (err error) {
	if w.path == "-" {
		if stdout == nil {
			stdout = os.Stdout
		}
		w.path, w.sink = "standard output", &sink{Writer: stdout, ctx: ctx}
		return nil
	}
	if w.file, err = atomicfile.Create(ctx, w.path); err == nil {
		w.sink = &sink{Writer: w.file, ctx: ctx}
	}
	return err
}

// spoolFolder returns where a format may keep data that it must read again: beside the trace, since it fits there if
// the trace does.
func (w *Writer) spoolFolder() string {
	if w.file == nil {
		return os.TempDir()
	}
	return filepath.Dir(w.path)
}

// Remarks says which fields the file lacks, because the format has no place for them, and which it states although
// they are unknown; "" if there are none. It is complete when all records have been written.
func (w *Writer) Remarks() string {
	lost := slices.Clone(w.lost)
	if l, ok := w.format.(source.Loser); ok {
		lost = append(lost, l.Losses()...)
	}
	var parts []string
	if len(lost) > 0 {
		parts = append(parts, "lost are "+strings.Join(lost, ", "))
	}
	if len(w.madeUp) > 0 {
		parts = append(parts, "made up are "+strings.Join(w.madeUp, ", "))
	}
	return strings.Join(parts, "; ")
}

// Write adds a record. It keeps no reference to rec. An error names the record and ends the writing; call Discard
// then.
func (w *Writer) Write(rec *stream.Record) error {
	w.records++
	var err error
	if rec.Time < 0 || rec.Size < 0 {
		err = fmt.Errorf("time %d ns, size %d: neither may be negative", rec.Time, rec.Size)
	} else {
		err = w.format.Write(rec)
	}
	if err != nil && w.sink.err == nil {
		return fmt.Errorf("%s: record %d: %w", w.path, w.records, err)
	}
	return err
}

// Close writes the rest and gives the file its name. After an error there is no file of that name, or still the older
// one.
func (w *Writer) Close() error {
	w.ended = true
	err := cmp.Or(w.format.Finish(), w.compress.Close(), w.buffer.Flush())
	switch {
	case w.file == nil:
		return err
	case err != nil:
		w.file.Abort()
		if w.sink.err == nil {
			err = fmt.Errorf("%s: %w", w.path, err)
		}
		return err
	}
	return w.file.Commit()
}

// Discard ends the writing and removes the file. After Close it does nothing, so that it can be deferred.
func (w *Writer) Discard() {
	if w.ended {
		return
	}
	w.ended = true
	if w.format != nil {
		w.format.Discard()
	}
	if w.compress != nil {
		w.compress.Close() // stops its goroutines
	}
	if w.file != nil {
		w.file.Abort()
	}
}
