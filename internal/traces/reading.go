package traces

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/params"
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

	from *input // of the last of the files
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

// newReading returns the reading of an input, of which only the compression is known.
func newReading(in *input, compression string) *Reading {
	name := filepath.Base(in.path)
	if in.path == "-" {
		name = in.label
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

// complete fills in what Open left open: what the fields and the options say.
func (r *Reading) complete(format Format, opts params.Values, fields Fields) {
	r.Format, r.Spec = format.Name, formatSpec(format, opts)
	switch {
	case fields.BlockTokens > 0:
		r.Request = fmt.Sprintf("prompts in blocks of %d tokens", fields.BlockTokens)
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

// together is what files that are read together share.
type together struct {
	numbered int        // files, and members of archives, that were numbered so far
	readings []*Reading // what they were read as, each way once
}

// join returns the reading that counts for a file: an earlier one that is the same, or r itself.
func (t *together) join(r *Reading) *Reading {
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

// list returns the readings as they are now.
func (t *together) list() []Reading {
	all := make([]Reading, len(t.readings))
	for i, r := range t.readings {
		all[i] = *r
		all[i].from = nil // which would stay in memory
	}
	return all
}

// mostReadings is how many ways of reading are told one by one. mostReadingsKept are remembered: more than anybody
// looks at, and no one format reads all of them.
const (
	mostReadings     = 8
	mostReadingsKept = 64
)

// Lines says in a line for each way of reading what files were read as; see Reading.Line.
func Lines(readings []Reading, remark string) (lines []string) {
	for _, r := range readings[:min(len(readings), mostReadings)] {
		lines = append(lines, r.Line(remark))
	}
	if len(readings) > mostReadings {
		lines = append(lines, "... and more files, read in other ways")
	}
	return lines
}

// ReadAs says what the files of the trace were read as, without their names; "" of a generator.
func (t *Trace) ReadAs() string {
	var texts []string
	for _, r := range t.Readings {
		if r.Spec != "" && !slices.Contains(texts, r.Text()) {
			texts = append(texts, r.Text())
		}
	}
	if len(texts) > mostReadings {
		texts = append(texts[:mostReadings], "others")
	}
	return strings.Join(texts, " + ")
}

// InputFormat returns the format that reads all files of the trace the same way again, as LoadOptions.Format takes it;
// "" where there is none, because each file has another or there are no files.
func (t *Trace) InputFormat() string {
	for _, r := range t.Readings {
		if r.Spec != t.Readings[0].Spec {
			return ""
		}
	}
	if len(t.Readings) == 0 {
		return ""
	}
	return t.Readings[0].Spec
}

// LeftOut returns how many rows of the files were left out, as they are no requests.
func (t *Trace) LeftOut() (n int64) {
	for _, r := range t.Readings {
		n += r.LeftOut
	}
	return n
}
