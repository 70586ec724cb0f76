package weblogs

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var accessFormat = source.Format{
	Name: "access",
	Options: append(RuleOptions(),
		params.Param{Name: "format-file", Default: "", File: true, Doc: "a file with the format, as for format"},
		params.Param{Name: "format", Default: "", Rest: true, Doc: "the server's own log_format (nginx) or LogFormat " +
			"(Apache), pasted as it is, as the last option; or common, combined, vhost_common or vhost_combined; by " +
			"default what the first lines look like"},
	),
	Writes: stream.WritesInvalidate,
	Detect: detectAccess,
	Open:   openAccess,
}

// longestFormat bounds a file with a format, in bytes.
const longestFormat = 64 << 10

func openAccess(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	if err := CheckRules(opts); err != nil {
		return nil, stream.Fields{}, src.Errorf("%w", err)
	}
	text, about, err := chosenFormat(src, opts)
	if err == nil && text == "" {
		text, about, err = recognisedFormat(src)
		opts["format"] = text
	}
	if err != nil {
		return nil, stream.Fields{}, err
	}
	l, err := compile(text)
	if option := optionBehind.FindString(text); err == nil && option != "" {
		err = fmt.Errorf("it ends with %q: name other options before it, as in access:%s,format=FORMAT", option, option[1:])
	}
	if err != nil {
		return nil, stream.Fields{}, src.Errorf("format %.200q: %w", text, err)
	}
	return openLayout(src, opts, l, description{about: about})
}

// optionBehind is an option behind the format, which would include it.
var optionBehind = regexp.MustCompile(`,(?:query|host|uncached|methods|statuses|tenant|format-file)=[^,$%]*$`)

// chosenFormat returns the format that the options name, and what people should know about it; "" if they name none.
func chosenFormat(src *source.Source, opts params.Values) (text, about string, err error) {
	text, path := opts.Text("format"), opts.Text("format-file")
	switch {
	case text != "" && path != "":
		return "", "", src.Errorf("format and format-file are both given: leave one out")
	case path != "":
		text, err = readFormat(src, path)
	}
	if _, ok := nicknames[text]; ok {
		return text, text, nil
	}
	return text, "the given format", err
}

func readFormat(src *source.Source, path string) (string, error) {
	text, err := src.ReadBeside(path, "format", func(file *source.Source) (any, error) {
		text, err := io.ReadAll(io.LimitReader(file, longestFormat+1))
		if err == nil && len(text) > longestFormat {
			err = file.Errorf("is longer than %d bytes: want the log_format or the LogFormat alone", longestFormat)
		}
		return strings.TrimSpace(string(text)), err
	})
	if err != nil {
		return "", err
	}
	return text.(string), nil
}

// recognisedFormat returns the format that the first lines have, and what people should know about it. Files that are
// read together have that of the first if it fits: a short one may not show what a column is for.
func recognisedFormat(src *source.Source) (text, about string, err error) {
	head, err := src.Head()
	if err != nil {
		return "", "", err
	}
	first := src.Shared("format of access logs", func() any { return new(common) }).(*common)
	if l, err := compile(first.format); err == nil {
		if _, fits := bestLayout([]*layout{l}, head.Lines); fits {
			return first.format, first.about, nil
		}
	}
	c, err := recogniseCommon(head.Lines)
	if err != nil {
		return "", "", src.Errorf("%w", err)
	}
	if first.format == "" {
		*first = c
	}
	return c.format, c.about, nil
}

// logReader reads the requests of a log whose lines have one layout.
type logReader struct {
	parser parser
	rules  *Rules
}

// description says what people should know about a layout.
type description struct {
	about string // which one it is of those that a format may have; "" if there is only one
	key   string // what the key is if it is not host and path
}

// openLayout returns the reader of a log with a layout.
func openLayout(src *source.Source, opts params.Values, l *layout, d description) (stream.Reader, stream.Fields,
	error) {
	head, err := src.Head()
	if err != nil {
		return nil, stream.Fields{}, err
	}
	r := &logReader{parser: parser{layout: l}}
	columns := l.columns()
	columns.Host = columns.Host || slices.ContainsFunc(head.Lines, func(line []byte) bool {
		return r.parser.parse(line) == nil && r.parser.entry.hasURL()
	})
	if r.rules, err = NewRules(src, opts, columns); err != nil {
		return nil, stream.Fields{}, err
	}
	l.state(src.Reading, d)
	return source.ReadLines(src, r.parse), r.rules.Fields(), nil
}

func (r *logReader) parse(line []byte, rec *stream.Record) error {
	if err := r.parser.parse(line); err != nil {
		if isMessage(line) {
			return r.rules.LeaveOut(messages)
		}
		return err
	}
	return r.rules.Record(&r.parser.entry, rec)
}

func (l *layout) state(reading *stream.Reading, d description) {
	reading.Layout = d.about
	if d.key != "" {
		reading.Key = strings.Replace(reading.Key, "host and path", d.key, 1)
	}
	if l.has(allBytes) {
		reading.Size, reading.HeadersInSize = "size with headers", true
	}
	if l.columns().Served {
		reading.Served = "hit or miss of the server"
	}
}
