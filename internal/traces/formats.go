package traces

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/suggest"
)

// Format describes one trace format: how to recognise it, what it carries and how to read it.
type Format struct {
	Name      string
	Summary   string // one line: what the file looks like
	Example   string // a line or two of it; "" for binary formats
	Carries   string // what its records have: "key", "time, key, size"
	Detection string // what it is recognised by
	Options   []params.Param

	// Detect says how sure it is that a file is in this format, from its first (decompressed) bytes and its base name in
	// lower case without the ending of a compression.
	Detect func(head Head, name string) Confidence
	// Impossible says what speaks clearly against a file in this format, "" if nothing does. It is asked where the user
	// named the format. nil: the reader refuses what it cannot read.
	Impossible func(head Head) string
	Binary     bool // its files are no text
	// JSON says that its files begin like JSON, which all other formats refuse.
	JSON bool
	// Open starts reading. opts has a value for every one of Options. What it finds out itself it writes into opts, so
	// that the file can be read the same way again, and what a user should know of it into the Source's reading.
	Open func(src *Source, opts params.Values) (Reader, Fields, error)
}

// Confidence ranks guesses at a format; the highest wins and a tie is an error that asks the user.
type Confidence int

const (
	No       Confidence = iota
	Possible            // nothing speaks against it
	Likely              // its shape is unusual for any other format
	Certain             // a signature or a header that only this format has
)

// formats lists every format that can be read, in the order in which `cachesim formats` prints them.
var formats = []Format{
	csvFormat,
	plainFormat,
	arcFormat,
	batchesFormat,
	lirsFormat,
	seqIDSizeFormat,
	ratingFormat,
	cacheLibFormat,
	oracleGeneralFormat,
	vscsiFormat,
	parquetFormat,
	mooncakeFormat,
	agentFormat,
	chatFormat,
	queriesFormat,
	textFormat,
	sgdFormat,
	oasstFormat,
	tiageFormat,
	qqpFormat,
	clincFormat,
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

// CheckFormat refuses what LoadOptions.Format does not take.
func CheckFormat(spec string) error {
	if spec == "" {
		return nil
	}
	_, _, err := parseFormat(spec)
	return err
}

// parseFormat reads "NAME" or "NAME:option=value,option=value" and fills in the defaults.
func parseFormat(spec string) (Format, params.Values, error) {
	name, settings, _ := strings.Cut(spec, ":")
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == strings.ToLower(strings.TrimSpace(name)) })
	if i < 0 {
		return Format{}, nil, suggest.Unknown("trace format", name, FormatNames())
	}
	opts, err := params.ParseArgs(formats[i].Options, settings)
	if err != nil {
		return Format{}, nil, fmt.Errorf("trace format %s: %w", formats[i].Name, err)
	}
	return formats[i], opts, nil
}
