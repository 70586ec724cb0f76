// Package source has the tools that readers of trace formats share: a Source is the content of a file by lines,
// records, rows of a table or JSON values; a Format says how a file is recognised and read.
package source

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/traces/compress"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// MaxLine is the longest line that is read, in bytes, and the largest size of a Source's buffer.
const MaxLine = 1 << 20

// File is an opened file, or standard input, with its raw bytes.
type File struct {
	Path     string   // as the user wrote it
	Label    string   // its name in errors
	file     *os.File // nil for standard input that is not a file
	r        io.Reader
	Size     int64 // 0 if unknown
	Opened   filestate.State
	fetched  atomic.Int64 // by this reader, perhaps ahead of what is parsed
	closers  []func() error
	Together *Together
	Budget   *memory.Budget
	archive  *File  // the archive that this is a member of; nil otherwise
	Tenant   string // the requested column of tenants, or of labels; "" for none
	Labels   bool   // it is of labels
	Merged   bool   // with other files, which are open at the same time
	NoSizes  bool   // nothing uses the sizes of requests, so that they need not be found out
	// BadLines is the share of lines that may be unreadable; 0: none.
	BadLines float64
	// Context ends the reading; nil: nothing does. Find returns where a file is that an option names; nil: at that path.
	Context context.Context
	Find    func(path string) (string, error)
	ahead   *readAhead // of the content, if it is compressed; nil otherwise
}

// Member returns the input of a member of an archive. What is opened for it can be closed before the archive.
func (in *File) Member() *File {
	return &File{Path: in.Path, Label: in.Label, Together: in.Together, Budget: in.Budget, archive: in, Tenant: in.Tenant,
		BadLines: in.BadLines, NoSizes: in.NoSizes, Context: in.Context, Find: in.Find}
}

// BytesRead returns how many bytes of the file were read for what was parsed so far. Any goroutine may call it.
func (in *File) BytesRead() int64 {
	switch {
	case in.archive != nil:
		return in.archive.BytesRead()
	case in.ahead != nil:
		return in.ahead.taken.Load()
	}
	return in.fetched.Load()
}

// OpenFile opens the file at path, or takes stdin (os.Stdin if nil) for "-". A trace may come from a pipe: opening or
// reading it may wait for ever, and ctx ends the wait. Other files than traces are opened by filestate.Open.
func OpenFile(ctx context.Context, path string, stdin io.Reader) (*File, error) {
	if path == "-" {
		return standardInput(ctx, cmp.Or[io.Reader](stdin, os.Stdin)), nil
	}
	if err := CheckLocal(path); err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		return nil, fmt.Errorf("%s: is a socket: want a file or a pipe", path)
	}
	file, err := parallel.Await(ctx, func() (*os.File, error) { return os.Open(path) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, withoutPath(err))
	}
	return fileOf(ctx, path, file)
}

// openRegular opens a file that is read beside a trace. It must not be a pipe, for which the trace would wait.
func openRegular(path string) (*File, error) {
	file, err := filestate.Open(path)
	if errors.As(err, new(*os.PathError)) {
		err = fmt.Errorf("%s: %w", path, withoutPath(err))
	}
	if err != nil {
		return nil, err
	}
	return fileOf(context.Background(), path, file)
}

// fileOf returns a File for an open file or pipe, which it closes if it returns an error.
func fileOf(ctx context.Context, path string, file *os.File) (*File, error) {
	in := &File{Path: path, Label: terminal.InLine(path), file: file, r: file, closers: []func() error{file.Close}}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", path, withoutPath(err))
	case info.IsDir():
		err = fmt.Errorf("%s: is a directory; name the trace files in it", path)
	case info.Mode().IsRegular():
		in.Size, in.Opened = info.Size(), filestate.New(path, info)
	default:
		in.r = &pipe{ctx: ctx, r: file}
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// standardInput reads from stdin, which may be a file that the shell has opened.
func standardInput(ctx context.Context, stdin io.Reader) *File {
	in := &File{Path: "-", Label: "standard input", r: &pipe{ctx: ctx, r: stdin}}
	if file, ok := stdin.(*os.File); ok {
		in.Opened = filestate.OfOpen(in.Label, file)
	}
	return in
}

// pipe reads from a pipe or a terminal, where a read may wait for ever, until the context ends.
type pipe struct {
	ctx    context.Context
	r      io.Reader
	buffer [64 << 10]byte // for the read that may be left behind
}

// Read implements io.Reader. It must not be called again after the context ended.
func (p *pipe) Read(b []byte) (int, error) {
	buffer := p.buffer[:min(len(b), len(p.buffer))]
	n, err := parallel.Await(p.ctx, func() (int, error) { return p.r.Read(buffer) })
	return copy(b, buffer[:n]), err
}

// withoutPath drops the operation and the path from an error of package os, so that messages name the file once.
func withoutPath(err error) error {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// Read implements io.Reader, and counts what was read.
func (in *File) Read(p []byte) (int, error) {
	if err := filestate.Before(filestate.Read, in.Path); err != nil {
		return 0, err
	}
	n, err := in.r.Read(p)
	in.fetched.Add(int64(n))
	if err != nil && err != io.EOF {
		err = withoutPath(err)
	}
	return n, err
}

// ReadAt implements io.ReaderAt for a regular file. It counts what was read, for progress, up to the size: parts may be
// read twice.
func (in *File) ReadAt(p []byte, offset int64) (int, error) {
	if err := filestate.Before(filestate.Read, in.Path); err != nil {
		return 0, err
	}
	n, err := in.file.ReadAt(p, offset)
	in.fetched.Store(min(in.fetched.Load()+int64(n), in.Size))
	return n, err
}

// OnClose adds a function for Close to call. Like deferred calls they run in reverse order.
func (in *File) OnClose(release func() error) { in.closers = append(in.closers, release) }

// Close closes the file, and what was opened to read it.
func (in *File) Close() error {
	var errs []error
	for _, release := range slices.Backward(in.closers) {
		errs = append(errs, release())
	}
	in.closers = nil
	return errors.Join(errs...)
}

// Source is what a Format reads from: the decompressed bytes of one file or of one member of a tar archive. It is read
// by lines (Line), by fixed records (Records), as a plain io.Reader, or with random access (ReaderAt). All its errors
// name the file.
type Source struct {
	In          *File
	Place       string        // file, and member of an archive, that errors begin with
	FormatName  string        // base name in lower case without endings of compressions
	Compression string        // "" for none
	Container   string        // what was unwrapped, if the content is the log of a container; "" otherwise
	held        *bytes.Reader // the content, if it is in memory
	Reading     *stream.Reading
	buf         *buffer
	LineNumber  int // number of the line that Line last returned
	// Unended says that the line that Line or LongLine last returned ends with the file, and without a line break.
	Unended  bool
	unread   []byte // the next line, if OnlyBlankLines found it; nil otherwise
	unreadAt int    // its number
	lastBad  int    // number of the last line that could not be read
	inARow   int    // such lines before it, and itself
	offset   int64  // decompressed bytes that Records and Read returned
}

// New recognises the compression of r and returns its decompressed content, which must not be empty.
func New(in *File, place, name string, r io.Reader) (*Source, error) {
	d, err := compress.Decompress(in.OnClose, place, r)
	if err != nil {
		return nil, err
	}
	content := io.Reader(d)
	// Not for a pipe: it may stay silent forever, and stop would wait for the goroutine.
	if d.Compression != "" && r == io.Reader(in) && in.Size >= leastAhead {
		in.ahead = newReadAhead(in, d)
		in.OnClose(in.ahead.stop)
		content = in.ahead
	}
	held, _ := r.(*bytes.Reader)
	if d.Compression != "" {
		held = nil
	}
	s := &Source{
		In: in, held: held, Place: place, FormatName: StrippedName(name),
		Compression: d.Compression, buf: newBuffer(content),
	}
	in.OnClose(s.countLines)
	if _, err := s.buf.Peek(1); err == io.EOF {
		return nil, fmt.Errorf("%s: the file is empty", place)
	} else if err != nil {
		return nil, err
	}
	return s, s.skipByteOrderMark()
}

// skipByteOrderMark drops the mark that some programs write at the start of UTF-8 text.
func (s *Source) skipByteOrderMark() error {
	const mark = "\xef\xbb\xbf"
	head, err := s.buf.Peek(1 << 10)
	if err != nil && err != io.EOF {
		return err
	}
	if bytes.HasPrefix(head, []byte(mark)) && !IsBinary(head) {
		_, err = s.buf.Discard(len(mark))
		return err
	}
	return nil
}

// StrippedName returns the base name of a path in lower case without endings of compressions and archives.
func StrippedName(path string) string {
	name := strings.ToLower(filepath.Base(path))
	for {
		switch ext := filepath.Ext(name); ext {
		case ".gz", ".zst", ".zstd", ".xz", ".bz2", ".s2", ".sz", ".snappy", ".lz4", ".tar":
			name = strings.TrimSuffix(name, ext)
		default:
			return name
		}
	}
}

// NextNumber numbers the files and members that are read together, from 0 in the order in which they are opened. A
// format calls it once for each.
func (s *Source) NextNumber() int {
	n := s.In.Together.numbered
	s.In.Together.numbered++
	return n
}

// Line returns the next line without its line break (LF or CRLF) and io.EOF after the last line, which need not end
// with a break. The slice is valid until the next call.
func (s *Source) Line() ([]byte, error) {
	if s.unread != nil {
		line := s.unread
		s.unread, s.LineNumber = nil, s.unreadAt
		return line, nil
	}
	line, err := s.buf.ReadSlice('\n')
	if err != nil {
		return s.lastLine(line, err)
	}
	s.LineNumber++
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

// Ended returns the error of the context that ends the reading, and nil while it goes on. Formats that read a file as a
// whole before they return a record ask for it in between.
func (in *File) Ended() error {
	if in.Context == nil {
		return nil
	}
	return in.Context.Err()
}

// LongLine is Line for formats whose lines may be as long as any value. Its error is that of the context, once that has
// ended.
func (s *Source) LongLine() ([]byte, error) {
	if err := s.In.Ended(); err != nil {
		return nil, err
	}
	var begun []byte
	for {
		part, err := s.buf.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			begun = append(begun, part...)
			if err := s.checkLong(begun, part); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil && (err != io.EOF || len(begun)+len(part) == 0) {
			return nil, err
		}
		s.LineNumber++
		s.Unended = err == io.EOF
		line := part
		if begun != nil {
			line = append(begun, part...)
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
	}
}

// checkLong refuses a line that is too long or not text; part is what was read last.
func (s *Source) checkLong(begun, part []byte) error {
	_, controls := OddBytes(part)
	mayHold := s.mayHold()
	if !controls && len(begun) <= mayHold {
		return nil
	}
	s.LineNumber++
	if !controls && mayHold < maxValue {
		return s.In.Budget.Refuse(0, fmt.Sprintf("%s: line %d: a line of more than %s", s.Place, s.LineNumber,
			memory.Bytes(int64(mayHold))))
	}
	return s.tooLong(controls, maxValue)
}

// tooLong says what is wrong with a line of more than most bytes.
func (s *Source) tooLong(controls bool, most int) error {
	if controls {
		return s.LastLineErrorf("control characters: this is not a text trace")
	}
	return s.LastLineErrorf("longer than %d bytes: want shorter lines; does it lack line breaks?", most)
}

// mayHold returns how many bytes of a file may be held as one text.
func (s *Source) mayHold() int { return int(s.In.Budget.Part(valueShare, maxValue)) }

// Whole returns the content of a file that is parsed as a whole.
func (s *Source) Whole() ([]byte, error) {
	most := s.mayHold()
	content, err := io.ReadAll(io.LimitReader(s, int64(most)+1))
	if err == nil && len(content) > most {
		err = s.Errorf("longer than %d bytes", most)
	}
	return content, err
}

// lastLine handles a line that does not end with a line break.
func (s *Source) lastLine(line []byte, err error) ([]byte, error) {
	switch {
	case err == bufio.ErrBufferFull:
		s.LineNumber++
		_, controls := OddBytes(line)
		return nil, s.tooLong(controls, MaxLine)
	case err != io.EOF:
		return nil, err
	case len(line) == 0:
		return nil, io.EOF
	}
	s.LineNumber++
	s.Unended = true
	return bytes.TrimSuffix(line, []byte("\r")), nil
}

// CutOff returns an error about the line that Line returned last, with advice if the file may be cut off within it.
func (s *Source) CutOff(err error) error {
	if err == nil || !s.Unended {
		return err
	}
	return fmt.Errorf("%w; the file ends within this line: if it was cut off, remove the line to read the rest", err)
}

// LineErrorf returns an error about the line that Line returned last: "FILE: line 17: ...". The next line can be read.
func (s *Source) LineErrorf(format string, args ...any) error {
	return &stream.BadLine{Place: s.Place, Line: s.LineNumber, Err: fmt.Errorf(format, args...)}
}

// AtLine is LineErrorf for an error that says what is wrong.
func (s *Source) AtLine(err error) error { return s.LineErrorf("%w", err) }

// LastLineErrorf is LineErrorf for an error that ends the reading.
func (s *Source) LastLineErrorf(format string, args ...any) error {
	return fmt.Errorf("%s: line %d: %w", s.Place, s.LineNumber, fmt.Errorf(format, args...))
}

// Records returns whole records of size bytes each, at least one and as many as are buffered, and io.EOF at the end. A
// remainder shorter than a record is an error. The slice is valid until the next call.
func (s *Source) Records(size int) ([]byte, error) {
	if s.buf.Buffered() < size {
		head, err := s.buf.Peek(size)
		switch {
		case err == io.EOF && len(head) == 0:
			return nil, io.EOF
		case err == io.EOF:
			return nil, s.OffsetErrorf(s.offset, "the file is cut off within a record: want %d bytes, got %d", size,
				len(head))
		case err != nil:
			return nil, err
		}
	}
	n := s.buf.Buffered()
	n -= n % size
	records, _ := s.buf.Peek(n)
	s.buf.Discard(n)
	s.offset += int64(n)
	return records, nil
}

// Read implements io.Reader with the decompressed bytes.
func (s *Source) Read(p []byte) (int, error) {
	n, err := s.buf.Read(p)
	s.offset += int64(n)
	return n, err
}

// Offset returns the number of decompressed bytes that Records and Read returned so far.
func (s *Source) Offset() int64 { return s.offset }

// Peek returns the next n bytes without consuming them, or fewer with io.EOF if the input ends before; n is at most 1
// MiB.
func (s *Source) Peek(n int) ([]byte, error) { return s.buf.Peek(n) }

// OffsetErrorf returns an error about the byte at offset of the decompressed content: "FILE: byte 2400: ...".
func (s *Source) OffsetErrorf(offset int64, format string, args ...any) error {
	return fmt.Errorf("%s: byte %d: %w", s.Place, offset, fmt.Errorf(format, args...))
}

// Errorf returns an error about the file as a whole: "FILE: ...".
func (s *Source) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", s.Place, fmt.Errorf(format, args...))
}

// Size returns the size of the content in bytes if it is an uncompressed file, and 0 if that is unknown.
func (s *Source) Size() int64 {
	if s.isWholeFile() {
		return s.In.Size
	}
	return 0
}

// isWholeFile reports whether the content is a regular file as it is on disk.
func (s *Source) isWholeFile() bool {
	return s.Compression == "" && s.Container == "" && s.Place == s.In.Label && s.In.file != nil && s.In.Size > 0
}

// ReaderAt gives random access to the content and its length. Compressed input, archives and pipes are copied to a
// temporary file that Close removes. Nothing may have been consumed before the call.
func (s *Source) ReaderAt() (io.ReaderAt, int64, error) {
	if s.isWholeFile() {
		return s.In, s.In.Size, nil
	}
	if s.held != nil {
		return s.held, s.held.Size(), nil
	}
	return s.copyToFile()
}

// OnlyBlankLines returns io.EOF if only blank lines follow, and an error at the first other line, which Line returns
// next.
func (s *Source) OnlyBlankLines() error {
	blank := s.LineNumber
	for {
		line, err := s.Line()
		if err != nil {
			return err
		}
		if len(line) > 0 {
			s.unread, s.unreadAt, s.LineNumber = line, s.LineNumber, blank
			return s.LineErrorf("a blank line before the end of the file: want a key")
		}
	}
}

const tarBlock = 512

// IsTar reports whether the content is a tar archive: its first block has the checksum of a header (POSIX.1-1988,
// ustar).
func (s *Source) IsTar() bool {
	head, err := s.Peek(tarBlock)
	if err != nil || head[0] == 0 {
		return false
	}
	field := bytes.Trim(head[148:156], " \x00")
	want, err := strconv.ParseInt(string(field), 8, 64)
	if err != nil {
		return false
	}
	sum := int64(8 * ' ') // the checksum field counts as spaces
	for i, b := range head {
		if i < 148 || i >= 156 {
			sum += int64(b)
		}
	}
	return sum == want
}

// Uncounted gives access to a regular file that does not count as progress.
func (in *File) Uncounted() io.ReaderAt { return in.file }
