package source

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Reading says what files, or files in archives, were read as: for people by Text and Line, and by Spec as a format
// that reads them the same way again. A Format's Open states what it knows beyond the Fields.
type Reading struct {
	Name  string // of the first of the files, or of a generator
	Files int    // that were read like this, those in archives counted one by one
	Paths int    // of those files and archives

	Format      string // its name
	Compression string // "zstd", "gzip", ... or "" for none
	Archive     bool   // the files lie in a tar archive
	Spec        string // as for LoadOptions.Format, with what was found out about the files; "" of a generator

	Layout  string // how the records lie in the file: "tab, no header"
	Request string // what a request is, where it is more than a key: "prompts in blocks of 512 tokens"
	Key     string // where it stands: a column, or a few words
	Time    string // likewise; "" where there are no times
	Size    string
	Op      string
	Tenant  string // "" where nobody asked for tenants

	Others []string // columns that are not read and may be keys, as the option key takes them

	LeftOut int64  // rows that are no requests
	Why     string // they were left out

	from *File // of the last of the files
}

// Text says in one line what the files were read as, without their names. It is the same for all files that are read
// alike.
func (r *Reading) Text() string { return r.text("") }

// text is Text with a remark behind the sizes.
func (r *Reading) text(remark string) string {
	s := r.Format
	if packing := r.packing(); packing != "" {
		s += " (" + packing + ")"
	}
	if r.Layout != "" {
		s += ", " + r.Layout
	}
	var parts []string
	for _, part := range []string{r.Request, r.Key, r.Time, r.Size, r.Op, r.Tenant} {
		if part != "" && part == r.Size {
			part += remark
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) > 0 {
		s += "; " + strings.Join(parts, ", ")
	}
	return s
}

// packing says how the file is packed.
func (r *Reading) packing() string {
	if r.Archive && r.Compression != "" {
		return "tar, " + r.Compression
	} else if r.Archive {
		return "tar"
	}
	return r.Compression
}

// Line says for people what the files were read as. remark stands behind the sizes, if there are any.
func (r *Reading) Line(remark string) string {
	s := r.name() + ": " + r.text(remark)
	if r.LeftOut > 0 {
		s += fmt.Sprintf("; %s left out (%s)", counted(r.LeftOut, "row"), r.Why)
	}
	return s
}

// name says which files they are.
func (r *Reading) name() string {
	name := r.Name
	switch {
	case r.Paths > 1:
		name += fmt.Sprintf(" and %d more", r.Paths-1)
	case r.Files > 1:
		name += fmt.Sprintf(", %d files", r.Files)
	}
	return name
}

// shortName brings the name of a column into a line: quoted where it is no plain word, and cut.
func shortName(name string) string {
	if len(name) > maxChoice {
		name = strings.ToValidUTF8(name[:maxChoice], "") + "..."
	}
	if isPlainChoice(name) {
		return name
	}
	return strconv.Quote(name)
}

// NewReading returns the reading of an input, of which only the compression is known.
func NewReading(in *File, compression string) *Reading {
	name := filepath.Base(in.Path)
	if in.Path == "-" {
		name = in.Label
	}
	return &Reading{Name: name, from: in, Compression: compression}
}

// counted writes a number with its noun, which takes an s.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Complete fills in what Open left open: what the fields and the options say.
func (r *Reading) Complete(format Format, opts params.Values, fields stream.Fields) {
	r.Format, r.Spec = format.Name, formatSpec(format, opts)
	switch {
	case fields.Kind != nil && fields.Kind.Request() != "":
		r.Request = fields.Kind.Request()
	case r.Request == "":
		r.Key = cmp.Or(r.Key, "key")
	}
	switch {
	case fields.Time:
		r.Time = cmp.Or(r.Time, "time")
	case fields.Counted:
		r.Time = "no time"
	}
	if fields.Size {
		r.Size = cmp.Or(r.Size, "size")
	}
	if fields.Op {
		r.Op = cmp.Or(r.Op, "op")
	}
}

// formatSpec writes a format with the options that differ from their defaults.
func formatSpec(format Format, opts params.Values) string {
	var changed []string
	for _, p := range format.Options {
		if opts[p.Name] != p.Default {
			changed = append(changed, fmt.Sprintf("%s=%v", p.Name, opts[p.Name]))
		}
	}
	if len(changed) == 0 {
		return format.Name
	}
	return format.Name + ":" + strings.Join(changed, ",")
}

// Together is what files that are read together share.
type Together struct {
	numbered int        // files, and members of archives, that were numbered so far
	readings []*Reading // what they were read as, each way once
}

// Join returns the reading that counts for a file: an earlier one that is the same, or r itself.
func (t *Together) Join(r *Reading) *Reading {
	for _, earlier := range t.readings {
		if earlier.Spec == r.Spec && earlier.Text() == r.Text() {
			earlier.Files++
			if earlier.from != r.from {
				earlier.Paths++
			}
			earlier.from = r.from
			earlier.LeftOut += r.LeftOut
			return earlier
		}
	}
	if len(t.readings) == mostReadingsKept {
		last := t.readings[mostReadingsKept-1]
		last.LeftOut += r.LeftOut
		return last
	}
	r.Files, r.Paths = 1, 1
	t.readings = append(t.readings, r)
	return r
}

// List returns the readings as they are now.
func (t *Together) List() []Reading {
	all := make([]Reading, len(t.readings))
	for i, r := range t.readings {
		all[i] = *r
		all[i].from = nil // which would stay in memory
	}
	return all
}

// mostReadingsKept are the ways of reading that are remembered: more than anybody looks at, and no one format reads all
// of them.
const mostReadingsKept = 64
