package traces

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// headLen is how many bytes of a file detection looks at.
const headLen = 64 << 10

// Head is the beginning of a file, for detection.
type Head struct {
	Bytes []byte
	Lines [][]byte // the whole lines without their breaks
}

// newHead splits the beginning of a file into lines; whole says that the file ends with it.
func newHead(b []byte, whole bool) Head {
	h := Head{Bytes: b}
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
	if len(bytes.TrimLeft(head.Bytes, "\r\n")) == 0 {
		return Format{}, s.Errorf("begins with nothing but blank lines: want a trace (formats: %s)", strings.Join(FormatNames(), ", "))
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
	// Any first bytes may begin a binary trace, but what looks like text and like JSON is JSON.
	readsJSON := slices.ContainsFunc(candidates, func(f Format) bool { return f.JSON })
	if !readsJSON && (best < Likely || !isBinary(head.Bytes)) {
		if err := s.checkForeign(head); err != nil {
			return Format{}, err
		}
	}
	switch len(candidates) {
	case 0:
		return Format{}, s.Errorf("looks like %s in no known trace format; name one with --input-format NAME (%s)%s",
			describe(head), strings.Join(FormatNames(), ", "), hint(head))
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

// hint says how lines of text, which no format claims, may be read all the same.
func hint(h Head) string {
	if isBinary(h.Bytes) {
		return ""
	}
	return "; if each line is a query in words: --input-format text"
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
var foreign = []struct {
	signature, what string
	packed          bool // a trace may be in it
}{
	{"{", "JSON", false},
	{"[", "JSON", false},
	{"<", "HTML or XML", false},
	{"%PDF", "a PDF document", false},
	{"\x7fELF", "a program", false},
	{npyMagic, "a NumPy array", false},
	{"\x89HDF", "an HDF5 file", false},
	{"SQLite format 3", "an SQLite database", false},
	{"PK\x03\x04", "a zip archive", true},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive", true},
	{"\x1f\x9d", "the compression of `compress`", true},
	{"\x5d\x00\x00", "the compression of `lzma`", true},
	{"\x02\x21\x4c\x18", "the legacy compression of `lz4 -l`", true},
	{"LZIP", "the compression of `lzip`", true},
}

// certainIf makes a Detect of what only one format looks like.
func certainIf(looksSo func(Head) bool) func(Head, string) Confidence {
	return func(head Head, _ string) Confidence {
		if looksSo(head) {
			return Certain
		}
		return No
	}
}

// looksLikeJSON says whether the file begins with a JSON object that has fields of these names.
func looksLikeJSON(head Head, names ...string) bool { return beginsLikeJSON(head, "{", names) }

// looksLikeJSONArray says whether the file begins with a JSON array in which are fields of these names.
func looksLikeJSONArray(head Head, names ...string) bool { return beginsLikeJSON(head, "[", names) }

func beginsLikeJSON(head Head, bracket string, names []string) bool {
	if !bytes.HasPrefix(bytes.TrimLeft(head.Bytes, " \t\r\n"), []byte(bracket)) {
		return false
	}
	for _, name := range names {
		if !bytes.Contains(head.Bytes, []byte(`"`+name+`"`)) {
			return false
		}
	}
	return true
}

// checkForeign returns an error that says what the file is if it certainly is no trace.
func (s *Source) checkForeign(head Head) error {
	text := bytes.TrimLeft(head.Bytes, " \t\r\n")
	for _, f := range foreign {
		switch {
		case !bytes.HasPrefix(text, []byte(f.signature)):
		case f.packed:
			return s.Errorf("looks like %s, which is not read here: unpack it, or pack it with gzip, zstd, xz, bzip2, lz4, s2 or tar", f.what)
		case f.signature == npyMagic:
			return s.Errorf("looks like %s, which holds no requests: if it holds their embeddings, name it with --embeddings, after the trace", f.what)
		default:
			return s.Errorf("looks like %s, not a format that this version reads; name one with --input-format NAME (%s)",
				f.what, strings.Join(FormatNames(), ", "))
		}
	}
	return nil
}
