package source

import (
	"bytes"
	"cmp"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// shortName shortens the name of a column for a line, and quotes it if it is not a plain word.
func shortName(name string) string {
	if len(name) > maxChoice {
		name = strings.ToValidUTF8(name[:maxChoice], "") + "..."
	}
	if isPlainChoice(name) {
		return name
	}
	return strconv.Quote(name)
}

// NewReading returns the reading of an input when only the compression is known.
func NewReading(in *File, compression string) *stream.Reading {
	name := filepath.Base(in.Path)
	if in.Path == "-" {
		name = in.Label
	}
	return &stream.Reading{Name: name, From: in, Compression: compression}
}

// Complete fills in what Open left open, from the fields and the options.
func Complete(r *stream.Reading, format Format, opts params.Values, fields stream.Fields) {
	r.Format, r.Spec, r.Writes = format.Name, Spec(format, opts), format.Writes
	switch {
	case fields.Kind != nil && fields.Kind.Request() != "":
		r.Request = fields.Kind.Request()
	case r.Request == "":
		r.Key = cmp.Or(r.Key, "key")
	}
	for _, has := range []struct {
		field bool
		to    *string
		name  string
	}{{fields.Time, &r.Time, "time"}, {fields.Size, &r.Size, "size"}, {fields.Op, &r.Op, "op"},
		{fields.TTL, &r.TTL, "ttl"}, {fields.Served, &r.Served, "served"}} {
		if has.field {
			*has.to = cmp.Or(*has.to, has.name)
		}
	}
	if fields.Counted && !fields.Time {
		r.Time = "no time"
	}
	if name, ok := strings.CutPrefix(r.Tenant, "tenant"); ok {
		if in, ok := r.From.(*File); ok && in.Labels {
			r.Tenant = "label" + name
		}
	}
}

// Spec writes a format with the options that differ from their defaults.
func Spec(format Format, opts params.Values) string {
	var changed []string
	for _, p := range format.Options {
		if opts[p.Name] != p.Default {
			changed = append(changed, p.Name+"="+params.Quote(opts[p.Name]))
		}
	}
	name := cmp.Or(format.File, format.Name)
	if len(changed) == 0 {
		return name
	}
	return name + ":" + strings.Join(changed, ",")
}

// Together is shared by files that are read together.
type Together struct {
	numbered int               // files, and members of archives, numbered so far
	readings []*stream.Reading // how they were read, each way once
	shared   map[string]any    // what ReadBeside read and Shared created

	// Recognised is what the content of one of the files was recognised as.
	Recognised Recognised
}

// Recognised says how a file was recognised, so that further files like it are recognised without asking all formats.
type Recognised struct {
	Format *Format // nil before the first
	Sure   Confidence
	mask   []byte // of its lines
}

// Recognise remembers the format of a file.
func (t *Together) Recognise(format Format, sure Confidence, head Head) {
	t.Recognised = Recognised{Format: &format, Sure: sure, mask: linesMask(sure, head)}
}

// linesMask returns the first line with a 0 for each run of digits: the keys of files that are written alike differ in
// numbers. If the format is a guess, other lines follow that differ in more.
func linesMask(sure Confidence, head Head) (mask []byte) {
	lines := WithoutBlankEnd(head.Lines)
	if len(lines) == 0 {
		return nil
	}
	mask = maskDigits(nil, lines[0])
	if sure >= Likely {
		return mask
	}
	first := mask
	var other []byte
	for _, line := range lines[1:] {
		if other = maskDigits(other[:0], line); !bytes.Equal(other, first) {
			mask = append(append(mask, '\n'), other...)
		}
	}
	return mask
}

// maskDigits appends a line with a 0 for each run of digits.
func maskDigits(to, line []byte) []byte {
	within := false
	for _, c := range line {
		digit := c >= '0' && c <= '9'
		switch {
		case !digit:
			to = append(to, c)
		case !within:
			to = append(to, '0')
		}
		within = digit
	}
	return to
}

// Has reports whether a file is as surely in the same format. It has the format's signature, or its first line is like
// the other file's except for numbers. If the format was a guess, all other lines must be alike, too.
func (r *Recognised) Has(head Head, name string) bool {
	if r.Format == nil || r.Sure < Certain && !bytes.Equal(linesMask(r.Sure, head), r.mask) {
		return false
	}
	return r.Format.Detect(head, name) == r.Sure
}

// Shared returns what files that are read together share under a name. The first of them creates it.
func (s *Source) Shared(name string, create func() any) any {
	made, _ := s.In.Together.share("shared "+name, func() (any, error) { return create(), nil })
	return made
}

func (t *Together) share(name string, create func() (any, error)) (any, error) {
	if known, ok := t.shared[name]; ok {
		return known, nil
	}
	made, err := create()
	if err != nil {
		return nil, err
	}
	if t.shared == nil {
		t.shared = map[string]any{}
	}
	t.shared[name] = made
	return made, nil
}

// Join returns the reading to use for a file: an earlier equal one, or r itself.
func (t *Together) Join(r *stream.Reading) *stream.Reading {
	for _, earlier := range t.readings {
		if earlier.Spec == r.Spec && earlier.Text() == r.Text() {
			earlier.Files++
			if earlier.From != r.From {
				earlier.Paths++
			}
			earlier.From = r.From
			earlier.Add(r)
			return earlier
		}
	}
	if len(t.readings) == mostReadingsKept {
		last := t.readings[mostReadingsKept-1]
		last.Add(r)
		return last
	}
	r.Files, r.Paths = 1, 1
	t.readings = append(t.readings, r)
	return r
}

func (t *Together) List() []stream.Reading {
	all := make([]stream.Reading, len(t.readings))
	for i, r := range t.readings {
		all[i] = *r
		all[i].From = nil // would keep the file in memory
	}
	return all
}

// mostReadingsKept is how many ways of reading are remembered: more than anybody looks at, and then no single format
// reads all of them.
const mostReadingsKept = 64
