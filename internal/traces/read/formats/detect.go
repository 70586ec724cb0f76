package formats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/npy"
	"github.com/cachesim/cachesim/internal/traces/read/parquet"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// detect returns the format that the beginning of s looks like.
func detect(s *source.Source, head source.Head) (source.Format, error) {
	if len(bytes.TrimLeft(head.Bytes, "\r\n")) == 0 {
		return source.Format{}, s.Errorf("begins with only blank lines: want a trace (formats: %s)",
			suggest.List(Names()))
	}
	if len(head.Bytes) < len(parquet.Magic) && strings.HasPrefix(parquet.Magic, string(head.Bytes)) {
		return source.Format{}, s.Errorf("holds only %q, the first bytes of a Parquet file: the file is cut off",
			head.Bytes)
	}
	if log, ok := unreadableOf(head.Bytes); ok {
		return source.Format{}, s.Errorf("%w", log)
	}
	together := s.In.Together
	if together.Recognised.Has(head, s.FormatName) {
		return *together.Recognised.Format, nil
	}
	candidates, best := surest(head, s.FormatName)
	// Any first bytes may begin a binary trace, but text that looks like JSON is JSON.
	readsJSON := slices.ContainsFunc(candidates, func(f source.Format) bool { return f.JSON })
	if !readsJSON && (best < source.Likely || !source.IsBinary(head.Bytes)) {
		if err := checkForeign(s, head); err != nil {
			if log, ok := statisticsOf(head.Bytes); ok {
				err = s.Errorf("%w", log)
			}
			return source.Format{}, err
		}
	}
	isPlain := func(f source.Format) bool { return f.Name == "jsonl" }
	if !slices.ContainsFunc(candidates, func(f source.Format) bool { return !isPlain(f) }) {
		if log, ok := usageOf(head); ok {
			return source.Format{}, s.Errorf("%w", log)
		}
		if log, ok := statisticsOf(head.Bytes); ok && len(candidates) > 0 {
			return source.Format{}, s.Errorf("%w", log)
		}
	}
	isOfGin := bytes.Contains(head.Bytes, []byte("[GIN] ")) // lines of Ollama look like an access log, and are none
	isTable := func(f source.Format) bool {
		return f.Name == csvFormat.Name || f.Name == "plain" || isOfGin && f.Name == "access"
	}
	if !slices.ContainsFunc(candidates, func(f source.Format) bool { return !isTable(f) }) {
		if log, ok := statisticsOf(head.Bytes); ok {
			return source.Format{}, s.Errorf("%w", log)
		}
		if datedPattern(head.Lines) != "" {
			return source.Format{}, s.Errorf("looks like %s, which begins with a date and a time; let a regular expression "+
				"cut the lines: --input-format '%s'", describe(head), suggestPattern(head))
		}
	}
	switch len(candidates) {
	case 0:
		return source.Format{}, s.Errorf("looks like %s, but matches no known trace format; %s", describe(head), advice(head))
	case 1:
		together.Recognise(candidates[0], best, head)
		return candidates[0], nil
	}
	return source.Format{}, s.Errorf("could be %s; name the right one with --input-format NAME",
		strings.Join(namesOf(candidates), " or "))
}

// surest returns the formats with the greatest confidence about a file, and that confidence. Words and delimiters of
// other formats are also in JSON, so that only formats of JSON are asked about it.
func surest(head source.Head, name string) (candidates []source.Format, best source.Confidence) {
	return surestOf(formats(), head, name)
}

func surestOf(formats []source.Format, head source.Head, name string) (candidates []source.Format,
	best source.Confidence) {
	isJSON := source.NoTextTrace(head) != ""
	var fit []source.Format
	var sure []source.Confidence
	for _, f := range formats {
		if isJSON && !f.JSON {
			continue
		}
		if c := f.Detect(head, name); c > source.No {
			fit, sure = append(fit, f), append(sure, c)
		}
	}
	for i, f := range fit {
		if sure[i] < best || isLoose(f, fit, sure) {
			continue
		}
		if sure[i] > best {
			candidates = nil
		}
		candidates, best = append(candidates, f), sure[i]
	}
	return candidates, best
}

// isLoose reports whether a format that is data is wider than another candidate: any line fits it, or it fits the
// other's example and the other does not fit its own.
func isLoose(f source.Format, fit []source.Format, sure []source.Confidence) bool {
	if !f.Data {
		return false
	}
	for i, other := range fit {
		switch {
		case other.Name == f.Name:
			if sure[i] == source.Possible && len(fit) > 1 {
				return true
			}
		case sure[i] >= source.Likely && fits(f, other) && (!other.Data || !fits(other, f)):
			return true
		}
	}
	return false
}

// fits reports whether a format fits the example of another one.
func fits(f, other source.Format) bool {
	text := exampleOf(other)
	return text != "" && f.Detect(source.NewHead([]byte(text), true), "") > source.No
}

// checkNamed refuses a file that cannot be in the format that the user named, and says what it looks like instead.
// Binary data is in another binary format if its records match that one and not the named one. For a file that is
// read, checkNamed returns the formats that it looks more like, if there are any.
func checkNamed(s *source.Source, head source.Head, format source.Format) (rather []string, err error) {
	why := ""
	if format.Impossible != nil {
		why = format.Impossible(head)
	}
	if why == "" && format.NoRequests == "" && format.Detect(head, s.FormatName) == source.Certain {
		return nil, nil // no other format can be surer
	}
	others, sure := surest(head, s.FormatName)
	if sure == source.Certain && others[0].NoRequests != "" {
		_, _, err := others[0].Open(s, nil)
		return nil, err // which says what can be done with it
	}
	switch {
	case why != "":
		why += "; "
	case format.Binary && sure >= source.Likely && others[0].Binary &&
		format.Detect(head, s.FormatName) == source.No && !slices.ContainsFunc(others, format.ReadsFilesOf):
	case sure >= source.Likely && !slices.ContainsFunc(others, format.ReadsFilesOf):
		return namesOf(others), nil
	default:
		return nil, nil
	}
	looks := describe(head)
	if len(others) > 0 {
		looks = strings.Join(namesOf(others), " or ")
	}
	return nil, s.Errorf("is not in format %s: %sit looks like %s", format.Name, why, looks)
}

// checkWritten refuses a file that begins with nothing but zeros: it was never written to or lost its content.
func checkWritten(s *source.Source, head source.Head) error {
	if len(bytes.TrimLeft(head.Bytes, "\x00")) > 0 {
		return nil
	}
	return s.Errorf("has only zeros in its first %d bytes: want a trace; was the file written completely? If a log was "+
		"truncated while its server wrote on: tr -d '\\000' < FILE | cachesim run -", len(head.Bytes))
}

func namesOf(list []source.Format) []string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.Name
	}
	return names
}

func describe(h source.Head) string {
	if source.IsBinary(h.Bytes) {
		return "binary data"
	}
	line, _, _ := bytes.Cut(h.Bytes, []byte("\n"))
	return fmt.Sprintf("text (%.60q)", line)
}

const foreignJSON = "JSON"

// checkEncoding refuses text in UTF-16, with or without a byte order mark: of two bytes, one is 0.
func checkEncoding(s *source.Source, head source.Head) error {
	const (
		looked = 1 << 10
		fewest = 8 // bytes from which it is no accident
	)
	text := head.Bytes[:min(len(head.Bytes), looked)]
	for _, mark := range utf16Marks {
		text = bytes.TrimPrefix(text, []byte(mark))
	}
	for order, name := range []string{"UTF-16LE", "UTF-16BE"} {
		plain := 0
		for i := 0; i+1 < len(text); i += 2 {
			if low, high := text[i+order], text[i+1-order]; high == 0 && low > 0 && !source.IsBinary([]byte{low}) {
				plain++
			}
		}
		if len(text) >= fewest && plain >= len(text)/2*9/10 {
			return s.Errorf("is text in UTF-16, want UTF-8: iconv -f %s -t UTF-8 FILE | cachesim run -", name)
		}
	}
	return nil
}

// foreign lists signatures of common files that are not traces for this program.
var foreign = []struct {
	signature, what string
	packed          bool // it may contain a trace
}{
	{"{", foreignJSON, false},
	{"[", foreignJSON, false},
	{"<", "HTML or XML", false},
	{"%PDF", "a PDF document", false},
	{"\x7fELF", "a program", false},
	{npy.Magic, "a NumPy array", false},
	{"\x89HDF", "an HDF5 file", false},
	{"SQLite format 3", "an SQLite database", false},
	{"PK\x03\x04", "a zip archive", true},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive", true},
	{"\x1f\x9d", "the compression of `compress`", true},
	{"\x5d\x00\x00", "the compression of `lzma`", true},
	{"\x02\x21\x4c\x18", "the legacy compression of `lz4 -l`", true},
	{"LZIP", "the compression of `lzip`", true},
}

// utf16Marks are byte order marks before UTF-16, as which PowerShell writes what a command prints (> access.log).
var utf16Marks = []string{"\xff\xfe", "\xfe\xff"}

// beginsArray reports whether a text is JSON as far as it goes, rather than a log whose lines begin with a time in
// brackets.
func beginsArray(text []byte) bool {
	tokens := json.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := tokens.Token(); err != nil {
			return !errors.As(err, new(*json.SyntaxError))
		}
	}
}

// syslogPriority begins lines that a collector of logs took as they came: RFC 5424 section 6.2.1.
var syslogPriority = regexp.MustCompile(`^<\d{1,3}>`)

func checkForeign(s *source.Source, head source.Head) error {
	text := bytes.TrimLeft(head.Bytes, " \t\r\n")
	if slices.ContainsFunc(utf16Marks, func(mark string) bool { return bytes.HasPrefix(text, []byte(mark)) }) {
		return s.Errorf("is text in UTF-16, want UTF-8: iconv -f UTF-16 -t UTF-8 FILE | cachesim run -")
	}
	for _, f := range foreign {
		switch {
		case !bytes.HasPrefix(text, []byte(f.signature)), f.signature == "[" && !beginsArray(text),
			f.signature == "<" && syslogPriority.Match(text):
		case f.packed:
			return s.Errorf("looks like %s, which is not supported: unpack it, or compress it with gzip, zstd, xz, bzip2, "+
				"lz4, s2 or tar", f.what)
		case f.signature == npy.Magic:
			return s.Errorf("looks like %s, which has no requests: if it has their embeddings, name it with --embeddings, "+
				"after the trace", f.what)
		default:
			return s.Errorf("looks like %s, which is not a supported format%s", f.what,
				adviceJSON(s, f.what, f.signature))
		}
	}
	return nil
}

// Open recognises the format, unless spec names one, and starts to read. It records in reading how the file is read.
func Open(s *source.Source, spec string, reading *stream.Reading) (stream.Reader, stream.Fields, error) {
	if err := s.Unwrap(); err != nil {
		return nil, stream.Fields{}, err
	}
	reading.Container = s.Container
	format, opts, err := chooseFormat(s, spec, reading)
	if err == nil {
		err = chooseTenant(s, format, opts)
	}
	if err != nil {
		return nil, stream.Fields{}, err
	}
	s.Reading = reading
	reader, fields, err := format.Open(s, opts)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	source.Complete(s.Reading, format, opts, fields)
	s.Reading = s.In.Together.Join(s.Reading)
	if !format.Binary && !format.Whole {
		reader = source.SkippingBadLines(s, reader)
	}
	return reader, fields, nil
}

// chooseFormat returns the format that spec names, or the one that the content looks like.
func chooseFormat(s *source.Source, spec string, reading *stream.Reading) (source.Format, params.Values, error) {
	head, err := s.Head()
	if err == nil {
		err = cmp.Or(checkWritten(s, head), checkEncoding(s, head))
	}
	if err != nil {
		return source.Format{}, nil, err
	}
	if spec != "" {
		format, opts, err := namedFormat(s, spec)
		if err == nil && format.File == "" {
			reading.Rather, err = checkNamed(s, head, format)
		}
		return format, opts, err
	}
	format, err := detect(s, head)
	return format, params.Defaults(format.Options), err
}

// chooseTenant turns the requested column of tenants into an option of the format.
func chooseTenant(s *source.Source, format source.Format, opts params.Values) error {
	if s.In.Tenant == "" {
		return nil
	}
	chosen, ok := opts["tenant"]
	switch holds := func(f source.Format) bool { return f.Name == format.Name }; {
	case ok:
	case s.In.Labels:
		return s.Errorf("%s has no named columns to count hits by; tables, access logs, JSON lines, prompts in JSON and "+
			"logs of stores have them", format.Name)
	case slices.ContainsFunc(slices.Concat(files.Formats, groups()["devices"]), holds):
		return s.Errorf("holds reads of files, whose tenants are jobs or directories: write --tenant job, or " +
			"--tenant 'directory(depth=1)'")
	default:
		return s.Errorf("%s has no named columns, so none for tenants; tables, access logs and prompts in JSON have",
			format.Name)
	}
	if chosen == "" {
		opts["tenant"] = s.In.Tenant
	}
	return nil
}
