package traces

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/suggest"
)

// Format describes one trace format: how to recognise it, what it carries and how to read it.
type Format struct {
	Name      string
	Summary   string // one line: what the file looks like
	Example   string // a line or two of it; "" for binary formats
	Carries   string // what its records have: "key", "time, key, size"
	Detection string // what it is recognised by
	Options   []Option

	// Detect says how sure it is that a file is in this format, from its first (decompressed) bytes and its base name in lower
	// case without the ending of a compression.
	Detect func(head Head, name string) Confidence
	// Open starts reading. opts has a value for every one of Options.
	Open func(src *Source, opts Options) (Reader, Fields, error)
}

// Confidence ranks guesses at a format; the highest wins and a tie is an error that asks the user.
type Confidence int

const (
	No       Confidence = iota
	Possible            // nothing speaks against it
	Likely              // its shape is unusual for any other format
	Certain             // a signature or a header that only this format has
)

// Option is a choice that a format offers, written NAME:option=value.
type Option struct {
	Name    string
	Default string
	Choices []string // the values allowed; nil where any text may be
	Doc     string
}

// Options holds the value of every option of a format.
type Options map[string]string

// Bool returns an option whose choices are true and false.
func (o Options) Bool(name string) bool { return o[name] == "true" }

var boolChoices = []string{"true", "false"}

// formats lists every format that can be read, in the order in which `cachesim formats` prints them.
var formats = []Format{
	plainFormat,
}

// Formats returns every format that can be read.
func Formats() []Format { return slices.Clone(formats) }

// FormatNames returns the names of all formats.
func FormatNames() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.Name
	}
	return names
}

// parseFormat reads "NAME" or "NAME:option=value,option=value" and fills in the defaults.
func parseFormat(spec string) (Format, Options, error) {
	name, settings, _ := strings.Cut(spec, ":")
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == strings.ToLower(name) })
	if i < 0 {
		return Format{}, nil, suggest.Unknown("trace format", name, FormatNames())
	}
	opts, err := formats[i].parseOptions(settings)
	return formats[i], opts, err
}

// parseOptions reads "option=value,option=value" over the defaults of f.
func (f Format) parseOptions(settings string) (Options, error) {
	opts := Options{}
	var names []string
	for _, o := range f.Options {
		opts[o.Name] = o.Default
		names = append(names, o.Name)
	}
	if settings == "" {
		return opts, nil
	}
	given := map[string]bool{}
	for setting := range strings.SplitSeq(settings, ",") {
		name, value, ok := strings.Cut(setting, "=")
		i := slices.Index(names, name)
		switch {
		case !ok:
			return nil, fmt.Errorf("option %q of trace format %s: want option=value", setting, f.Name)
		case i < 0:
			return nil, suggest.Unknown("option of trace format "+f.Name, name, names)
		case given[name]:
			return nil, fmt.Errorf("option %s of trace format %s is given twice", name, f.Name)
		case f.Options[i].Choices != nil && !slices.Contains(f.Options[i].Choices, value):
			return nil, fmt.Errorf("option %s=%s of trace format %s: want one of %s",
				name, value, f.Name, strings.Join(f.Options[i].Choices, ", "))
		}
		given[name] = true
		opts[name] = value
	}
	return opts, nil
}
