package traces

import (
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Trace is a sequence of requests in columns. It is read-only after Load and shared by all replays. It needs 4 bytes
// per request, 8 per object for sizes, 8 per request for each of RequestSizes and Times and 1 for each of Ops and
// Served if present, 8 per removal, and 24 per object plus the text for Keys. While it loads, more is needed: 20 to 30
// bytes per object to number keys; 8 per request and 32 per object for times to live; and for rows that write or delete
// and are no requests, as much as for other requests.
type Trace struct {
	Name       string   // the name of the trace in records: the base name of its file, or several joined with "+"
	Objects    []uint32 // per request: the object's dense number, 0 to NumObjects-1 in order of first appearance
	NumObjects int

	// Sizes in bytes. Both nil: the trace has no sizes, or they were not requested. RequestSizes is set only if an
	// object changes its size within the trace; then ObjectSizes holds each object's first size.
	ObjectSizes  []int64
	RequestSizes []int64
	Sizing       *Sizing // where sizes come from that the files do not state; nil if they state all
	KeysInSizes  bool    // sizes include the bytes of keys, beside the overhead of Sizing

	// Times in nanoseconds, per request; nil if the trace has no clock or it was not requested. They are as in the
	// files, and so may go back.
	Times []int64

	// Ops are the operations of all rows of the files, if Needs.Ops asks for them; otherwise of the requests, but nil
	// unless some of these write. What the other rows do is in Removals then, and Written counts them.
	Ops      []stream.Op
	Removals []Removal // in the order of their positions
	Written  Written
	// Ends are, per request, when the time to live ends that the log states with it, in nanoseconds by its clock; 0 for
	// none. Nil if the log states none, and unless requested.
	Ends   []int64
	Served []stream.Served // per request: what the server that wrote the log found; nil if it does not say

	// Loads are the positions at which something is loaded without a request: what answers to prompts fill. Nil: nowhere.
	Loads     stream.Bitset
	passed    stream.Bitset // requests of blocks that answers fill: their misses load nothing
	requested *Trace        // the trace without Loads; nil if it has none
	answers   string        // the mode of WithAnswers

	Keys []stream.Key // per object: the key in the file; nil unless requested

	// Groups are the positions at which groups of requests begin, such as the blocks of a prompt or the keys of a batch.
	// The first is 0. Nil: each request comes alone.
	Groups []int
	// Kind is what requests carry beyond a key, for prompts and queries; nil for plain objects, and if it was not
	// requested.
	Kind stream.Columns

	// Starts are the positions at which files begin, if each is replayed through an empty cache. The first is 0. Nil: the
	// whole trace is one sequence.
	Starts []int

	StatedUses []uint32 // per request: see NextUse

	Labels  *Labels  // by which hits are counted; nil unless requested
	Tenants *Tenants // the owners of the objects, or of the prompts; nil unless requested

	Readings   []stream.Reading // how the files, or the generator, were read, each way once
	Warnings   []string         // about readings that make little sense
	SampleRate float64          // share of the keys that were kept, 1 without sampling

	SampledFrom int   // number of requests before sampling; 0 without sampling
	BytesFrom   int64 // their bytes; 0 if some have an unknown size, too
	Limited     bool  // reading ended at read.Options.Limit
}

// Parts returns the sequences of the trace that are each replayed through an empty cache, with the object numbers of
// the whole: the trace itself if Starts is nil.
func (t *Trace) Parts() []*Trace {
	if len(t.Starts) == 0 {
		return []*Trace{t}
	}
	parts := make([]*Trace, len(t.Starts))
	for i, from := range t.Starts {
		to := len(t.Objects)
		if i+1 < len(t.Starts) {
			to = t.Starts[i+1]
		}
		parts[i] = t.slice(from, to)
	}
	return parts
}

// slice returns the requests [from, to), sharing their columns.
func (t *Trace) slice(from, to int) *Trace {
	part := *t
	part.Starts, part.StatedUses = nil, nil
	requests := stream.Span{From: from, To: to}
	part.Objects = stream.Cut(t.Objects, requests)
	part.RequestSizes, part.Times = stream.Cut(t.RequestSizes, requests), stream.Cut(t.Times, requests)
	part.Ops, part.Served = stream.Cut(t.Ops, requests), stream.Cut(t.Served, requests)
	part.Ends = stream.Cut(t.Ends, requests)
	part.Removals = t.removalsIn(from, to)
	part.Loads, part.passed, part.requested = bitsIn(t.Loads, from, to), bitsIn(t.passed, from, to), nil
	if t.Labels != nil {
		part.Labels = &Labels{t.Labels.Column, t.Labels.Names, stream.Cut(t.Labels.Of, requests)}
	}
	groups := stream.Span{}
	if t.Groups != nil {
		groups.From, _ = slices.BinarySearch(t.Groups, from)
		groups.To, _ = slices.BinarySearch(t.Groups, to)
		part.Groups = make([]int, groups.To-groups.From)
		for i := range part.Groups {
			part.Groups[i] = t.Groups[groups.From+i] - from
		}
	}
	if t.Kind != nil {
		part.Kind = t.Kind.Slice(requests, groups)
	}
	if t.Tenants != nil && t.Tenants.OfPrompt != nil {
		part.Tenants = &Tenants{Names: t.Tenants.Names, OfPrompt: stream.Cut(t.Tenants.OfPrompt, groups)}
	}
	return &part
}

// Group returns the objects that group i requests, and the position of the first.
func (t *Trace) Group(i int) (objects []uint32, first int) {
	first, end := t.Groups[i], len(t.Objects)
	if i+1 < len(t.Groups) {
		end = t.Groups[i+1]
	}
	return t.Objects[first:end], first
}

// Bytes returns the memory of the columns, without next uses. Room that was never written to does not count.
func (t *Trace) Bytes() int64 {
	bytes := stream.ColumnBytes(t.Objects) + stream.ColumnBytes(t.ObjectSizes) + stream.ColumnBytes(t.RequestSizes) +
		stream.ColumnBytes(t.Times) + stream.ColumnBytes(t.Ends) +
		stream.ColumnBytes(t.Ops) + stream.ColumnBytes(t.Loads) + stream.ColumnBytes(t.passed) +
		stream.ColumnBytes(t.Served) + stream.ColumnBytes(t.Removals) +
		stream.ColumnBytes(t.Groups) + stream.ColumnBytes(t.Keys)
	if t.Labels != nil {
		bytes += stream.ColumnBytes(t.Labels.Of)
	}
	if t.Tenants != nil {
		bytes += stream.ColumnBytes(t.Tenants.Of) + stream.ColumnBytes(t.Tenants.OfPrompt)
	}
	for _, k := range t.Keys {
		bytes += int64(len(k.Text))
	}
	if t.Kind != nil {
		bytes += t.Kind.Bytes()
	}
	return bytes
}

// Key returns the key of an object: its number where the keys of the files were not requested.
func (t *Trace) Key(object int) stream.Key {
	if t.Keys != nil {
		return t.Keys[object]
	}
	return stream.Key{Num: uint64(object)}
}

// HasSizes reports whether requests carry sizes.
func (t *Trace) HasSizes() bool { return t.ObjectSizes != nil }

// Size returns the size in bytes of the request at pos. The trace must have sizes.
func (t *Trace) Size(pos int) int64 {
	if t.RequestSizes != nil {
		return t.RequestSizes[pos]
	}
	return t.ObjectSizes[t.Objects[pos]]
}

// Footprint returns the bytes of all objects: the sum of their first sizes above 0. WithoutZeroSizes does not change
// it.
func (t *Trace) Footprint() int64 {
	var sum int64
	empty := false
	for _, s := range t.ObjectSizes {
		sum += s
		empty = empty || s == 0
	}
	if !empty || t.RequestSizes == nil {
		return sum
	}
	counted := make([]bool, t.NumObjects) // for objects whose first size is 0
	for pos, object := range t.Objects {
		if size := t.RequestSizes[pos]; size > 0 && t.ObjectSizes[object] == 0 && !counted[object] {
			counted[object] = true
			sum += size
		}
	}
	return sum
}

// Everything returns the capacity, in bytes or objects, that holds every object, whatever its size at the time.
func (t *Trace) Everything(bytes bool) (sum int64) {
	switch {
	case !bytes:
		return int64(t.NumObjects)
	case t.RequestSizes == nil:
		return t.Footprint()
	}
	for _, s := range t.RequestSizes {
		sum += s
	}
	return sum
}

// EmptyRequests returns how many requests have size 0.
func (t *Trace) EmptyRequests() (n int) {
	if !t.HasSizes() || t.RequestSizes == nil && !slices.Contains(t.ObjectSizes, 0) {
		return 0
	}
	for pos := range t.Objects {
		if t.Size(pos) == 0 {
			n++
		}
	}
	return n
}

// ReadAs says how the files of the trace were read, without their names; "" for a generator.
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

// InputFormat returns the value of read.Options.Format that reads all files of the trace in the same way again; ""
// without files, or if their formats differ.
func (t *Trace) InputFormat() string {
	if len(t.Readings) == 0 {
		return ""
	}
	spec := t.Readings[0].Spec
	if slices.ContainsFunc(t.Readings, func(r stream.Reading) bool { return r.Spec != spec }) {
		return ""
	}
	return spec
}

// Model returns the model that all prompts name, as the log writes it; "" if they name several, or none.
func (t *Trace) Model() (name string) {
	for _, r := range t.Readings {
		if len(r.Models) != 1 || name != "" && r.Models[0] != name {
			return ""
		}
		name = r.Models[0]
	}
	return name
}

// LeftOut returns how many rows of the files were left out because they are not requests.
func (t *Trace) LeftOut() int64 { return t.sum(func(r stream.Reading) int64 { return r.LeftOut }) }

// ReadsCut returns how many reads of files were cut at the end of their file.
func (t *Trace) ReadsCut() int64 { return t.sum(func(r stream.Reading) int64 { return r.Cut }) }

// BadLines returns how many lines of the files could not be read, and were left out.
func (t *Trace) BadLines() int64 { return t.sum(func(r stream.Reading) int64 { return r.Bad }) }

func (t *Trace) sum(of func(stream.Reading) int64) (n int64) {
	for _, r := range t.Readings {
		n += of(r)
	}
	return n
}

// Depths returns the depth of each object; nil unless the objects of a group continue each other.
func (t *Trace) Depths() []int32 {
	if chained, ok := t.Kind.(stream.Chained); ok {
		return chained.Depths()
	}
	return nil
}

// mostReadings is how many ways of reading are reported one by one.
const mostReadings = 8

// Lines reports how the files of the trace were read, what their writes do, and where other data of their requests come
// from; see Reading.Line.
func (t *Trace) Lines(remark string) []string {
	lines, written := Lines(t.Readings, remark), t.Written.Text()
	switch {
	case written == "":
	case len(lines) == 1:
		lines[0] += "; " + written
	default:
		lines = append(lines, written)
	}
	if d, ok := t.Kind.(stream.Described); ok {
		lines = append(lines, d.Lines()...)
	}
	return lines
}

// Lines reports in one line each way in which files were read; see Reading.Line.
func Lines(readings []stream.Reading, remark string) (lines []string) {
	for _, r := range readings[:min(len(readings), mostReadings)] {
		lines = append(lines, r.Line(remark))
	}
	if len(readings) > mostReadings {
		lines = append(lines, "... and more files, read in other ways")
	}
	return lines
}

// firstDate and afterDates are what dates are between: 1990 and 2100. Other clocks begin at 0, or anywhere.
const (
	firstDate  = 631_152_000e9
	afterDates = 4_102_444_800e9
)

// IsDate reports whether a time, in nanoseconds, is a date, and not of a clock that began when a trace did.
func IsDate(at int64) bool { return firstDate <= at && at < afterDates }

// NextUse returns the result of oracle.NextUse for the trace, or nil. Load keeps it if read.Options.NextUse is set, and
// the trace is one oracleGeneral file without tenants and parts, with correct next accesses.
func (t *Trace) NextUse() []uint32 {
	if len(t.StatedUses) != len(t.Objects) {
		return nil
	}
	return t.StatedUses
}
