package source

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Reading says how files, or files in archives, were read: for people by Text and Line, and by Spec as a format that
// reads them in the same way again. A Format's Open states what it knows beyond the Fields.
type Reading struct {
	Name  string // of the first of the files, or of a generator
	Files int    // files read in this way; members of archives count one by one
	Paths int    // of those files and archives

	Format      string // its name
	Compression string // "zstd", "gzip", ... or "" for none
	Archive     bool   // the files are in a tar archive
	Container   string // the files are logs of containers: what of them was read
	Spec        string // as for LoadOptions.Format, with what was detected in the files; "" for a generator

	// Rather are the formats that the files look like if the user named another one.
	Rather []string

	Layout  string // layout of the records in the file: "tab, no header"
	Request string // what a request is, if it is more than a key: "prompts in blocks of 512 tokens"
	Key     string // where the key is: a column, or a few words
	Time    string // likewise; "" without times
	Size    string
	Op      string
	TTL     string
	Served  string // where the file says what the server's own cache found
	Tenant  string // "" if no tenants were requested

	Others []string // unread columns that may be keys, as the option key takes them

	LeftOut int64   // rows that are not requests
	Why     string  // why they were left out
	Reasons []Tally // likewise, if there are several reasons: each with its rows
	Notable []Tally // requests that are no plain reads: "3 conditional"
	Cut     int64   // reads of files that were cut at the end of their file

	Lines    int64 // lines of text, once the files have been read
	Bad      int64 // lines that could not be read, and were left out
	firstBad *lineError

	Writes stream.Writes // what writes do to a cache unless the user says otherwise
	// Overhead is what the server keeps for an object beside what sizes state, in bytes, unless the user says otherwise.
	Overhead int64

	from *File // of the last of the files
}

// Tally counts rows or requests of one sort.
type Tally struct {
	Sort string // as it comes after the number: "with other methods"
	N    int64
}

// Count adds to the tally of a sort.
func Count(tallies []Tally, sort string, n int64) []Tally {
	for i := range tallies {
		if tallies[i].Sort == sort {
			tallies[i].N += n
			return tallies
		}
	}
	return append(tallies, Tally{sort, n})
}

// tallyText lists tallies, the largest first.
func tallyText(tallies []Tally) string {
	sorted := slices.Clone(tallies)
	slices.SortStableFunc(sorted, func(a, b Tally) int { return cmp.Compare(b.N, a.N) })
	parts := make([]string, len(sorted))
	for i, t := range sorted {
		parts[i] = fmt.Sprintf("%d %s", t.N, t.Sort)
	}
	return strings.Join(parts, ", ")
}

// Text says in one line how the files were read, without their names. It is the same for all files that are read alike.
func (r *Reading) Text() string { return r.text("") }

// text is Text with a remark after the sizes.
func (r *Reading) text(remark string) string {
	s := r.Format
	if packing := r.packing(); packing != "" {
		s += " (" + packing + ")"
	}
	if len(r.Rather) > 0 {
		s += " (it looks like " + strings.Join(r.Rather, " or ") + ")"
	}
	if r.Layout != "" {
		s += ", " + r.Layout
	}
	var parts []string
	for _, part := range []string{r.Request, r.Key, r.Time, r.Size, r.Op, r.TTL, r.Served, r.Tenant} {
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

func (r *Reading) packing() string {
	parts := []string{r.Compression, r.Container}
	if r.Archive {
		parts = append([]string{"tar"}, parts...)
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}

// Line says for people how the files were read. remark comes after the sizes, if there are any.
func (r *Reading) Line(remark string) string {
	s := r.name() + ": " + r.text(remark)
	if len(r.Notable) > 0 {
		s += "; among them " + tallyText(r.Notable)
	}
	if r.LeftOut > 0 {
		s += "; " + r.LeftOutText()
	}
	if r.Cut > 0 {
		s += fmt.Sprintf("; %s cut at the end of the file", Counted(r.Cut, "read"))
	}
	if r.Bad > 0 {
		s += "; " + r.BadText()
	}
	return s
}

// LeftOutText says how many rows were left out, and why.
func (r *Reading) LeftOutText() string {
	why := r.Why
	if len(r.Reasons) == 1 {
		why = r.Reasons[0].Sort
	} else if len(r.Reasons) > 1 {
		why = tallyText(r.Reasons)
	}
	return fmt.Sprintf("%s left out (%s)", Counted(r.LeftOut, "row"), why)
}

// name names one of the files and counts the others.
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

// shortName shortens the name of a column for a line, and quotes it if it is not a plain word.
func shortName(name string) string {
	if len(name) > maxChoice {
		name = strings.ToValidUTF8(name[:maxChoice], "") + "..."
	}
	if isPlainChoice(name) {
		return name
	}
	return strconv.Quote(name)
}

// NewReading returns the reading of an input when only the compression is known.
func NewReading(in *File, compression string) *Reading {
	name := filepath.Base(in.Path)
	if in.Path == "-" {
		name = in.Label
	}
	return &Reading{Name: name, from: in, Compression: compression}
}

// Counted writes a number with its noun, which gets an s in the plural.
func Counted[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Complete fills in what Open left open, from the fields and the options.
func (r *Reading) Complete(format Format, opts params.Values, fields stream.Fields) {
	r.Format, r.Spec, r.Writes = format.Name, Spec(format, opts), format.Writes
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
	if fields.TTL {
		r.TTL = cmp.Or(r.TTL, "ttl")
	}
	if fields.Served {
		r.Served = cmp.Or(r.Served, "served")
	}
	if name, ok := strings.CutPrefix(r.Tenant, "tenant"); ok && r.from != nil && r.from.Labels {
		r.Tenant = "label" + name
	}
}

// Spec writes a format with the options that differ from their defaults.
func Spec(format Format, opts params.Values) string {
	var changed []string
	for _, p := range format.Options {
		if opts[p.Name] != p.Default {
			changed = append(changed, p.Name+"="+params.Quote(opts[p.Name]))
		}
	}
	name := cmp.Or(format.File, format.Name)
	if len(changed) == 0 {
		return name
	}
	return name + ":" + strings.Join(changed, ",")
}

// Together is shared by files that are read together.
type Together struct {
	numbered int            // files, and members of archives, numbered so far
	readings []*Reading     // how they were read, each way once
	beside   map[string]any // per path: what ReadBeside read
	shared   map[string]any // per name: what Shared created

	// Recognised is what the content of one of the files was recognised as.
	Recognised Recognised
}

// Recognised says how a file was recognised, so that further files like it are recognised without asking all formats.
type Recognised struct {
	Format *Format // nil before the first
	Sure   Confidence
	mask   []byte // of its lines
}

// Recognise remembers the format of a file.
func (t *Together) Recognise(format Format, sure Confidence, head Head) {
	t.Recognised = Recognised{Format: &format, Sure: sure, mask: linesMask(sure, head)}
}

// linesMask returns the first line with a 0 for each run of digits: the keys of files that are written alike differ in
// numbers. If the format is a guess, other lines follow that differ in more.
func linesMask(sure Confidence, head Head) (mask []byte) {
	lines := WithoutBlankEnd(head.Lines)
	if len(lines) == 0 {
		return nil
	}
	mask = maskDigits(nil, lines[0])
	if sure >= Likely {
		return mask
	}
	first := mask
	var other []byte
	for _, line := range lines[1:] {
		if other = maskDigits(other[:0], line); !bytes.Equal(other, first) {
			mask = append(append(mask, '\n'), other...)
		}
	}
	return mask
}

// maskDigits appends a line with a 0 for each run of digits.
func maskDigits(to, line []byte) []byte {
	within := false
	for _, c := range line {
		digit := c >= '0' && c <= '9'
		switch {
		case !digit:
			to = append(to, c)
		case !within:
			to = append(to, '0')
		}
		within = digit
	}
	return to
}

// Has reports whether a file is in the same format, and looks like that no less: it has its signature, or a first line
// like that of the other one, except for numbers. If the format was a guess, so must all other lines.
func (r *Recognised) Has(head Head, name string) bool {
	if r.Format == nil || r.Sure < Certain && !bytes.Equal(linesMask(r.Sure, head), r.mask) {
		return false
	}
	return r.Format.Detect(head, name) == r.Sure
}

// Shared returns what files that are read together share under a name. The first of them creates it.
func (s *Source) Shared(name string, create func() any) any {
	together := s.In.Together
	known, ok := together.shared[name]
	if !ok {
		if together.shared == nil {
			together.shared = map[string]any{}
		}
		known = create()
		together.shared[name] = known
	}
	return known
}

// Join returns the reading to use for a file: an earlier equal one, or r itself.
func (t *Together) Join(r *Reading) *Reading {
	for _, earlier := range t.readings {
		if earlier.Spec == r.Spec && earlier.Text() == r.Text() {
			earlier.Files++
			if earlier.from != r.from {
				earlier.Paths++
			}
			earlier.from = r.from
			earlier.take(r)
			return earlier
		}
	}
	if len(t.readings) == mostReadingsKept {
		last := t.readings[mostReadingsKept-1]
		last.take(r)
		return last
	}
	r.Files, r.Paths = 1, 1
	t.readings = append(t.readings, r)
	return r
}

// take adds what another reading counted.
func (r *Reading) take(other *Reading) {
	r.LeftOut += other.LeftOut
	r.Cut += other.Cut
	r.Bad += other.Bad
	r.firstBad = cmp.Or(r.firstBad, other.firstBad)
	for _, t := range other.Reasons {
		r.Reasons = Count(r.Reasons, t.Sort, t.N)
	}
	for _, t := range other.Notable {
		r.Notable = Count(r.Notable, t.Sort, t.N)
	}
}

func (t *Together) List() []Reading {
	all := make([]Reading, len(t.readings))
	for i, r := range t.readings {
		all[i] = *r
		all[i].from = nil // would keep the file in memory
	}
	return all
}

// mostReadingsKept is how many ways of reading are remembered: more than anybody looks at, and then no single format
// reads all of them.
const mostReadingsKept = 64
