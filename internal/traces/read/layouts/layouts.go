// Package layouts makes trace formats from files of data. A file has the layout of the lines or records of a log, the
// role of each field in a request, and examples with their requests.
package layouts

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/base/yamlhint"
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
	Carries   string `yaml:"carries"`   // what records have, unless the fields say it
	Notes     string `yaml:"notes"`     // what a user should know beyond that, in Markdown
	Reads     *Reads `yaml:"reads"`     // lines are reads of files or devices, not requests for objects

	Layouts  []Layout  `yaml:"layouts"`
	Examples []Example `yaml:"examples"`

	Path string `yaml:"-"` // of the file
	root ast.Node
}

// Reads are defaults of reads of files.
type Reads struct {
	Block int    `yaml:"block"` // KiB
	Job   string `yaml:"job"`   // who reads, in words
	Path  string `yaml:"path"`  // of the only file; "" where fields name it
}

// Layout is how lines or records are laid out: columns, json, line, pattern or binary says which kind it is.
type Layout struct {
	Columns string `yaml:"columns"` // lines of columns, with this separator: comma, tab, space, ...
	JSON    string `yaml:"json"`    // lines: objects, of which fields have paths
	Line    string `yaml:"line"`    // an access log's line, as log_format of nginx describes it
	Pattern string `yaml:"pattern"` // a regular expression, whose groups have the names of roles
	Binary  string `yaml:"binary"`  // records of the fields, in the notation of Python's struct: <IQI

	Header string `yaml:"header"` // optional, required: a first line names the columns
	More   bool   `yaml:"more"`   // further columns may follow, which are not read
	Trim   bool   `yaml:"trim"`   // blanks around columns do not count
	// Sure is how sure a match is: likely, or a check that compares the lines with each other.
	Sure   string  `yaml:"sure"`
	Fields []Field `yaml:"fields"`

	Needs    []texts           `yaml:"needs"`    // of JSON: lists of paths; a log has at least one of each
	About    string            `yaml:"about"`    // what the layout is, if there are several
	Padded   bool              `yaml:"padded"`   // of a line: several blanks are one
	Quotable bool              `yaml:"quotable"` // likewise: fields that have blanks are in quotes
	Key      string            `yaml:"key"`      // likewise: what the key is, if it is not host and path
	Options  map[string]string `yaml:"options"`  // of JSON, patterns and records: those of jsonl, regex or binary
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

func (s *Scalar) UnmarshalYAML(node ast.Node) error {
	text, err := textOf(node)
	*s = Scalar(text)
	return err
}

// textOf returns a single value as it is written.
func textOf(node ast.Node) (string, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.NullNode, nil:
		return "", nil
	case ast.ScalarNode:
		return n.GetToken().Value, nil
	}
	return "", yamlhint.Wrong(node, "one value")
}

// texts are one text or several.
type texts []string

func (t *texts) UnmarshalYAML(node ast.Node) error {
	items := []ast.Node{node}
	if list, ok := node.(*ast.SequenceNode); ok {
		items = list.Values
	}
	for _, item := range items {
		text, err := textOf(item)
		if err != nil {
			return err
		}
		*t = append(*t, text)
	}
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

// Parse reads the text of a file. Errors name the file, the line and the field.
func Parse(path string, text []byte) (*File, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%s: the file of a format may have %d bytes, and this one has more", path, MaxBytes)
	}
	return decode(path, text)
}

func decode(path string, text []byte) (*File, error) {
	f := &File{Path: path}
	root, err := parseYAML(path, text)
	switch {
	case err != nil:
		return nil, err
	case root == nil:
		return nil, fmt.Errorf("%s: is empty: want name, layouts and examples", path)
	}
	if err := yaml.NodeToValue(root, f, yaml.Strict()); err != nil {
		return nil, yamlhint.Locate(path, err)
	}
	f.root = root
	return f, nil
}

// parseYAML returns the first document of a text; nil if it is empty.
func parseYAML(path string, text []byte) (ast.Node, error) {
	tokens := lexer.Tokenize(string(text))
	if line := yamlhint.DeepLine(tokens); line > 0 {
		return nil, fmt.Errorf("%s:%d: is nested more than %d levels deep", path, line, yamlhint.MaxNesting)
	}
	doc, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, yamlhint.Locate(path, err)
	}
	if len(doc.Docs) == 0 {
		return nil, nil
	}
	return doc.Docs[0].Body, nil
}

// ErrorAt returns err with the file and the line of a value: keys and indexes lead to it.
func (f *File) ErrorAt(what string, err error, steps ...any) error {
	node := f.root
	if node == nil {
		return fmt.Errorf("%s: %s%w", f.Path, what, err)
	}
	for _, step := range steps {
		next, _ := yamlhint.Child(node, step)
		if next == nil {
			break
		}
		node = next
	}
	return fmt.Errorf("%s:%d: %s%w", f.Path, yamlhint.FirstLine(node), what, err)
}

// Example returns the first example, "" if there is none.
func (f *File) Example() string {
	if len(f.Examples) == 0 {
		return ""
	}
	return strings.TrimSuffix(f.Examples[0].Text, "\n")
}

var isName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`).MatchString

// Kind returns the kind of the layouts: columns, json, line, pattern or binary.
func (f *File) Kind() string { return f.Layouts[0].kind() }

func (l *Layout) kind() string {
	switch {
	case l.JSON != "":
		return "json"
	case l.Line != "":
		return "line"
	case l.Pattern != "":
		return "pattern"
	case l.Binary != "":
		return "binary"
	}
	return "columns"
}

// check refuses what would have no effect in a layout of its kind.
func (l *Layout) check(kind string) error {
	if own := l.kind(); own != kind {
		return fmt.Errorf("a layout of %s beside one of %s: want one kind", own, kind)
	}
	if l.JSON != "" && l.JSON != "lines" {
		return fmt.Errorf("json %q: want lines", l.JSON)
	}
	for _, part := range []struct {
		given       bool
		name, kinds string
	}{{l.Header != "", "header", "columns"}, {l.More, "more", "columns"}, {l.Trim, "trim", "columns"},
		{l.Sure != "", "sure", "columns"}, {len(l.Fields) > 0, "fields", "columns, json or binary"},
		{len(l.Needs) > 0, "needs", "json"}, {l.Padded, "padded", "line"}, {l.Quotable, "quotable", "line"},
		{l.Key != "", "key", "line"}, {len(l.Options) > 0, "options", "json, pattern or binary"}} {
		if part.given && !strings.Contains(part.kinds, kind) {
			return fmt.Errorf("%s has no effect with %s: want it only with %s", part.name, kind, part.kinds)
		}
	}
	for _, f := range l.Fields {
		name := f.Name
		if f.Name, f.Is, f.Path, f.Unit = "", nil, nil, ""; kind != "columns" && !reflect.ValueOf(f).IsZero() {
			return fmt.Errorf("field %q: want only name, is, path and unit with %s", name, kind)
		}
	}
	return nil
}

// Begin returns the format without what depends on the kind of its layouts.
func (f *File) Begin() (source.Format, error) {
	format := source.Format{Name: f.Name, Summary: f.Summary, Detection: f.Detection, Carries: f.Carries}
	if !isName(f.Name) {
		return format, f.ErrorAt("", fmt.Errorf("name %q: want small letters, digits and -", f.Name), "name")
	}
	if f.Writes != "" {
		writes, err := stream.ParseWrites(f.Writes)
		if err != nil {
			return format, f.ErrorAt("", err, "writes")
		}
		format.Writes = writes
	}
	if len(f.Layouts) == 0 {
		return format, f.ErrorAt("", errors.New("no layouts: want at least one, such as "+
			"{columns: comma, fields: [{name: time, is: time, unit: s}, {name: url, is: key}]}"))
	}
	for i := range f.Layouts {
		if err := f.Layouts[i].check(f.Kind()); err != nil {
			return format, f.ErrorAt("", err, "layouts", i)
		}
	}
	return format, nil
}

// Preset returns a format that reads as another one does, with other values of its options.
func (f *File) Preset(base source.Format, values map[string]string) (source.Format, error) {
	format, err := f.Begin()
	if err != nil {
		return format, err
	}
	if len(f.Layouts) > 1 {
		return format, f.ErrorAt("", errors.New("want one layout of this kind"), "layouts", 1)
	}
	values = maps.Clone(values)
	maps.Copy(values, f.Layouts[0].Options)
	for _, o := range base.Options {
		if text, ok := values[o.Name]; ok {
			if o.Default, err = o.Parse(text); err != nil {
				return format, f.ErrorAt("", err, "layouts", 0)
			}
			delete(values, o.Name)
		}
		format.Options = append(format.Options, o)
	}
	for name := range values {
		return format, f.ErrorAt("", fmt.Errorf("%s has no option %s", base.Name, name), "layouts", 0, "options")
	}
	format.Carries, format.JSON, format.Open = cmp.Or(f.Carries, base.Carries), base.JSON, base.Open
	format.Binary = base.Binary
	return format, nil
}

// Format returns the format that the file describes, of layouts with columns.
func (f *File) Format() (source.Format, error) {
	format, err := f.Begin()
	if err != nil {
		return format, err
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

func (f *File) compile(i int) (*layout, error) {
	spec := &f.Layouts[i]
	fail := func(err error) (*layout, error) {
		return nil, f.ErrorAt(fmt.Sprintf("layout %d: ", i+1), err, "layouts", i)
	}
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
			return nil, f.ErrorAt(fmt.Sprintf("field %q: ", field.Name), err, "layouts", i, "fields", j)
		}
		if field.Optional {
			l.optional++
		}
		l.columns = append(l.columns, c)
	}
	if needed := cmp.Or(f.Reads != nil && f.Reads.Path != "", slices.ContainsFunc(l.columns, isPart(aKey))); !needed {
		return fail(errors.New("no field is the key: want one with is: key, or is: path of a read"))
	}
	if spec.Sure == "" { // certain if a field tells it from others, and otherwise only possible
		surely := source.Possible
		if slices.ContainsFunc(l.columns, func(c column) bool { return c.telling }) {
			surely = source.Certain
		}
		l.sure = func(source.Head, string) source.Confidence { return surely }
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
