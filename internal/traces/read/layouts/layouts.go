// Package layouts makes trace formats from files of data. A file says how the lines or records of a log are laid out,
// what each field says of a request, and has examples with the requests that they are.
package layouts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// File is what a file says of a format.
type File struct {
	Name      string `yaml:"name"`
	Group     string `yaml:"group"`     // where the list of formats has it
	Summary   string `yaml:"summary"`   // what writes it, and what a line looks like
	Source    string `yaml:"source"`    // where it is described
	Detection string `yaml:"detection"` // what it is recognised by
	Writes    string `yaml:"writes"`    // what writes do to a cache, unless the user says otherwise
	Notes     string `yaml:"notes"`     // what a user should know beyond that, in Markdown
	Reads     *Reads `yaml:"reads"`     // lines are reads of files or devices, not requests for objects

	Layouts []Layout `yaml:"layouts"`
	// Examples follow everything else, so that they are only parsed where they are needed.
	Examples []Example `yaml:"examples"`

	Path string `yaml:"-"` // of the file
	body ast.Node
}

// Reads are defaults of reads of files.
type Reads struct {
	Block int    `yaml:"block"` // KiB
	Job   string `yaml:"job"`   // who reads, in words
	Path  string `yaml:"path"`  // of the only file; "" where fields name it
}

// Layout is how lines or records are laid out.
type Layout struct {
	Columns string `yaml:"columns"` // lines of columns, with this separator: comma, tab, space, ...
	Header  string `yaml:"header"`  // optional, required: a first line names the columns
	More    bool   `yaml:"more"`    // further columns may follow, which are not read
	Trim    bool   `yaml:"trim"`    // blanks around columns do not count
	// Sure is how sure it is that lines that fit are in this format: likely, or a check of what they have in common.
	Sure   string  `yaml:"sure"`
	Fields []Field `yaml:"fields"`
}

// Example is text in a format, and the requests that it is.
type Example struct {
	Text    string    `yaml:"text"`
	Options string    `yaml:"options"` // with which it is read; if there are any, the format is named and not recognised
	File    string    `yaml:"file"`    // its name, where that says what it is
	Gives   []Request `yaml:"gives"`
}

// Request is what an example has to give. Fields that a log does not state are empty.
type Request struct {
	Time   Scalar `yaml:"time"` // seconds
	Key    Scalar `yaml:"key"`
	Size   Scalar `yaml:"size"` // of key and value, or unknown
	Op     Scalar `yaml:"op"`
	TTL    Scalar `yaml:"ttl"` // seconds
	Served Scalar `yaml:"served"`
	Tenant Scalar `yaml:"tenant"`
	// Of a read of a file:
	Path   Scalar `yaml:"path"`
	Offset Scalar `yaml:"offset"`
	Length Scalar `yaml:"length"`
	Job    Scalar `yaml:"job"`
}

// Scalar is a value as it is written.
type Scalar string

func (s *Scalar) UnmarshalYAML(text []byte) error {
	if len(text) > 0 && (text[0] == '"' || text[0] == '\'') {
		return yaml.Unmarshal(text, (*string)(s))
	}
	*s = Scalar(text)
	return nil
}

// texts are one text or several.
type texts []string

func (t *texts) UnmarshalYAML(decode func(any) error) error {
	var several []string
	if decode(&several) == nil {
		*t = several
		return nil
	}
	var one string
	if err := decode(&one); err != nil {
		return err
	}
	*t = texts{one}
	return nil
}

func (t texts) has(word []byte) bool {
	for _, text := range t {
		if text == string(word) {
			return true
		}
	}
	return false
}

// MaxBytes is how large a file of a format may be.
const MaxBytes = 256 << 10

// ParseHead is Parse without the examples.
func ParseHead(path string, text []byte) (*File, error) {
	head, _, _ := bytes.Cut(text, []byte("\nexamples:"))
	return decode(path, head)
}

// Parse reads the text of a file. Errors name the file, the line and the field.
func Parse(path string, text []byte) (*File, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%s: has %d bytes; the file of a format may have %d", path, len(text), MaxBytes)
	}
	if line := deepLine(text); line > 0 {
		return nil, fmt.Errorf("%s:%d: is nested too deep; want at most %d levels", path, line, maxNesting)
	}
	return decode(path, text)
}

// maxNesting is how deep brackets, or indented dashes, may be nested: the YAML library needs the square of it.
const maxNesting = 100

// deepLine returns the first line that is nested too deep, judging by all brackets; 0 if there is none.
func deepLine(text []byte) int {
	brackets := 0
	for i, line := range bytes.Split(text, []byte("\n")) {
		brackets += bytes.Count(line, []byte("[")) + bytes.Count(line, []byte("{"))
		indent := len(line) - len(bytes.TrimLeft(line, "- ?"))
		if brackets > maxNesting || indent > 2*maxNesting {
			return i + 1
		}
		brackets = max(0, brackets-bytes.Count(line, []byte("]"))-bytes.Count(line, []byte("}")))
	}
	return 0
}

func decode(path string, text []byte) (*File, error) {
	f := &File{Path: path}
	parsed, err := parser.ParseBytes(text, 0)
	if err == nil && (len(parsed.Docs) != 1 || parsed.Docs[0].Body == nil) {
		err = errors.New("want one YAML document with name, layouts and examples")
	}
	if err == nil {
		f.body = parsed.Docs[0].Body
		err = yaml.NodeToValue(f.body, f, yaml.Strict())
	}
	var at yaml.Error
	switch {
	case errors.As(err, &at) && at.GetToken() != nil:
		return nil, fmt.Errorf("%s:%d: %s", path, at.GetToken().Position.Line, strings.ReplaceAll(at.GetMessage(), "\n", " "))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// errorAt returns err with the file and the line of a value.
func (f *File) errorAt(yamlPath, what string, err error) error {
	line := 1
	if p, wrong := yaml.PathString(yamlPath); wrong == nil {
		if node, wrong := p.FilterNode(f.body); wrong == nil && node != nil {
			line = firstLine(node)
		}
	}
	return fmt.Errorf("%s:%d: %s%w", f.Path, line, what, err)
}

// firstLine returns the line on which a value begins. The token of a mapping is a colon within it.
func firstLine(node ast.Node) int {
	if m, ok := node.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken().Position.Line
	}
	return node.GetToken().Position.Line
}

// Example returns the first example, "" if there is none.
func (f *File) Example() string {
	if len(f.Examples) == 0 {
		return ""
	}
	return strings.TrimSuffix(f.Examples[0].Text, "\n")
}

var isName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`).MatchString

// Format returns the format that the file describes.
func (f *File) Format() (source.Format, error) {
	format := source.Format{Name: f.Name, Summary: f.Summary, Detection: f.Detection}
	if !isName(f.Name) {
		return format, f.errorAt("$.name", "", fmt.Errorf("name %q: want small letters, digits and -", f.Name))
	}
	if f.Writes != "" {
		writes, err := stream.ParseWrites(f.Writes)
		if err != nil {
			return format, f.errorAt("$.writes", "", err)
		}
		format.Writes = writes
	}
	if len(f.Layouts) == 0 {
		return format, f.errorAt("$", "", errors.New("no layouts: want at least one, such as "+
			"{columns: comma, fields: [{name: time, is: time, unit: s}, {name: url, is: key}]}"))
	}
	var t table
	for i := range f.Layouts {
		l, err := f.compile(i)
		if err != nil {
			return format, err
		}
		t = append(t, l)
	}
	format.Options, format.Detect, format.Carries, format.Open = t.options(), t.detect, t.carries(), t.open
	if f.Reads != nil {
		format.Options = files.DeviceOptions(f.Reads.Block, f.Reads.Job)
		format.Carries = t.reads()
		format.Open = func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
			return t.openReads(src, opts, []byte(f.Reads.Path))
		}
	}
	return format, nil
}

// compile returns a layout.
func (f *File) compile(i int) (*layout, error) {
	spec := &f.Layouts[i]
	here := fmt.Sprintf("$.layouts[%d]", i)
	fail := func(err error) (*layout, error) { return nil, f.errorAt(here, fmt.Sprintf("layout %d: ", i+1), err) }
	l := &layout{further: spec.More, trim: spec.Trim, header: spec.Header != "", headed: spec.Header == "required"}
	if !slices.Contains([]string{"", "optional", "required"}, spec.Header) {
		return fail(fmt.Errorf("header %q: want optional or required", spec.Header))
	}
	for _, d := range source.Delimiters {
		if d.Name == spec.Columns {
			l.delimiter = d.Char
		}
	}
	if l.delimiter == 0 {
		return fail(suggest.Unknown("separator of columns", spec.Columns, source.DelimiterNames()[1:]))
	}
	for j := range spec.Fields {
		field := &spec.Fields[j]
		c, err := field.compile()
		if err == nil && l.optional > 0 && !field.Optional {
			err = errors.New("follows an optional field: want optional: true here, too")
		}
		if err != nil {
			return nil, f.errorAt(fmt.Sprintf("%s.fields[%d]", here, j), fmt.Sprintf("field %q: ", field.Name), err)
		}
		if field.Optional {
			l.optional++
		}
		l.columns = append(l.columns, c)
	}
	if needed := cmp.Or(f.Reads != nil && f.Reads.Path != "", slices.ContainsFunc(l.columns, isPart(aKey))); !needed {
		return fail(errors.New("no field is the key: want one with is: key, or is: path of a read"))
	}
	if spec.Sure == "" {
		l.sure = l.byTypes()
		return l, nil
	}
	sure, known := checks[spec.Sure]
	if !known {
		return fail(suggest.Unknown("check", spec.Sure, slices.Sorted(maps.Keys(checks))))
	}
	if spec.Sure == "sectors" && (l.at(aTime) < 0 || l.length() < 0) {
		return fail(errors.New("sure: sectors needs a time and a length"))
	}
	l.sure = func(head source.Head, name string) source.Confidence { return sure(l, head, name) }
	return l, nil
}

// byTypes says how sure it is that lines that fit a layout are in it: certain if a field tells it from others, and
// otherwise only possible.
func (l *layout) byTypes() func(source.Head, string) source.Confidence {
	sure := source.Possible
	if slices.ContainsFunc(l.columns, func(c column) bool { return c.telling }) {
		sure = source.Certain
	}
	return func(source.Head, string) source.Confidence { return sure }
}
