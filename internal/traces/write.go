package traces

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/atomicfile"
	"github.com/cachesim/cachesim/internal/suggest"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// CreateOptions say how a trace file is written.
type CreateOptions struct {
	Format string    // one of WritableFormats; "" for the one that the path names
	Fields Fields    // what the records carry; the rest is not written
	Stdout io.Writer // what the path "-" writes to; nil: the standard output of the process
}

// Writer writes one trace file, which takes its name only when Close has written everything.
type Writer struct {
	path     string
	records  int64
	lost     []string
	madeUp   []string
	file     *atomicfile.File // nil for standard output
	sink     *sink
	buffer   *bufio.Writer
	compress io.WriteCloser
	format   recordWriter
	ended    bool
}

// sink is where the bytes go until the context ends. It remembers whether writing failed, and how, to tell that from a
// record that the format cannot hold.
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

// recordWriter writes records in one format to an io.Writer.
type recordWriter interface {
	write(rec *Record) error
	finish() error // writes what is left and frees everything, also after an error
	discard()      // frees everything
}

// writableFormat is a format that Create offers.
type writableFormat struct {
	name       string
	endings    []string // of file names in lower case, before the ending of a compression
	create     func(ctx context.Context, w io.Writer, folder string, fields Fields) (recordWriter, error)
	embeddings bool   // it holds those of queries
	holds      Fields // what it has a place for; BlockTokens: any number of them
}

// writableFormats lists them. To add one, write a recordWriter and a line here.
var writableFormats = []writableFormat{
	{"csv", []string{".csv"}, newCSVWriter, false, Fields{Time: true, Size: true, Op: true}},
	{"plain", []string{".txt", ".keys", ".plain"}, newPlainWriter, false, Fields{}},
	{"batches", []string{".batches"}, newBatchesWriter, false, Fields{Groups: true}},
	{"oraclegeneral", []string{".oraclegeneral", ".oraclegeneral.bin"}, newOracleGeneralWriter, false,
		Fields{Time: true, Size: true}},
	{"parquet", []string{".parquet"}, newParquetWriter, true, Fields{Time: true, Size: true, Op: true, Queries: true}},
	{"mooncake", []string{".jsonl"}, newMooncakeWriter, false, Fields{Time: true, Groups: true, BlockTokens: 1}},
	{"npy", []string{".npy"}, newNpyWriter, true, Fields{}},
	{"fvecs", []string{".fvecs"}, newFvecsWriter, true, Fields{}},
	{"queries", []string{".jsonl"}, newQueryLineWriter, true, Fields{Time: true, Queries: true}},
}

// madeUp says what the format states of records with these fields although nobody knows it, in words.
func (f writableFormat) madeUp(fields Fields) (madeUp []string) {
	switch {
	case fields.Counted && f.holds.Time:
		madeUp = append(madeUp, "times (the requests are numbered)")
	case !fields.Time && f.name == oracleGeneralFormat.Name:
		madeUp = append(madeUp, "times (all 0)")
	}
	if !fields.Size && f.name == oracleGeneralFormat.Name {
		madeUp = append(madeUp, "sizes (all 1)")
	}
	return madeUp
}

// lost says what records with these fields lose in the format, in words.
func (f writableFormat) lost(fields Fields) (lost []string) {
	for _, part := range []struct {
		lost bool
		name string
	}{
		{fields.Time && !fields.Counted && !f.holds.Time, "times"},
		{fields.Size && !f.holds.Size, "sizes"},
		{fields.Op && !f.holds.Op, "operations"},
		{fields.BlockTokens > 0 && f.holds.BlockTokens == 0, "which blocks make a prompt, lengths and conversations"},
		{fields.BlockTokens == 0 && fields.Groups && !f.holds.Groups, "which keys come together"},
		{fields.Queries && !f.holds.Queries && f.embeddings, "all of the queries but their embeddings"},
		{fields.Queries && !f.holds.Queries && !f.embeddings, "all of the queries but their ids"},
	} {
		if part.lost {
			lost = append(lost, part.name)
		}
	}
	return lost
}

// WritableFormats returns the names of the formats that Create writes.
func WritableFormats() []string {
	var names []string
	for _, f := range writableFormats {
		names = append(names, f.name)
	}
	return names
}

// CheckHoldsEmbeddings returns an error where Create would write a format at path, that of this name if it is not "",
// that has no place for the embeddings of queries.
func CheckHoldsEmbeddings(path, name string) error {
	queries := Fields{Queries: true}
	if path == "-" {
		name = cmp.Or(name, fullestFormat(queries))
	}
	format, err := chooseWritable(path, name, queries)
	switch {
	case err == nil && format.embeddings:
		return nil
	case err == nil && name != "":
		return fmt.Errorf("the format %s has no place for embeddings", name)
	}
	var endings []string
	for _, f := range writableFormats {
		if f.embeddings {
			endings = append(endings, f.endings...)
		}
	}
	return fmt.Errorf("%s: want a name that tells a format with embeddings: %s", path, strings.Join(endings, ", "))
}

// Create starts a trace file at path; "-" is standard output: prompts as mooncake, queries as queries, batches as
// batches and all else as CSV unless a format is given. An ending .gz, .zst, .xz, .s2, .sz (snappy) or .lz4 compresses
// it. Create fails if the format is unknown or not told by the path, or if the file cannot be made. When ctx ends,
// Write or Close soon return its error.
func Create(ctx context.Context, path string, opt CreateOptions) (*Writer, error) {
	if path == "-" {
		opt.Format = cmp.Or(opt.Format, fullestFormat(opt.Fields))
	}
	format, err := chooseWritable(path, opt.Format, opt.Fields)
	if err != nil {
		return nil, err
	}
	compress, err := chooseCompressor(path)
	if err != nil {
		return nil, err
	}
	w := &Writer{path: path, lost: format.lost(opt.Fields), madeUp: format.madeUp(opt.Fields)}
	if err := w.openSink(ctx, opt.Stdout); err != nil {
		return nil, err
	}
	w.buffer = bufio.NewWriterSize(w.sink, 1<<16)
	if w.compress, err = compress(w.buffer); err == nil {
		w.format, err = format.create(ctx, w.compress, w.spoolFolder(), opt.Fields)
	}
	if err != nil {
		w.Discard()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
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

// spoolFolder returns where a format may keep what it must read again: beside the trace, where it will fit if the trace
// does.
func (w *Writer) spoolFolder() string {
	if w.file == nil {
		return os.TempDir()
	}
	return filepath.Dir(w.path)
}

// loser is a recordWriter that loses more than its fields tell.
type loser interface{ losses() []string }

// Remarks says what the file lacks of the records, as the format has no place for it, and what it states although
// nobody knows it; "" where it is neither. It is known when all records are written.
func (w *Writer) Remarks() string {
	lost := slices.Clone(w.lost)
	if l, ok := w.format.(loser); ok {
		lost = append(lost, l.losses()...)
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

// Write adds a record. It keeps nothing of rec. An error names the record and ends the writing; call Discard then.
func (w *Writer) Write(rec *Record) error {
	w.records++
	var err error
	if rec.Time < 0 || rec.Size < 0 {
		err = fmt.Errorf("time %d ns, size %d: neither may be negative", rec.Time, rec.Size)
	} else {
		err = w.format.write(rec)
	}
	if err != nil && w.sink.err == nil {
		return fmt.Errorf("%s: record %d: %w", w.path, w.records, err)
	}
	return err
}

// Close writes what is left and gives the file its name. After an error there is no file of that name, or still the
// older one.
func (w *Writer) Close() error {
	w.ended = true
	err := cmp.Or(w.format.finish(), w.compress.Close(), w.buffer.Flush())
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

// Discard ends the writing and removes what was written. After Close it does nothing, so that it can be deferred.
func (w *Writer) Discard() {
	if w.ended {
		return
	}
	w.ended = true
	if w.format != nil {
		w.format.discard()
	}
	if w.compress != nil {
		w.compress.Close() // stops its goroutines
	}
	if w.file != nil {
		w.file.Abort()
	}
}

// fullestFormat returns the name of the text format that says most of what records with these fields are.
func fullestFormat(fields Fields) string {
	switch {
	case fields.BlockTokens > 0:
		return "mooncake"
	case fields.Queries:
		return "queries"
	case fields.Groups:
		return "batches"
	}
	return "csv"
}

// chooseWritable returns the format of that name, or the one that the path tells: of two with that ending the one that
// is for such records.
func chooseWritable(path, name string, fields Fields) (writableFormat, error) {
	stem, fullest := strippedName(path), fullestFormat(fields)
	var told []writableFormat
	for _, f := range writableFormats {
		if f.name == name {
			return f, nil
		}
		if slices.ContainsFunc(f.endings, func(ending string) bool { return strings.HasSuffix(stem, ending) }) {
			told = append(told, f)
		}
	}
	if name != "" {
		return writableFormat{}, suggest.Unknown("output format", name, WritableFormats())
	}
	if i := slices.IndexFunc(told, func(f writableFormat) bool { return f.name == fullest }); i >= 0 {
		return told[i], nil
	}
	if len(told) > 0 {
		return told[0], nil
	}
	return writableFormat{}, fmt.Errorf("%s: the name does not tell the format to write: give it an ending like "+
		".csv.zst, or --output-format %s",
		path, strings.Join(WritableFormats(), ", "))
}

// compressors maps the endings that compress to their encoders.
var compressors = map[string]func(w io.Writer) (io.WriteCloser, error){
	".gz":  func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	".zst": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
	".xz":  func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
	".s2":  func(w io.Writer) (io.WriteCloser, error) { return s2.NewWriter(w), nil },
	".sz":  func(w io.Writer) (io.WriteCloser, error) { return s2.NewWriter(w, s2.WriterSnappyCompat()), nil },
	".lz4": func(w io.Writer) (io.WriteCloser, error) { return lz4.NewWriter(w), nil },
}

func chooseCompressor(path string) (func(io.Writer) (io.WriteCloser, error), error) {
	ending := strings.ToLower(filepath.Ext(path))
	if compress := compressors[ending]; compress != nil {
		return compress, nil
	}
	switch ending {
	case ".bz2", ".zstd", ".snappy", ".tar", ".zip":
		return nil, fmt.Errorf(
			"%s: cannot write %s: use one of .gz, .zst, .xz, .s2, .sz, .lz4, or no compression",
			path,
			ending,
		)
	}
	return func(w io.Writer) (io.WriteCloser, error) { return uncompressed{w}, nil }, nil
}

type uncompressed struct{ io.Writer }

func (uncompressed) Close() error { return nil }
