package files

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var straceFormat = source.Format{
	Name:    "strace",
	Options: []params.Param{blockOption(4096), filesOption(), jobOption("the number of the process, where it is there")},
	Detect:  source.CertainIf(looksLikeStrace),
	Open:    openStrace,
}

func looksLikeStrace(head source.Head) bool {
	calls := 0
	for _, line := range head.Lines[:min(len(head.Lines), 20)] {
		if c, err := parseCall(line); err == nil && c.name != nil {
			calls++
		}
	}
	return calls > 0 && 2*calls >= min(len(head.Lines), 20)
}

// straceReader reads the calls that read files, and follows those that move in one. Threads and forked processes share
// positions, and not every log has the calls that made them; a handle is therefore a number with its path.
type straceReader struct {
	handles handles
	begun   map[string][]byte // by process: the beginning of a call that continues in a later line
	broken  bool              // the next line may be the rest of one that a message broke
	path    []byte
}

// unmixed is the advice about lines that strace did not print.
const unmixed = "with its option -o, strace keeps its lines apart from what programs print"

func openStrace(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	s := &straceReader{handles: handles{}, begun: map[string][]byte{}}
	src.Reading.Time = "time in s"
	src.Reading.Why = "other calls, and reads of nothing, at an unknown place or without a path, which strace -y adds"
	return NewReader(src, Lines(src, s.parse), opts, true)
}

// straceCall is a line of strace. name is nil where the line is no call, as of a signal or an exit.
type straceCall struct {
	process    []byte // nil where the line has none
	time       int64
	name       []byte
	arguments  []byte // with the closing bracket and the result, where the line has them
	resumed    bool   // continues a call that began in an earlier line
	unfinished bool
}

// parseCall cuts a line into its parts.
func parseCall(line []byte) (c straceCall, err error) {
	rest := line
	if text, found := bytes.CutPrefix(rest, []byte("[pid ")); found {
		if c.process, rest, found = bytes.Cut(text, []byte("] ")); !found {
			return c, errors.New("want ] behind the number of the process")
		}
		c.process = bytes.TrimSpace(c.process)
	}
	word, after, _ := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" "))
	if source.IsDigits(word) { // a process
		c.process, rest = word, bytes.TrimLeft(after, " ")
		word, after, _ = bytes.Cut(rest, []byte(" "))
	}
	if bytes.IndexByte(word, '.') < 0 || !source.IsNumber(word) {
		return c, fmt.Errorf("want a time in seconds with a fraction, as strace -ttt prints it, got %.30q; %s", word,
			unmixed)
	}
	if c.time, err = source.ParseTime(word, 1e9); err != nil {
		return c, err
	}
	return c, c.parseName(bytes.TrimLeft(after, " "))
}

// parseName reads what follows the time.
func (c *straceCall) parseName(text []byte) error {
	if resumed, found := bytes.CutPrefix(text, []byte("<... ")); found {
		name, arguments, ok := bytes.Cut(resumed, []byte(" resumed>"))
		if !ok {
			return fmt.Errorf("want a call that is resumed, got %.40q", text)
		}
		c.name, c.arguments, c.resumed = name, arguments, true
		return nil
	}
	name, arguments, ok := bytes.Cut(text, []byte("("))
	if !ok || len(name) == 0 || !isName(name) {
		return nil // a signal, or the end of a process
	}
	if bytes.HasSuffix(arguments, []byte("<detached ...>")) {
		return nil // strace was stopped
	}
	c.name = name
	c.arguments, c.unfinished = bytes.CutSuffix(arguments, []byte("<unfinished ...>"))
	return nil
}

func isName(text []byte) bool {
	for _, b := range text {
		if b != '_' && (b < 'a' || b > 'z') && (b < '0' || b > '9') {
			return false
		}
	}
	return true
}

func (s *straceReader) parse(line []byte, a *Access) error {
	if isMessage(line) {
		s.broken = true
		return source.ErrLeftOut
	}
	c, err := parseCall(line)
	broken := s.broken
	if s.broken = false; err != nil && broken {
		return source.ErrLeftOut
	} else if err != nil {
		return err
	}
	if c.name == nil || !follows(string(c.name)) {
		return source.ErrLeftOut
	}
	switch {
	case c.unfinished:
		s.begun[string(c.process)] = bytes.Clone(c.arguments)
		return source.ErrLeftOut
	case c.resumed:
		begun, known := s.begun[string(c.process)]
		delete(s.begun, string(c.process))
		if !known {
			return source.ErrLeftOut
		}
		c.arguments = append(begun, c.arguments...)
	}
	return s.follow(&c, a)
}

// isMessage reports whether a line ends with a message about a process that strace attaches to or detaches from.
// Without the option -o, messages and calls share an output. A message may then break a call; its rest is on the next
// line.
func isMessage(line []byte) bool {
	_, message, found := bytes.Cut(line, []byte("strace: Process "))
	number, event, _ := bytes.Cut(bytes.TrimSpace(message), []byte(" "))
	return found && source.IsDigits(number) && (string(event) == "attached" || string(event) == "detached")
}

// follows reports whether a call reads a file or moves in one.
func follows(name string) bool {
	switch name {
	case "read", "readv", "pread64", "pread", "preadv", "preadv2", "sendfile", "sendfile64", "copy_file_range", "write",
		"writev", "open", "openat", "openat2", "creat", "dup", "dup2", "dup3", "fcntl", "lseek", "_llseek", "close":
		return true
	}
	return false
}

// follow fills in a read. Other calls only move the position of their file, and are left out.
func (s *straceReader) follow(c *straceCall, a *Access) (err error) {
	at := lastResult(c.arguments)
	if at < 0 {
		return fmt.Errorf("want the result of %s, got %.40q; %s", c.name, c.arguments, unmixed)
	}
	_, result, _ := bytes.Cut(c.arguments[at:], []byte("= "))
	arguments := c.arguments[:at]
	switch name := string(c.name); name {
	case "open", "openat", "openat2", "creat", "dup", "dup2", "dup3", "fcntl":
		return s.newHandle(name, arguments, result)
	case "sendfile", "sendfile64":
		_, arguments, _ = bytes.Cut(arguments, []byte(", ")) // what it writes to
	}
	value, valid := leadingNumber(result)
	handle, path, ok := fileHandle(arguments)
	if !ok || !valid || value < 0 { // no file, or it failed
		return source.ErrLeftOut
	}
	if a.Offset, err = s.offset(string(c.name), handle, arguments, value); err != nil {
		return err
	}
	s.path = unescape(s.path[:0], path)
	a.Time, a.Job, a.Path, a.Length = c.time, c.process, s.path, value
	return nil
}

// offset returns where a call read, or else moves in the file and returns source.ErrLeftOut. value is its result.
func (s *straceReader) offset(name string, handle, arguments []byte, value int64) (int64, error) {
	offset, known := int64(0), false
	switch name {
	case "read", "readv":
		offset, known = s.handles.take(handle, value)
	case "sendfile", "sendfile64", "copy_file_range":
		offset, known = s.copied(handle, arguments, value)
	case "write", "writev":
		s.handles.take(handle, value)
	case "lseek":
		s.handles.move(handle, value)
		return 0, source.ErrLeftOut
	case "_llseek", "close": // the result of _llseek is among its arguments, in a form that differs
		s.handles.forget(handle)
	default:
		text := offsetOf(name, arguments)
		if name == "preadv2" && string(text) == "-1" { // it reads from the file position
			offset, known = s.handles.take(handle, value)
			break
		}
		n, ok := source.ParseDigits(text)
		if !ok {
			return 0, fmt.Errorf("want the offset of %s as its last number, got %.60q", name, arguments)
		}
		offset, known = int64(min(n, 1<<62)), true // check refuses what is too large
	}
	if !known {
		return 0, source.ErrLeftOut
	}
	return offset, nil
}

// newHandle follows a call that opens a file or duplicates a handle.
func (s *straceReader) newHandle(name string, arguments, result []byte) error {
	made, _, ok := fileHandle(result)
	if !ok || name == "fcntl" && !bytes.Contains(arguments, []byte("F_DUPFD")) {
		return source.ErrLeftOut
	}
	if name[0] == 'o' || name[0] == 'c' {
		s.handles.open(made)
		return source.ErrLeftOut
	}
	handle, _, _ := fileHandle(arguments)
	s.handles.duplicate(handle, made)
	return source.ErrLeftOut
}

// copied returns where a copying call read its file. The argument after the handle says so: NULL for the position of
// the handle, or an offset in brackets.
func (s *straceReader) copied(handle, arguments []byte, bytesRead int64) (offset int64, known bool) {
	_, where, _ := bytes.Cut(arguments[len(handle):], []byte(", "))
	if bytes.HasPrefix(where, []byte("NULL")) {
		return s.handles.take(handle, bytesRead)
	}
	text, _, found := bytes.Cut(bytes.TrimPrefix(where, []byte("[")), []byte("]"))
	n, ok := source.ParseDigits(text)
	return int64(min(n, 1<<62)), ok && found
}

// lastResult returns the place of the closing bracket before the result, which strace aligns with blanks; -1 for none.
func lastResult(text []byte) int {
	for end := len(text); ; {
		at := bytes.LastIndex(text[:end], []byte(" = "))
		if at < 0 {
			return -1
		}
		if call := bytes.TrimRight(text[:at], " "); bytes.HasSuffix(call, []byte(")")) {
			return len(call) - 1
		}
		end = at
	}
}

// fileHandle returns the number and the path that text begins with, as in 3</data/a>; ok is false for a socket or pipe.
func fileHandle(text []byte) (handle, path []byte, ok bool) {
	digits := 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	if digits == 0 || !bytes.HasPrefix(text[digits:], []byte("</")) {
		return nil, nil, false
	}
	end := bytes.IndexByte(text, '>')
	if end < 0 {
		return nil, nil, false
	}
	handle, _, _ = bytes.Cut(text[digits+1:end], []byte("<")) // of a device, the option -yy adds what it is
	handle = bytes.TrimSuffix(handle, []byte(" (deleted)"))
	end = digits + 1 + len(handle)
	return text[:end], text[digits+1 : end], true
}

func leadingNumber(text []byte) (int64, bool) {
	word, _, _ := bytes.Cut(text, []byte(" "))
	n, err := strconv.ParseInt(string(word), 10, 64)
	return n, err == nil
}

// offsetOf returns the offset argument of a call: the last one, except that preadv2 has its flags behind it.
func offsetOf(name string, arguments []byte) []byte {
	if name == "preadv2" {
		arguments = arguments[:max(0, bytes.LastIndexByte(arguments, ','))]
	}
	return bytes.TrimSpace(arguments[bytes.LastIndexByte(arguments, ',')+1:])
}

// unescape appends a path as it is: strace writes odd bytes as \ooo in octal, and some as a letter.
func unescape(to, text []byte) []byte {
	for len(text) > 0 {
		if text[0] != '\\' || len(text) == 1 {
			to, text = append(to, text[0]), text[1:]
			continue
		}
		digits := 1
		for digits < min(4, len(text)) && text[digits] >= '0' && text[digits] <= '7' {
			digits++
		}
		if n, err := strconv.ParseUint(string(text[1:digits]), 8, 8); err == nil {
			to, text = append(to, byte(n)), text[digits:]
			continue
		}
		const letters, means = "ntrfv", "\n\t\r\f\v" // any other stands for itself
		b := text[1]
		if at := strings.IndexByte(letters, b); at >= 0 {
			b = means[at]
		}
		to, text = append(to, b), text[2:]
	}
	return to
}
