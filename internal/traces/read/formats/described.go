package formats

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/read/binlogs"
	"github.com/cachesim/cachesim/internal/traces/read/jsonlogs"
	"github.com/cachesim/cachesim/internal/traces/read/layouts"
	"github.com/cachesim/cachesim/internal/traces/read/regexlogs"
	"github.com/cachesim/cachesim/internal/traces/read/weblogs"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// descriptions has a file for each format that is data.
//
//go:embed *.yaml
var descriptions embed.FS

// compiled has the files of formats with layouts as JSON, one on a line and without what they say for people: reading
// them as YAML would take a run a sixth of its start. UPDATE=1 go test ./internal/traces/read/formats -run Docs writes
// it.
//
//go:embed compiled.jsonl
var compiled []byte

// Described returns what the files of formats say, in the order of their names.
func Described() ([]*layouts.File, error) {
	entries, err := descriptions.ReadDir(".")
	if err != nil {
		return nil, err
	}
	all := make([]*layouts.File, len(entries))
	for i, e := range entries {
		text, err := descriptions.ReadFile(e.Name())
		if err == nil {
			all[i], err = layouts.Parse(e.Name(), text)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func formatOf(f *layouts.File) (source.Format, error) {
	if len(f.Layouts) > 0 {
		switch f.Kind() {
		case "json":
			return jsonlogs.Described(f)
		case "line":
			return weblogs.Described(f)
		case "binary":
			return binlogs.Described(f)
		case "pattern":
			return regexlogs.Described(f)
		}
	}
	return f.Format()
}

// groups has the formats with layouts by group. Those of the program are correct, as a test says.
var groups = sync.OnceValue(func() map[string][]source.Format {
	byGroup := map[string][]source.Format{}
	for lines := json.NewDecoder(bytes.NewReader(compiled)); lines.More(); {
		f := new(layouts.File)
		err := lines.Decode(f)
		var format source.Format
		if err == nil {
			format, err = formatOf(f)
		}
		if err != nil {
			panic("formats: " + err.Error())
		}
		format.Data = true
		byGroup[f.Group] = append(byGroup[f.Group], format)
	}
	return byGroup
})

// exampleOf returns the first example of a format, "" if it has none.
func exampleOf(format source.Format) string {
	path := format.Name + ".yaml"
	text, err := descriptions.ReadFile(path)
	if err != nil {
		return format.Example
	}
	f, err := layouts.Parse(path, text)
	if err != nil {
		panic("formats: " + err.Error()) // a test reads all of them
	}
	return f.Example()
}

// explained returns formats with what their files say for people.
func explained(formats []source.Format) []source.Format {
	all, _ := Described()
	for _, f := range all {
		for i := range formats {
			if format := &formats[i]; format.Name == f.Name {
				format.Summary, format.Detection, format.Example = f.Summary, f.Detection, f.Example()
				format.Carries = cmp.Or(format.Carries, f.Carries)
			}
		}
	}
	return formats
}

// cutFile cuts a format that is a file of the user, FILE.yaml or FILE.yaml:option=value, and reports whether it is one.
func cutFile(spec string) (path, settings string, ok bool) {
	for _, ending := range []string{".yaml", ".yml"} {
		if strings.HasSuffix(spec, ending) {
			return spec, "", true
		}
		if at := strings.Index(spec, ending+":"); at > 0 {
			return spec[:at+len(ending)], spec[at+len(ending)+1:], true
		}
	}
	return "", "", false
}

// namedFormat returns the format that the user named, or described in a file, and its options.
func namedFormat(s *source.Source, spec string) (source.Format, params.Values, error) {
	path, settings, ok := cutFile(spec)
	if !ok {
		return parseFormat(spec)
	}
	read, err := s.ReadBeside(path, "file of its format", func(src *source.Source) (any, error) {
		text, err := io.ReadAll(io.LimitReader(src, layouts.MaxBytes+1))
		if err != nil {
			return nil, err
		}
		f, err := layouts.Parse(path, text)
		if err != nil {
			return nil, err
		}
		return formatOf(f)
	})
	if err != nil {
		return source.Format{}, nil, err
	}
	format := read.(source.Format)
	format.File = path
	opts, err := params.ParseArgs(format.Options, settings)
	if err != nil {
		return source.Format{}, nil, fmt.Errorf("trace format %s: %w", path, err)
	}
	return format, opts, nil
}
