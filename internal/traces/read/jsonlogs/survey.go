package jsonlogs

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Bounds on what is examined before reading.
const (
	surveyedLines  = 2000
	surveyedFields = 300
	surveyedDepth  = 8
)

// surveyed is what the first lines have at a path.
type surveyed struct {
	path        path
	name        string // the path as text
	plain       string // the last name, as PlainName writes it
	first       value  // of the first line that has it
	nested      bool
	source.Seen // of the lines that have a text or a number there
}

// survey has the fields of the first lines, in the order in which they come.
type survey struct {
	fields []*surveyed
	places map[string]int
	json   source.JSONScanner
}

// newSurvey looks at the first lines of a file, without consuming them, up to one that is no object.
func newSurvey(src *source.Source) (*survey, error) {
	lines, err := firstLines(src)
	if err != nil {
		return nil, err
	}
	return surveyLines(lines), nil
}

func surveyLines(lines [][]byte) *survey {
	v := &survey{places: map[string]int{}}
	for _, line := range lines[:min(len(lines), surveyedLines)] {
		v.json.Reset(line)
		if v.object(nil) != nil {
			break
		}
	}
	return v
}

// firstLines returns the lines at the beginning of a file. If the first is longer than what is usually looked at, it is
// the only one.
func firstLines(src *source.Source) ([][]byte, error) {
	head, err := src.Head()
	if err == nil && len(head.Lines) == 0 {
		var b []byte
		if b, err = src.Peek(source.MaxLine); err == nil || err == io.EOF {
			head, err = source.NewHead(b, err == io.EOF), nil
		}
	}
	return source.WithoutBlankEnd(head.Lines), err
}

func (v *survey) object(at path) error {
	return v.json.Object(func(name []byte) error {
		return v.value(append(slices.Clip(at), step{string(name), field}))
	})
}

func (v *survey) value(at path) (err error) {
	if len(at) > surveyedDepth {
		return v.json.Skip()
	}
	found := value{kind: number}
	switch v.json.Peek() {
	case '{':
		v.at(at).nested = true
		return v.object(at)
	case '[':
		v.at(at).nested = true
		n := -1
		return v.json.Array(func() error {
			if n++; n > 0 { // the first stands for all: arrays differ in length
				return v.json.Skip()
			}
			return v.value(append(slices.Clip(at), step{index: n}))
		})
	case '"':
		found.kind = text
		found.text, err = v.json.String()
	case 't', 'f', 'n':
		return v.literal(at)
	default:
		found.text, err = v.json.Number()
	}
	if err == nil {
		v.at(at).see(found)
	}
	return err
}

// literal takes true or false; null says only that there is such a field.
func (v *survey) literal(at path) error {
	start := v.json.Pos
	err := v.json.Skip()
	if f := v.at(at); err == nil && f.first.kind == missing && v.json.Text[start] != 'n' {
		f.first = value{kind: truth, text: v.json.Text[start:v.json.Pos]}
	}
	return err
}

// at returns what is known of a path. Paths beyond those that are kept share a field that nobody sees.
func (v *survey) at(p path) *surveyed {
	name := p.String()
	i, known := v.places[name]
	switch {
	case known:
		return v.fields[i]
	case len(v.fields) == surveyedFields:
		return new(surveyed)
	}
	v.places[name] = len(v.fields)
	f := &surveyed{path: slices.Clone(p), name: name, plain: source.PlainName(p.last())}
	v.fields = append(v.fields, f)
	return f
}

func (f *surveyed) see(found value) {
	if f.first.kind == missing {
		f.first = value{found.kind, slices.Clone(found.text)}
	}
	f.See(found.text)
}

// field returns what is known of a path, nil if no line has it.
func (v *survey) field(name string) *surveyed {
	if i, ok := v.places[name]; ok {
		return v.fields[i]
	}
	return nil
}

func (v *survey) names() (names []string) {
	for _, f := range v.fields {
		if f.first.kind != missing {
			names = append(names, f.name)
		}
	}
	return names
}

// keys returns the fields that may be a key, best first: known names, and more distinct values.
func (v *survey) keys() (keys []*surveyed) {
	for _, f := range v.fields {
		if f.Rows > 0 && f.MayBeKey(f.plain, f.inside()) && f.isKey() {
			keys = append(keys, f)
		}
	}
	rank := func(f *surveyed) int {
		if known := slices.Index(source.KeyNames, f.plain); known >= 0 {
			return known
		}
		return len(source.KeyNames)
	}
	slices.SortStableFunc(keys, func(a, b *surveyed) int {
		return cmp.Or(rank(a)-rank(b), len(b.Distinct)-len(a.Distinct))
	})
	return keys
}

// inside returns the name of the object that a field is in, "" for a field of the line.
func (f *surveyed) inside() string {
	for i := len(f.path) - 2; i >= 0; i-- {
		if f.path[i].name != "" {
			return f.path[i].name
		}
	}
	return ""
}

// isKey reports whether all values are texts or whole numbers, and the name is not known for something else.
func (f *surveyed) isKey() bool {
	_, number := stream.ParseFloatNumber(f.first.text)
	if f.first.kind != text && !number {
		return false
	}
	for _, option := range []string{"time", "size", "op", "ttl", "served"} {
		if slices.Contains(source.KnownNames(option), f.plain) {
			return false
		}
	}
	return true
}

// named returns the field with a name that is known for an option, whose values fit; nil without one. The one nearest
// to the top wins.
func (v *survey) named(option string, fits func(*surveyed) bool) (best *surveyed) {
	for _, f := range v.fields {
		if f.Rows == 0 || !slices.Contains(source.KnownNames(option), f.plain) || !fits(f) {
			continue
		}
		if best == nil || len(f.path) < len(best.path) {
			best = f
		}
	}
	return best
}

// wrapper returns the path of a field that has lines of an access log, or of JSON, which a collector of logs put there;
// "" without one.
func (v *survey) wrapper() string {
	for _, f := range v.fields {
		content := source.TrimBlanks(f.first.text)
		if f.first.kind == text && (isRequestLine(content) || bytes.HasPrefix(content, []byte("{\""))) {
			return f.name
		}
	}
	return ""
}

// mostSuggested fields are named in an error.
const mostSuggested = 6

// suggestion returns the option that reads the file, ready to paste, and other fields that may be the key; "" if no
// field may be one.
func (v *survey) suggestion(format string) (option string, others []string) {
	keys := v.keys()
	if len(keys) == 0 {
		return "", nil
	}
	option = format + ":key=" + keys[0].name
	if f := v.named("time", func(f *surveyed) bool { return f.Times == f.Rows }); f != nil {
		option += ",time=" + f.name
	}
	if f := v.named("size", func(f *surveyed) bool { return f.Wholes == f.Rows }); f != nil {
		option += ",size=" + f.name
	}
	for _, f := range keys[1:min(len(keys), mostSuggested)] {
		others = append(others, f.name)
	}
	if strings.Contains(option, "'") {
		return `--input-format "` + strings.ReplaceAll(option, `"`, `\"`) + `"`, others
	}
	return "--input-format '" + option + "'", others
}
