package files

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var dftracerFormat = source.Format{
	Name:    "dftracer",
	Options: []params.Param{blockOption(4096), filesOption(), jobOption("the number of the process")},
	JSON:    true,
	Detect:  source.CertainIf(looksLikeDFTracer),
	Open:    openDFTracer,
}

func looksLikeDFTracer(head source.Head) bool {
	lines := head.Lines
	if len(lines) > 0 && isBracket(lines[0]) {
		lines = lines[1:]
	}
	if len(lines) == 0 {
		return false
	}
	first := bytes.TrimSpace(lines[0])
	return bytes.HasPrefix(first, []byte("{")) &&
		(bytes.Contains(first, []byte(`"cat":"dftracer"`)) || isOlderEvent(first))
}

// isOlderEvent reports whether a line is an event as DFTracer wrote it before its paths had hashes: its numbers are
// strings. Other programs that write events of Chrome's format have numbers there.
func isOlderEvent(line []byte) bool {
	for _, field := range []string{`{"id":"`, `"name":"`, `"cat":"`, `"pid":"`, `"tid":"`, `"ts":"`, `"ph":"X"`} {
		if !bytes.Contains(line, []byte(field)) {
			return false
		}
	}
	return true
}

// isBracket reports whether a line opens or closes the list of events.
func isBracket(line []byte) bool {
	text := bytes.TrimSpace(line)
	return len(text) == 1 && (text[0] == '[' || text[0] == ']')
}

// dftracerReader reads the calls that read, and follows those that move in a file.
type dftracerReader struct {
	scanner source.JSONScanner
	paths   map[string]string // by hash
	handles handles
	handle  []byte
	path    []byte
}

// dftracerCall is what a line says. Texts are empty, and numbers -1, where it says nothing.
type dftracerCall struct {
	name, category, pid            []byte
	time                           int64
	fd, hash, file, value, argName []byte
	ret, offset, size, whence      int64
	wrong                          string // the first number that is none, as an error says it
}

func openDFTracer(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	d := &dftracerReader{handles: handles{}, paths: map[string]string{}}
	src.Reading.Time, src.Reading.Why = "time in us", "other calls, and reads of nothing or at an unknown place"
	return NewReader(src, Lines(src, d.parse), opts, true)
}

func (d *dftracerReader) parse(line []byte, a *Access) error {
	if isBracket(line) {
		return source.ErrLeftOut
	}
	c, err := d.call(bytes.TrimSuffix(bytes.TrimSpace(line), []byte(",")))
	switch {
	case err != nil:
		return err
	case string(c.name) == "FH":
		d.paths[string(c.value)] = string(c.argName) // the path that has a hash
		return source.ErrLeftOut
	case string(c.category) != "POSIX" && string(c.category) != "STDIO":
		return source.ErrLeftOut
	}
	return d.follow(c, a)
}

// follow fills in a read. Other calls only move the position of their file, and are left out.
func (d *dftracerReader) follow(c *dftracerCall, a *Access) error {
	d.handle = append(append(append(d.handle[:0], c.pid...), ' '), c.fd...)
	if len(c.fd) == 0 {
		d.handle = c.appendStream(d.handle)
	}
	switch string(c.name) {
	case "pread", "pread64", "preadv", "preadv64":
		return d.read(c, a, c.offset)
	case "read", "readv", "fread", "write", "writev", "fwrite":
		length, err := c.length()
		if err != nil {
			return err
		}
		position, known := d.handles.take(d.handle, max(length, 0))
		if reads := bytes.Contains(c.name, []byte("read")); reads && known {
			return d.read(c, a, position)
		}
	case "open", "open64", "openat", "openat64", "fopen", "fopen64":
		d.open(c)
	case "lseek", "lseek64", "ftell", "ftello", "ftello64":
		if err := c.check(); err != nil {
			return err
		}
		if c.ret >= 0 { // where it is now
			d.handles.move(d.handle, c.ret)
		}
	case "fseek", "fseeko", "fseeko64", "rewind", "fsetpos", "fsetpos64":
		d.seekStream(c)
	case "close", "fclose":
		d.handles.forget(d.handle)
	}
	return source.ErrLeftOut
}

// appendStream appends what stands for the handle of a call that states none: its file, by hash or by path.
func (c *dftracerCall) appendStream(to []byte) []byte {
	if len(c.hash) > 0 {
		return append(append(to, 'h'), c.hash...)
	}
	return append(append(to, 'f'), c.file...)
}

// check returns an error if the call has an argument that should be a number and is none.
func (c *dftracerCall) check() error {
	if c.wrong == "" {
		return nil
	}
	return fmt.Errorf("a %s with %s: want a whole number", c.name, c.wrong)
}

// length returns the bytes that a call read or wrote, -1 where it says nothing or failed.
func (c *dftracerCall) length() (int64, error) {
	pieces := string(c.name) == "fread" || string(c.name) == "fwrite"
	if pieces && c.size > 0 && c.ret >= 0 && c.ret <= math.MaxInt64/c.size {
		return c.ret * c.size, c.check() // it returns a number of pieces of that size
	}
	return c.ret, c.check()
}

func (d *dftracerReader) read(c *dftracerCall, a *Access, offset int64) error {
	length, err := c.length()
	switch {
	case err != nil:
		return err
	case length <= 0 || offset < 0:
		return source.ErrLeftOut
	case c.time < 0:
		return fmt.Errorf("a %s without a time: want ts, in microseconds", c.name)
	case len(c.file) == 0 && len(c.hash) == 0:
		return fmt.Errorf("a %s without a file: want its hash as fhash, or its path as fname", c.name)
	}
	a.Time, a.Offset, a.Length, a.Job = c.time, offset, length, c.pid
	a.Path = c.file
	if len(c.file) == 0 {
		path, known := d.paths[string(c.hash)]
		if !known {
			path = "hash:" + string(c.hash)
		}
		d.path = append(d.path[:0], path...)
		a.Path = d.path
	}
	return nil
}

// open sets the position of an opened file to its first byte. The result of the call is the handle, except for fopen:
// other calls do not have its result.
func (d *dftracerReader) open(c *dftracerCall) {
	if c.ret < 0 && c.name[0] != 'f' {
		return
	}
	d.handle = append(append(d.handle[:0], c.pid...), ' ')
	if c.name[0] == 'f' {
		d.handle = c.appendStream(d.handle)
	} else {
		d.handle = strconv.AppendInt(d.handle, c.ret, 10)
	}
	d.handles.open(d.handle)
}

// seekStream moves to the offset from the first byte that the call was given. Its result is not the position, so that
// after other ways to move the position is unknown.
func (d *dftracerReader) seekStream(c *dftracerCall) {
	switch {
	case string(c.name) == "rewind":
		d.handles.move(d.handle, 0)
	case bytes.HasPrefix(c.name, []byte("fseek")) && c.whence == 0 && c.ret == 0 && c.offset >= 0:
		d.handles.move(d.handle, c.offset)
	default:
		d.handles.forget(d.handle)
	}
}

func (d *dftracerReader) call(line []byte) (*dftracerCall, error) {
	c := &dftracerCall{time: -1, ret: -1, offset: -1, size: -1, whence: -1}
	d.scanner = source.JSONScanner{Text: line, AnyBytes: true}
	s := &d.scanner
	err := s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "name":
			c.name, err = s.String()
		case "cat":
			c.category, err = s.String()
		case "pid":
			c.pid, err = numberText(s)
		case "ts":
			c.time, err = timeOf(s)
		case "args":
			if s.Peek() == '{' {
				return s.Object(func(key []byte) error { return d.argument(string(key), c) })
			}
			return s.Skip()
		default:
			return s.Skip()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
	if err == nil {
		err = s.End()
	}
	if err == nil && len(c.name) == 0 {
		err = fmt.Errorf("an event without a name: want the name of a call, or FH")
	}
	return c, err
}

// argument reads an argument of a call. What it does not know it skips.
func (d *dftracerReader) argument(key string, c *dftracerCall) error {
	var text *[]byte
	var number *int64
	switch key {
	case "fd":
		text = &c.fd
	case "fhash":
		text = &c.hash
	case "fname":
		text = &c.file
	case "name":
		text = &c.argName
	case "value":
		text = &c.value
	case "ret":
		number = &c.ret
	case "offset":
		number = &c.offset
	case "size":
		number = &c.size
	case "whence":
		number = &c.whence
	default:
		return d.scanner.Skip()
	}
	value, err := scalar(&d.scanner)
	switch {
	case text != nil:
		*text = value
	case value != nil && err == nil:
		n, parseErr := strconv.ParseInt(string(value), 10, 64)
		if parseErr == nil {
			*number = n
		} else if c.wrong == "" {
			c.wrong = fmt.Sprintf("%s %.40q", key, value)
		}
	}
	return err
}

// scalar reads a text or a number as text; what is neither is skipped.
func scalar(s *source.JSONScanner) ([]byte, error) {
	switch c := s.Peek(); {
	case c == '"':
		return s.String()
	case c == '-' || c >= '0' && c <= '9':
		return s.Number()
	}
	return nil, s.Skip()
}

// numberText reads a number, which older logs have in quotes, as text.
func numberText(s *source.JSONScanner) ([]byte, error) {
	if s.Peek() != '"' {
		return s.Number()
	}
	text, err := s.String()
	if err != nil {
		return nil, err
	}
	if _, parseErr := strconv.ParseInt(string(text), 10, 64); parseErr != nil {
		return nil, fmt.Errorf("%.40q: want a whole number", text)
	}
	return text, nil
}

// timeOf reads a time in microseconds, with or without quotes.
func timeOf(s *source.JSONScanner) (int64, error) {
	text, err := numberText(s)
	if err != nil {
		return 0, err
	}
	return source.ParseTime(text, 1e3)
}
