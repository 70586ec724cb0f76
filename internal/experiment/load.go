package experiment

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/base/yamlhint"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

const (
	maxFileSize = 256 << 10 // bytes of an experiment file; the parser takes quadratic time
)

type source struct {
	name string   // of the file, as the user gave it
	dir  string   // that contains the file; "" for a built-in experiment
	body ast.Node // nil once the experiment has been changed: line numbers then mean nothing
}

// Load reads an experiment: a YAML file, or a built-in one by its name (see package configs). It checks every name in
// it. The error gives the file, the line and what was expected.
func Load(nameOrPath string) (*File, error) {
	if slices.Contains(configs.Names(), nameOrPath) {
		return parse(configs.Text(nameOrPath), source{name: "configs/" + nameOrPath + ".yaml"})
	}
	text, err := ReadText(nameOrPath)
	if err != nil {
		return nil, err
	}
	f, err := parse(text, source{name: nameOrPath, dir: filepath.Dir(nameOrPath)})
	if err == nil && f.Origin == "" && !slices.Contains(configs.Names(), f.Name) {
		f.Origin = filepath.Base(nameOrPath)
	}
	return f, err
}

// LoadAll loads several experiments, or their quick versions, on all cores.
func LoadAll(ctx context.Context, names []string, quick bool) ([]*File, error) {
	files := make([]*File, len(names))
	err := parallel.For(ctx, parallel.Jobs(0), len(names), func(_ context.Context, _, i int) (err error) {
		if files[i], err = Load(names[i]); err == nil {
			err = files[i].Apply(nil, quick)
		}
		return err
	})
	return files, err
}

func ReadText(path string) ([]byte, error) {
	if path == "-" {
		return nil, errors.New("an experiment cannot be read from standard input; give the name of its file")
	}
	f, err := filestate.Open(path)
	if errors.Is(err, os.ErrNotExist) && filepath.Ext(path) == "" && (path == "" || filepath.Base(path) == path) {
		return nil, suggest.Unknown("experiment", path, configs.Names())
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(filestate.Reader(io.LimitReader(f, maxFileSize+1), path))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileSize {
		return nil, fmt.Errorf("%s: an experiment file has at most 256 KiB; is it a trace?", path)
	}
	return text, nil
}

// Dirs returns the folders to search for trace files, in addition to their path.
func (f *File) Dirs() []string { return workload.Dirs(f.tracesDir()) }

// tracesDir returns the experiment's folder for traces; "" for a built-in experiment.
func (f *File) tracesDir() string {
	if f.TracesIn == "" || filepath.IsAbs(f.TracesIn) {
		return cmp.Or(f.TracesIn, f.source.dir)
	}
	return filepath.Join(f.source.dir, f.TracesIn)
}

func parse(text []byte, from source) (*File, error) {
	node, err := parseYAML(text, from.name)
	if err != nil {
		return nil, err
	}
	from.body = node
	f := &File{source: from}
	if err := decode(node, f); err != nil {
		return nil, yamlhint.Locate(from.name, err)
	}
	if err := f.validate(); err != nil {
		return nil, err
	}
	return f, nil
}

// parseYAML returns the one document of a YAML text.
func parseYAML(text []byte, name string) (ast.Node, error) {
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("%s: is not text; want a YAML file with an experiment", name)
	}
	tokens := lexer.Tokenize(strings.TrimPrefix(string(text), "\ufeff"))
	if line := yamlhint.DeepLine(tokens); line > 0 {
		return nil, fmt.Errorf("%s:%d: is nested more than %d levels deep", name, line, yamlhint.MaxNesting)
	}
	doc, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			line := at.GetToken().Position.Line
			if hint := yamlhint.Colon(text, line); hint != "" {
				return nil, fmt.Errorf("%s:%d: %s", name, line, hint)
			}
		}
		return nil, yamlhint.Locate(name, err)
	}
	switch {
	case len(doc.Docs) == 0 || doc.Docs[0].Body == nil:
		return nil, fmt.Errorf("%s: is empty; want an experiment: name, title, source, traces, policies, capacities", name)
	case len(doc.Docs) > 1:
		return nil, fmt.Errorf("%s: has %d documents; want one experiment per file", name, len(doc.Docs))
	}
	return doc.Docs[0].Body, nil
}

// decode fills in f. Before that it checks what the YAML library accepts (1.5 as a whole number) or reports without the
// key.
func decode(node ast.Node, f *File) error {
	if err := yamlhint.CheckCommas(node); err != nil {
		return err
	}
	if err := yamlhint.CheckShape(node, reflect.TypeFor[File](), "the experiment", keyedTypes); err != nil {
		return err
	}
	if err := yaml.NodeToValue(node, f, yaml.Strict()); err != nil {
		return err
	}
	yamlhint.DropEmpty(reflect.ValueOf(f).Elem())
	return nil
}

// keyedTypes are the types that may be written as a plain text, and what they are parsed as otherwise.
var keyedTypes = map[reflect.Type]reflect.Type{
	reflect.TypeFor[Policy](): reflect.TypeFor[plainPolicy](),
	reflect.TypeFor[Part]():   reflect.TypeFor[plainPart](),
}

type placedError struct {
	where string // file and line, or file and path
	path  string // of the value
	err   error
}

func (e *placedError) Error() string { return e.where + ": " + e.err.Error() }
func (e *placedError) Unwrap() error { return e.err }

// errorAt returns err with the file and the line of the value that the path of keys and list indices leads to, or of
// the innermost existing value on that path. In a changed experiment line numbers mean nothing, so the path itself is
// named.
func (f *File) errorAt(err error, path ...any) error {
	text := pathText(path)
	if f.source.body == nil {
		return &placedError{strings.TrimSuffix(f.describe()+": "+text, ": "), text, err}
	}
	return &placedError{fmt.Sprintf("%s:%d", f.source.name, f.Line(path...)), text, err}
}

// Line returns the line of the value that the path of keys and list indices leads to, or of the innermost existing
// value on that path; 0 in a changed experiment.
func (f *File) Line(path ...any) int {
	node := f.source.body
	if node == nil {
		return 0
	}
	line := yamlhint.FirstLine(node)
	for _, step := range path {
		next, at := yamlhint.Child(node, step)
		if next == nil {
			break
		}
		node, line = next, at
	}
	return line
}

// Path returns the file that the experiment was read from; "" if it is built in.
func (f *File) Path() string {
	if f.source.dir == "" {
		return ""
	}
	return f.source.name
}

// describe names the experiment, and its changes, for errors.
func (f *File) describe() string {
	name := f.source.name
	if name == "" {
		name = f.Name
	}
	if len(f.Changes) > 0 {
		name += " with " + strings.Join(f.Changes, " ")
	}
	return name
}

// pathText formats a path for people: "traces[0].capacities".
func pathText(path []any) string {
	var b strings.Builder
	for _, step := range path {
		if i, ok := step.(int); ok {
			fmt.Fprintf(&b, "[%d]", i)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		fmt.Fprint(&b, step)
	}
	return b.String()
}

// Encode writes the experiment as YAML that Load reads back as the same File. It includes the folder of the traces, so
// that the file may be elsewhere.
func (f *File) Encode() ([]byte, error) {
	whole := *f
	if dir := f.tracesDir(); dir != "" {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		whole.TracesIn = absolute
	}
	// Plain texts are for people, but the YAML library leaves some plain that it then misreads, such as "? a" and "x{x".
	for _, quoting := range [][]yaml.EncodeOption{nil, quoteAll} {
		text, err := yaml.MarshalWithOptions(whole, append(quoting, yaml.IndentSequence(true))...)
		if err != nil || whole.readsBackFrom(text) {
			return text, err
		}
	}
	return nil, fmt.Errorf("%s: %w", f.describe(), unstorable(whole))
}

// quoteAll has the YAML library write every text and every key in double quotes, one to a line.
var quoteAll = []yaml.EncodeOption{yaml.JSON(), yaml.Flow(false)}

// unstorable returns the error for an experiment that does not read back: it names the text that no file can contain.
func unstorable(whole File) error {
	node, err := yaml.ValueToNode(whole, quoteAll...)
	if err != nil {
		return err
	}
	for _, n := range ast.Filter(ast.StringType, node) {
		text, err := strconv.Unquote(n.GetToken().Value)
		if err == nil && !yamlhint.IsLine(text) {
			return fmt.Errorf("an experiment file cannot store %q, which has control characters, line breaks or invalid "+
				"UTF-8; rename it", text)
		}
	}
	return errors.New("the experiment cannot be stored, because it reads back as another one; please report this bug")
}

// readsBackFrom reports whether the YAML text parses as this experiment.
func (f *File) readsBackFrom(text []byte) bool {
	node, err := parseYAML(text, f.Name)
	again := File{source: f.source}
	return err == nil && decode(node, &again) == nil && reflect.DeepEqual(*f, again)
}

// sortedKeys returns a map's keys in sorted order, so that results do not depend on the map's order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
