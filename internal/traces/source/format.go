package source

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Format describes one trace format: how to recognise it, what it carries and how to read it.
type Format struct {
	Name      string
	File      string // that describes it, which names it instead; "" if the program knows it
	Summary   string // one line: what the file looks like
	Example   string // a line or two of such a file; "" for binary formats
	Carries   string // what its records have: "key", "time, key, size"
	Detection string // what it is recognised by
	Options   []params.Param
	// Data says that a file describes its layout: it is no code. Files explain the others, too, in the list of formats.
	Data bool

	// Detect returns how sure it is that a file has this format. It gets the first (decompressed) bytes, and the base name
	// in lower case without the ending of a compression.
	Detect func(head Head, name string) Confidence
	// Impossible says what clearly speaks against a file in this format, "" if nothing does. It is called if the user
	// named the format. nil: the reader refuses what it cannot read.
	Impossible func(head Head) string
	Binary     bool // its files are not text
	// NoRequests is set if its files hold something other than requests: it says which commands use them.
	NoRequests string
	// AnyText is set if any text (or any data, for a binary format) fits this format, so that it is never recognised by
	// content. It says what each line is, or what the file has. "" otherwise.
	AnyText string
	// Whole says that the reader reads all lines before the first request, and itself leaves out those that it cannot
	// read.
	Whole bool
	// Writes is what writes do to a cache unless the user says otherwise.
	Writes stream.Writes
	// Formats are other formats whose files can be read as this one, too.
	Formats []string
	// JSON says that its files begin like JSON, which all other formats refuse.
	JSON bool
	// Open starts reading. opts has a value for each of Options. Open writes what it detects into opts, so that the file
	// can be read in the same way again. It writes what a user should know into the Source's reading.
	Open func(src *Source, opts params.Values) (stream.Reader, stream.Fields, error)
}

// ReadsFilesOf reports whether files of another format can be read as this one, too.
func (f Format) ReadsFilesOf(other Format) bool {
	return f.Name == other.Name || slices.Contains(f.Formats, other.Name)
}

// Confidence ranks guesses at a format. The highest wins; a tie is an error that asks the user.
type Confidence int

const (
	No       Confidence = iota
	Possible            // nothing speaks against it
	Likely              // its shape is unusual for any other format
	Certain             // a signature or a header that only this format has
)

// If is the confidence where something is so, and No otherwise.
func (c Confidence) If(is bool) Confidence {
	if is {
		return c
	}
	return No
}
