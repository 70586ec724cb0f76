package stream

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
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
	Spec        string // as for read.Options.Format, with what was detected in the files; "" for a generator

	// Rather are the formats that the files look like if the user named another one.
	Rather []string

	Layout  string // layout of the records in the file: "tab, no header"
	Request string // what a request is, if it is more than a key: "prompts in blocks of 512 tokens"
	Key     string // where the key is: a column, or a few words
	Time    string // likewise; "" without times
	Size    string
	// HeadersInSize says that sizes of responses include their headers.
	HeadersInSize bool
	Op            string
	TTL           string
	Served        string // where the file says what the server's own cache found
	Tenant        string // "" if no tenants were requested

	Models []string // that prompts name, at most mostModels of them

	Others []string // unread columns that may be keys, as the option key takes them

	LeftOut int64    // rows that are not requests
	Why     string   // why they were left out
	Reasons []Tally  // likewise, if there are several reasons: each with its rows
	Notable []Tally  // requests that are no plain reads: "3 conditional"
	Tracked *Tracked // by parameters in URLs; nil if the keys have none
	Cut     int64    // reads of files that were cut at the end of their file

	Lines   int64    // lines of text, once the files have been read
	Bad     int64    // lines that could not be read, and were left out
	BadLine *BadLine // the first of these

	Writes Writes // what writes do to a cache unless the user says otherwise
	// Overhead is the server's bytes per object beside its size, unless the user gives another number.
	Overhead int64

	From any // what the last of the files was read from; nil when all have been read
}

// Tracked counts requests with parameters that say where a visitor came from, in all files that were read together.
type Tracked struct {
	Requests int64
	Saved    int64 // at least so many keys would be fewer without the parameters
}

// Hint says how to leave the parameters out, if that changes the number of keys by a hundredth; "" otherwise.
func (t *Tracked) Hint(format string, requests, keys int) string {
	const fewest = 5
	if t == nil || t.Saved < fewest || 100*t.Saved < int64(keys) {
		return ""
	}
	return fmt.Sprintf("%s of %s requests have tracking parameters (utm_source, ...); --input-format "+
		"%s:query=drop:tracking saves %s of %s keys or more",
		Thousands(t.Requests), Thousands(requests), format, Thousands(t.Saved), Thousands(keys))
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

// Counted writes a number with its noun, which gets an s in the plural.
func Counted[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Add adds what another reading counted.
func (r *Reading) Add(other *Reading) {
	r.LeftOut += other.LeftOut
	r.Cut += other.Cut
	r.Bad += other.Bad
	r.BadLine = cmp.Or(r.BadLine, other.BadLine)
	for _, t := range other.Reasons {
		r.Reasons = Count(r.Reasons, t.Sort, t.N)
	}
	for _, t := range other.Notable {
		r.Notable = Count(r.Notable, t.Sort, t.N)
	}
	for _, model := range other.Models {
		r.NameModel([]byte(model))
	}
}

// mostModels is up to how many models of prompts are known by name.
const mostModels = 8

// LeaveOut counts a row that is left out, and why.
func (r *Reading) LeaveOut(why string) {
	r.LeftOut++
	r.Reasons = Count(r.Reasons, why, 1)
}

// NameModel notes the model that a prompt names, as JSON writes it.
func (r *Reading) NameModel(name []byte) {
	known := func(of string) bool { return of == strings.Trim(string(name), `"`) }
	if len(name) > 0 && len(r.Models) < mostModels && !slices.ContainsFunc(r.Models, known) {
		r.Models = append(r.Models, strings.Trim(string(name), `"`))
	}
}

// BadText says how many lines could not be read, and why the first could not.
func (r *Reading) BadText() string {
	first := fmt.Sprintf("line %d: %v", r.BadLine.Line, r.BadLine.Err)
	if r.Paths > 1 || r.Files > 1 {
		first = r.BadLine.Place + ": " + first
	}
	return fmt.Sprintf("%s of %s lines could not be read, first: %s", Thousands(r.Bad), Thousands(r.Lines), first)
}

// FirstBad returns the first error about a line that could not be read; nil if all could.
func (r *Reading) FirstBad() error {
	if r.BadLine == nil {
		return nil
	}
	return fmt.Errorf("line %d: %w", r.BadLine.Line, r.BadLine.Err)
}

// BadLine is an error about one line, after which the next one can be read.
type BadLine struct {
	Place string
	Line  int
	Err   error
}

func (e *BadLine) Error() string { return fmt.Sprintf("%s: line %d: %v", e.Place, e.Line, e.Err) }
func (e *BadLine) Unwrap() error { return e.Err }

// Thousands writes a number with commas: 80,000.
func Thousands[N int | int64](n N) string { return metric.Requests.Text(float64(n)) }
