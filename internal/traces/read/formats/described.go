package formats

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"
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

// described returns what the files of formats say, in the order of their names: all of it, or what reading a trace
// needs, which are the layouts of those that have some.
func described(parse func(path string, text []byte) (*layouts.File, error), layoutsAlone bool) ([]*layouts.File,
	error) {
	entries, err := descriptions.ReadDir(".")
	if err != nil {
		return nil, err
	}
	all, errs := make([]*layouts.File, len(entries)), make([]error, len(entries))
	var wait sync.WaitGroup // since one takes a tenth of a millisecond
	for i, e := range entries {
		wait.Go(func() {
			text, err := descriptions.ReadFile(e.Name())
			if err == nil && (!layoutsAlone || bytes.Contains(text, []byte("\nlayouts:"))) {
				all[i], err = parse(e.Name(), text)
			}
			errs[i] = err
		})
	}
	wait.Wait()
	all = slices.DeleteFunc(all, func(f *layouts.File) bool { return f == nil })
	return all, errors.Join(errs...)
}

// Described returns what the files of formats say, with their examples.
func Described() ([]*layouts.File, error) { return described(layouts.Parse, false) }

// formatOf returns the format that a file describes.
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

// groups has the formats of files by group. Those of the program are correct, as a test says.
var groups = sync.OnceValue(func() map[string][]source.Format {
	all, err := described(layouts.ParseHead, true)
	byGroup := map[string][]source.Format{}
	for _, f := range all {
		format, wrong := formatOf(f)
		err = errors.Join(err, wrong)
		format.Data = true
		byGroup[f.Group] = append(byGroup[f.Group], format)
	}
	if err != nil {
		panic("formats: " + err.Error())
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
