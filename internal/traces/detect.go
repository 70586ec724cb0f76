package traces

import (
	"bytes"
	"encoding/json"
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

// detect returns the format that s looks like by its beginning.
func detect(s *Source, head Head) (Format, error) {
	if len(bytes.TrimLeft(head.Bytes, "\r\n")) == 0 {
		return Format{}, s.Errorf(
			"begins with nothing but blank lines: want a trace (formats: %s)",
			strings.Join(FormatNames(), ", "),
		)
	}
	if len(head.Bytes) < len(parquetMagic) && strings.HasPrefix(parquetMagic, string(head.Bytes)) {
		return Format{}, s.Errorf("holds %q and nothing else, with which Parquet begins: the file is cut off",
			head.Bytes)
	}
	candidates, best := surest(head, s.name)
	// Any first bytes may begin a binary trace, but what looks like text and like JSON is JSON.
	readsJSON := slices.ContainsFunc(candidates, func(f Format) bool { return f.JSON })
	if !readsJSON && (best < Likely || !isBinary(head.Bytes)) {
		if err := s.checkForeign(head); err != nil {
			return Format{}, err
		}
	}
	switch len(candidates) {
	case 0:
		return Format{}, s.Errorf("looks like %s in no known trace format; %s", describe(head), advice(head))
	case 1:
		return candidates[0], nil
	}
	return Format{}, s.Errorf("could be %s; name the right one with --input-format NAME",
		strings.Join(namesOf(candidates), " or "))
}

// surest returns the formats that are surest of a file, and how sure.
func surest(head Head, name string) (candidates []Format, best Confidence) {
	for _, f := range formats {
		switch c := f.Detect(head, name); {
		case c > best:
			best, candidates = c, []Format{f}
		case c == best && c > No:
			candidates = append(candidates, f)
		}
	}
	return candidates, best
}

// checkNamed refuses a file that cannot be in the format that the user named, and says what it looks like instead.
// Binary data is in another binary format if its records say so and those of the named one do not.
func (s *Source) checkNamed(head Head, format Format) error {
	if format.Impossible == nil {
		return nil
	}
	why := format.Impossible(head)
	others, sure := surest(head, s.name)
	switch {
	case why != "":
		why += "; "
	case format.Binary && sure >= Likely && others[0].Binary && format.Detect(head, s.name) == No:
	default:
		return nil
	}
	looks := describe(head)
	if len(others) > 0 {
		looks = strings.Join(namesOf(others), " or ")
	}
	return s.Errorf("is no %s trace: %sit looks like %s", format.Name, why, looks)
}

// checkWritten refuses a file that begins with zeros alone, as one that was never written to or lost its content.
func (s *Source) checkWritten(head Head) error {
	if len(bytes.TrimLeft(head.Bytes, "\x00")) > 0 {
		return nil
	}
	return s.Errorf("holds nothing but zeros in its first %d bytes: want a trace; was the file written to its end?",
		len(head.Bytes))
}

// noTextTrace says why lines are none of a text format that would take any word for a key: they are JSON.
func noTextTrace(head Head) string {
	if len(head.Lines) == 0 || !bytes.HasPrefix(head.Lines[0], []byte("{")) || !json.Valid(head.Lines[0]) {
		return ""
	}
	return "line 1 is JSON"
}

// namesOf returns the names of formats.
func namesOf(list []Format) []string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.Name
	}
	return names
}

// describe says in a few words what the beginning of an unknown file looks like.
func describe(h Head) string {
	if isBinary(h.Bytes) {
		return "binary data"
	}
	line, _, _ := bytes.Cut(h.Bytes, []byte("\n"))
	return fmt.Sprintf("text (%.60q)", line)
}

// adviceJSON names the formats that can read JSON in which nothing was recognised, "" for what is none.
func adviceJSON(what string) string {
	if what != foreignJSON {
		return ""
	}
	var names []string
	for _, f := range formats {
		if f.JSON {
			names = append(names, f.Name)
		}
	}
	return fmt.Sprintf("; name one with --input-format NAME (%s)", strings.Join(names, ", "))
}

// advice names the formats that can read a file which none claims.
func advice(head Head) string {
	binary := isBinary(head.Bytes)
	var possible []string
	for _, f := range formats {
		if f.Binary == binary && !f.JSON && f.Name != textFormat.Name && (f.Impossible == nil ||
			f.Impossible(head) == "") {
			possible = append(possible, f.Name)
		}
	}
	switch {
	case !binary:
		return fmt.Sprintf(
			"name one with --input-format NAME (%s); if each line is a query in words: --input-format text",
			strings.Join(possible, ", "),
		)
	case len(possible) > 0:
		return fmt.Sprintf("if it is one all the same, name it: --input-format %s", strings.Join(possible, " or "))
	}
	return "none of the binary formats that are read here fits: convert it to text or Parquet first"
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

// foreignJSON is what foreign calls JSON.
const foreignJSON = "JSON"

// foreign lists signatures of files that people have at hand and that are no traces for this program.
var foreign = []struct {
	signature, what string
	packed          bool // a trace may be in it
}{
	{"{", foreignJSON, false},
	{"[", foreignJSON, false},
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
			return s.Errorf("looks like %s, which is not read here: unpack it, or pack it with gzip, zstd, xz, bzip2, lz4, s2 "+
				"or tar", f.what)
		case f.signature == npyMagic:
			return s.Errorf("looks like %s, which holds no requests: if it holds their embeddings, name it with --embeddings, "+
				"after the trace", f.what)
		default:
			return s.Errorf("looks like %s, not a format that is read here%s", f.what, adviceJSON(f.what))
		}
	}
	return nil
}
