package traces

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// headLen is how many bytes of a file detection looks at.
const headLen = 64 << 10

// Head is the beginning of a file, for detection.
type Head struct {
	Bytes []byte
	Whole bool     // the file ends here
	Lines [][]byte // the whole lines without their breaks
}

// newHead splits the beginning of a file into lines.
func newHead(b []byte, whole bool) Head {
	h := Head{Bytes: b, Whole: whole}
	for rest := b; len(rest) > 0; {
		line, after, found := bytes.Cut(rest, []byte("\n"))
		if !found && !whole {
			break
		}
		h.Lines = append(h.Lines, bytes.TrimSuffix(line, []byte("\r")))
		rest = after
	}
	return h
}

// head returns the beginning of s without consuming it.
func (s *Source) head() (Head, error) {
	b, err := s.Peek(headLen)
	if err != nil && err != io.EOF {
		return Head{}, err
	}
	return newHead(b, err == io.EOF), nil
}

// detect returns the format that the beginning of s looks like.
func detect(s *Source) (Format, error) {
	head, err := s.head()
	if err != nil {
		return Format{}, err
	}
	if what := recogniseForeign(head.Bytes); what != "" {
		return Format{}, s.Errorf("looks like %s, not a format that this version reads; name one with --input-format NAME (%s)",
			what, strings.Join(FormatNames(), ", "))
	}
	best, candidates := No, []Format(nil)
	for _, f := range formats {
		switch c := f.Detect(head, s.name); {
		case c > best:
			best, candidates = c, []Format{f}
		case c == best && c > No:
			candidates = append(candidates, f)
		}
	}
	switch len(candidates) {
	case 0:
		return Format{}, s.Errorf("looks like %s in no known trace format; name one with --input-format NAME (%s)",
			describe(head), strings.Join(FormatNames(), ", "))
	case 1:
		return candidates[0], nil
	}
	names := make([]string, len(candidates))
	for i, f := range candidates {
		names[i] = f.Name
	}
	return Format{}, s.Errorf("could be %s; name the right one with --input-format NAME", strings.Join(names, " or "))
}

// describe says in a few words what the beginning of an unknown file looks like.
func describe(h Head) string {
	if isBinary(h.Bytes) {
		return "binary data"
	}
	line, _, _ := bytes.Cut(h.Bytes, []byte("\n"))
	return fmt.Sprintf("text (%.60q)", line)
}

// isBinary says whether b holds control characters that no text has.
func isBinary(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return true
		}
	}
	return false
}

// foreign lists signatures of files that people have at hand and that are no traces for this program.
var foreign = []struct{ signature, what string }{
	{"{", "JSON"},
	{"[", "JSON"},
	{"PK\x03\x04", "a zip archive"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{"\x1f\x9d", "the compression of `compress`"},
	{"\x5d\x00\x00", "the compression of `lzma`"},
	{"LZIP", "the compression of `lzip`"},
	{"\x93NUMPY", "a NumPy array"},
	{"\x89HDF", "an HDF5 file"},
	{"SQLite format 3", "an SQLite database"},
	{"%PDF", "a PDF document"},
	{"\x7fELF", "a program"},
	{"<", "HTML or XML"},
}

// recogniseForeign returns what a file is that certainly is no trace, "" if it may be one.
func recogniseForeign(head []byte) string {
	text := bytes.TrimLeft(head, " \t\r\n")
	for _, f := range foreign {
		if bytes.HasPrefix(text, []byte(f.signature)) {
			return f.what
		}
	}
	return ""
}
