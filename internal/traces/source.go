package traces

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
	"strings"
	"sync/atomic"

	"github.com/cachesim/cachesim/internal/faults"
	"github.com/cachesim/cachesim/internal/filestate"
	"github.com/cachesim/cachesim/internal/interruptible"
	"github.com/cachesim/cachesim/internal/memory"
)

// maxLine is the longest line that is read, in bytes, and the size of a Source's buffer.
const maxLine = 1 << 20

// input is an opened file, or standard input, as its bytes lie on the disk.
type input struct {
	path      string   // as the user wrote it
	label     string   // what errors call it
	file      *os.File // nil for standard input that is not a file
	r         io.Reader
	size      int64 // 0 where unknown
	opened    filestate.State
	bytesRead atomic.Int64
	closers   []func() error
	together  *together
	budget    *memory.Budget
	archive   *input // that this is a member of; nil for a file of its own
	tenant    string // the column of tenants that is asked for; "" for none
}

// member returns the input of a member of an archive. What is opened for it can be closed before the archive is.
func (in *input) member() *input {
	return &input{path: in.path, label: in.label, together: in.together, budget: in.budget, archive: in, tenant: in.tenant}
}

// taken returns how many bytes of the file were read.
func (in *input) taken() int64 {
	if in.archive != nil {
		return in.archive.taken()
	}
	return in.bytesRead.Load()
}

// openInput opens the file at path, or takes stdin (os.Stdin if nil) for "-". A pipe may wait for ever to be opened and
// to be read: until ctx ends.
func openInput(ctx context.Context, path string, stdin io.Reader) (*input, error) {
	if path == "-" {
		return standardInput(ctx, cmp.Or[io.Reader](stdin, os.Stdin)), nil
	}
	file, err := interruptible.Call(ctx, func() (*os.File, error) { return os.Open(path) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, withoutPath(err))
	}
	in := &input{path: path, label: path, file: file, r: file, closers: []func() error{file.Close}}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", path, withoutPath(err))
	case info.IsDir():
		err = fmt.Errorf("%s: is a directory; name the trace files in it", path)
	case info.Mode().IsRegular():
		in.size, in.opened = info.Size(), filestate.New(path, info)
	default:
		in.r = &pipe{ctx: ctx, r: file}
	}
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// standardInput reads from stdin, which may be a file that the shell has opened.
func standardInput(ctx context.Context, stdin io.Reader) *input {
	in := &input{path: "-", label: "standard input", r: &pipe{ctx: ctx, r: stdin}}
	if file, ok := stdin.(*os.File); ok {
		in.opened = filestate.OfOpen(in.label, file)
	}
	return in
}

// pipe reads from a pipe or a terminal, where a read may wait for ever, until the context ends.
type pipe struct {
	ctx    context.Context
	r      io.Reader
	buffer [64 << 10]byte // of the read that may be left behind
}

// Read implements io.Reader. It must not be called again after the context ended.
func (p *pipe) Read(b []byte) (int, error) {
	buffer := p.buffer[:min(len(b), len(p.buffer))]
	n, err := interruptible.Call(p.ctx, func() (int, error) { return p.r.Read(buffer) })
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

// Read makes input a reader that counts what was read.
func (in *input) Read(p []byte) (int, error) {
	if err := faults.At(faults.Read, in.path); err != nil {
		return 0, err
	}
	n, err := in.r.Read(p)
	in.bytesRead.Add(int64(n))
	if err != nil && err != io.EOF {
		err = withoutPath(err)
	}
	return n, err
}

// ReadAt reads from a regular file and counts what was read.
func (in *input) ReadAt(p []byte, offset int64) (int, error) {
	if err := faults.At(faults.Read, in.path); err != nil {
		return 0, err
	}
	n, err := in.file.ReadAt(p, offset)
	in.bytesRead.Store(min(in.bytesRead.Load()+int64(n), in.size))
	return n, err
}

// onClose adds what close does. What was added last is done first, as it may use what was opened before it.
func (in *input) onClose(release func() error) { in.closers = append(in.closers, release) }

func (in *input) close() error {
	var errs []error
	for _, release := range slices.Backward(in.closers) {
		errs = append(errs, release())
	}
	in.closers = nil
	return errors.Join(errs...)
}

// Source is what a Format reads from: the decompressed bytes of one file or of one member of a tar archive. It is read
// either by lines (Line), by fixed records (Records), as a plain io.Reader, or at random (ReaderAt). All its errors
// name the file.
type Source struct {
	in          *input
	place       string        // file, and member of an archive, that errors begin with
	name        string        // base name in lower case without endings of compressions
	compression string        // "" for none
	held        *bytes.Reader // the content, where it is in memory
	reading     *Reading
	buf         *bufio.Reader
	line        int   // number of the line that Line returned last
	offset      int64 // decompressed bytes that Records and Read returned
}

// newSource recognises the compression of r and returns its decompressed content, which must not be empty.
func newSource(in *input, place, name string, r io.Reader) (*Source, error) {
	d, err := decompress(in, place, r)
	if err != nil {
		return nil, err
	}
	content := io.Reader(d)
	// a pipe may be silent for ever, and then nothing could be closed
	if d.compression != "" && r == io.Reader(in) && in.size > 0 {
		ahead := newReadAhead(d)
		in.onClose(ahead.stop)
		content = ahead
	}
	held, _ := r.(*bytes.Reader)
	if d.compression != "" {
		held = nil
	}
	s := &Source{
		in: in, held: held, place: place, name: strippedName(name),
		compression: d.compression, buf: bufio.NewReaderSize(content, maxLine),
	}
	if _, err := s.buf.Peek(1); err == io.EOF {
		return nil, fmt.Errorf("%s: the file is empty", place)
	} else if err != nil {
		return nil, err
	}
	return s, s.skipByteOrderMark()
}

// skipByteOrderMark drops the mark that some programs write in front of text in UTF-8.
func (s *Source) skipByteOrderMark() error {
	const mark = "\xef\xbb\xbf"
	head, err := s.buf.Peek(1 << 10)
	if err != nil && err != io.EOF {
		return err
	}
	if bytes.HasPrefix(head, []byte(mark)) && !isBinary(head) {
		_, err = s.buf.Discard(len(mark))
		return err
	}
	return nil
}

// strippedName returns the base name of a path in lower case without endings of compressions and archives.
func strippedName(path string) string {
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

// nextNumber gives the file or member its number among those that are read together, from 0 on in the order in which
// they are opened. A format asks once.
func (s *Source) nextNumber() int {
	n := s.in.together.numbered
	s.in.together.numbered++
	return n
}

// Line returns the next line without its line break (LF or CRLF) and io.EOF after the last, which need not end with a
// break. The slice is valid until the next call.
func (s *Source) Line() ([]byte, error) {
	line, err := s.buf.ReadSlice('\n')
	if err != nil {
		return s.lastLine(line, err)
	}
	s.line++
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

// longLine is Line for formats whose lines may be longer, up to most bytes.
func (s *Source) longLine(most int) ([]byte, error) {
	var begun []byte
	for {
		part, err := s.buf.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			begun = append(begun, part...)
			if err := s.checkLong(begun, part, most); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil && (err != io.EOF || len(begun)+len(part) == 0) {
			return nil, err
		}
		s.line++
		line := part
		if begun != nil {
			line = append(begun, part...)
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
	}
}

// checkLong refuses a line that is too long or no text, of which part was read last.
func (s *Source) checkLong(begun, part []byte, most int) error {
	_, controls := oddBytes(part)
	mayHold := int(s.in.budget.Part(valueShare, int64(most)))
	if !controls && len(begun) <= mayHold {
		return nil
	}
	s.line++
	switch {
	case controls:
		return s.LineErrorf("control characters: this is not a text trace")
	case mayHold < most:
		return s.in.budget.Refuse(0, fmt.Sprintf("%s: line %d: a line of more than %s", s.place, s.line,
			memory.Bytes(int64(mayHold))))
	}
	return s.LineErrorf("longer than %d bytes", most)
}

// lastLine handles a line that does not end with a line break.
func (s *Source) lastLine(line []byte, err error) ([]byte, error) {
	switch {
	case err == bufio.ErrBufferFull:
		s.line++
		return nil, s.LineErrorf("longer than %d bytes; this is not a text trace", maxLine)
	case err != io.EOF:
		return nil, err
	case len(line) == 0:
		return nil, io.EOF
	}
	s.line++
	return bytes.TrimSuffix(line, []byte("\r")), nil
}

// LineErrorf returns an error about the line that Line returned last: "FILE: line 17: ...".
func (s *Source) LineErrorf(format string, args ...any) error {
	return fmt.Errorf("%s: line %d: %w", s.place, s.line, fmt.Errorf(format, args...))
}

// Records returns whole records of size bytes each, at least one and as many as are at hand, and io.EOF at the end. A
// rest that is shorter than a record is an error. The slice is valid until the next call.
func (s *Source) Records(size int) ([]byte, error) {
	if s.buf.Buffered() < size {
		head, err := s.buf.Peek(size)
		switch {
		case err == io.EOF && len(head) == 0:
			return nil, io.EOF
		case err == io.EOF:
			return nil, s.OffsetErrorf(s.offset, "the file is cut off within a record: want %d bytes, %d are left", size,
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

// Read reads decompressed bytes.
func (s *Source) Read(p []byte) (int, error) {
	n, err := s.buf.Read(p)
	s.offset += int64(n)
	return n, err
}

// Offset returns the number of decompressed bytes that Records and Read returned so far.
func (s *Source) Offset() int64 { return s.offset }

// Peek returns the next n bytes without consuming them, fewer with io.EOF where the input ends before; n is at most 1
// MiB.
func (s *Source) Peek(n int) ([]byte, error) { return s.buf.Peek(n) }

// OffsetErrorf returns an error about the byte at offset of the decompressed content: "FILE: byte 2400: ...".
func (s *Source) OffsetErrorf(offset int64, format string, args ...any) error {
	return fmt.Errorf("%s: byte %d: %w", s.place, offset, fmt.Errorf(format, args...))
}

// Errorf returns an error about the file as a whole: "FILE: ...".
func (s *Source) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", s.place, fmt.Errorf(format, args...))
}

// Size returns the size of the content in bytes if it lies uncompressed in a file, and 0 where that is unknown.
func (s *Source) Size() int64 {
	if s.isWholeFile() {
		return s.in.size
	}
	return 0
}

// isWholeFile says whether the content is a regular file as it lies on the disk.
func (s *Source) isWholeFile() bool {
	return s.compression == "" && s.place == s.in.label && s.in.file != nil && s.in.size > 0
}

// ReaderAt gives random access to the content and its length. Compressed input, archives and pipes are copied to a
// temporary file that Close removes. Nothing may have been consumed before.
func (s *Source) ReaderAt() (io.ReaderAt, int64, error) {
	if s.isWholeFile() {
		return s.in, s.in.size, nil
	}
	if s.held != nil {
		return s.held, s.held.Size(), nil
	}
	return s.copyToFile()
}
