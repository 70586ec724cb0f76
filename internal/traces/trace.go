// Package traces reads traces of requests in many formats and compressions into columns that replay fast.
// Open streams the records of a file; Load turns files into a Trace with dense object numbers.
//
// To add a format, write one file with its Format and add it to the table in formats.go.
package traces

import (
	"slices"
	"strconv"
	"unsafe"
)

// Trace is a sequence of requests in columns. It is read-only after Load and shared by all replays. Memory: 4 bytes per
// request, plus 8 per object for sizes, plus 8 per request for each of RequestSizes and Times and 1 for Ops where
// present, plus 24 per object and the text for Keys. While it loads, 20 to 30 more per object find the number of a key.
type Trace struct {
	Name       string   // how the trace is named in records: the base name of its file, or several joined with "+"
	Objects    []uint32 // per request: the object's dense number, 0 to NumObjects-1 in order of first appearance
	NumObjects int

	// Sizes in bytes. Both nil: the trace has no sizes, or they were not asked for. RequestSizes is set only where an
	// object changes its size within the trace; then ObjectSizes holds each object's first size.
	ObjectSizes  []int64
	RequestSizes []int64

	// Times in nanoseconds, per request; nil where the trace has no clock or it was not asked for. They are those of the
	// files, and so may go back.
	Times []int64

	Ops  []Op  // per request; nil where the format has none or they were not asked for
	Keys []Key // per object: the key in the file; nil unless asked for

	// Groups are the positions at which requests that come together begin, the first of them 0: the blocks of a prompt,
	// the keys of a batch. Nil: each request comes alone.
	Groups []int
	// Prompts holds what is known of prompts and their blocks; nil unless the groups are prompts.
	Prompts *Prompts
	// Queries holds what is known of queries in words; nil unless the trace has them and they were asked for.
	Queries *Queries

	// Starts are the positions at which a file begins that is to be replayed through an empty cache, the first of them 0.
	// Nil: the whole trace is one sequence.
	Starts []int

	Tenants *Tenants // whose the objects are; nil unless asked for

	Readings   []Reading // what the files, or the generator, were read as, each way once
	Warnings   []string  // of what is read in a way that makes little sense
	SampleRate float64   // share of the keys that were kept, 1 without sampling

	SampledFrom int  // requests of which a sample was taken; 0 without sampling
	Limited     bool // reading ended at LoadOptions.Limit
}

// Prompts are the requests to a language model. The blocks of a prompt are its group; an object is a block together
// with all that comes before it in its prompt, so equal objects begin equal prefixes.
type Prompts struct {
	BlockTokens int // tokens in a full block
	// InputTokens are the lengths of the prompts. Block i of a prompt holds min(BlockTokens, InputTokens - i BlockTokens)
	// tokens, so n leading blocks hold min(n BlockTokens, InputTokens). Files that leave out a last, partial block have up
	// to BlockTokens-1 tokens beyond the blocks.
	InputTokens  []int32
	OutputTokens []int32 // per prompt; nil where they are not known
	Sessions     []int32 // per prompt: the dense number of its conversation; nil where it is not known
	// nanoseconds, per prompt, never negative; nil without a clock. Like Times they may go back where the file does
	Arrivals []int64
	Parents  []int32 // per object: the block before it in its prompt, -1 for the first

	SessionKeys []uint64 // per conversation: the number that it has in the file, or the hash of its name; nil as Sessions
}

// Depths returns for each object the tokens from the root of the prefix tree to the end of the block, every block taken
// as full. Without prompts it returns nil.
func (p *Prompts) Depths() []int32 {
	if p == nil {
		return nil
	}
	depths := make([]int32, len(p.Parents))
	for o, parent := range p.Parents {
		depths[o] = int32(p.BlockTokens)
		if parent >= 0 {
			depths[o] += depths[parent] // it appeared first, so its number is lower
		}
	}
	return depths
}

// Parts returns the sequences of the trace that are each replayed through an empty cache, with the object numbers of
// the whole: the trace itself where Starts is nil.
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
	part.Starts = nil
	part.Objects = t.Objects[from:to]
	if t.RequestSizes != nil {
		part.RequestSizes = t.RequestSizes[from:to]
	}
	if t.Times != nil {
		part.Times = t.Times[from:to]
	}
	if t.Ops != nil {
		part.Ops = t.Ops[from:to]
	}
	if t.Groups != nil {
		part.Groups, part.Prompts = t.sliceGroups(from, to)
	}
	if t.Queries != nil {
		queries := *t.Queries
		queries.Sessions = cut(queries.Sessions, from, to)
		part.Queries = &queries
	}
	return &part
}

// sliceGroups returns the groups of the requests [from, to), which begin and end with one, as positions from 0 on, and
// what is known of their prompts.
func (t *Trace) sliceGroups(from, to int) ([]int, *Prompts) {
	first, _ := slices.BinarySearch(t.Groups, from)
	end, _ := slices.BinarySearch(t.Groups, to)
	groups := make([]int, end-first)
	for i := range groups {
		groups[i] = t.Groups[first+i] - from
	}
	if t.Prompts == nil {
		return groups, nil
	}
	p := *t.Prompts
	p.InputTokens = p.InputTokens[first:end]
	p.OutputTokens = cut(p.OutputTokens, first, end)
	p.Sessions = cut(p.Sessions, first, end)
	p.Arrivals = cut(p.Arrivals, first, end)
	return groups, &p
}

// cut returns a part of a column that may not be there.
func cut[T any](column []T, from, to int) []T {
	if column == nil {
		return nil
	}
	return column[from:to]
}

// Bytes returns the memory that the columns take. Room that nothing was written to is none.
func (t *Trace) Bytes() int64 {
	bytes := column(t.Objects) + column(t.ObjectSizes) + column(t.RequestSizes) + column(t.Times) + column(t.Ops) +
		column(t.Groups) + column(t.Keys)
	if t.Tenants != nil {
		bytes += column(t.Tenants.Of)
	}
	for _, k := range t.Keys {
		bytes += int64(len(k.Text))
	}
	if p := t.Prompts; p != nil {
		bytes += column(p.InputTokens) + column(p.OutputTokens) + column(p.Sessions) + column(p.Arrivals) +
			column(p.Parents) + column(p.SessionKeys)
	}
	if q := t.Queries; q != nil {
		bytes += column(q.Vectors) + column(q.Texts) + column(q.Topics) + column(q.Answers) + column(q.Sessions)
		for _, text := range q.Texts {
			bytes += int64(len(text))
		}
	}
	return bytes
}

// column returns the bytes of a column.
func column[T any](values []T) int64 {
	var one T
	return int64(len(values)) * int64(unsafe.Sizeof(one))
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

// Footprint returns the bytes of all objects: the sum of the first sizes above 0 that they have. It is that of
// WithoutZeroSizes, too.
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
	counted := make([]bool, t.NumObjects) // of objects that begin empty
	for pos, object := range t.Objects {
		if size := t.RequestSizes[pos]; size > 0 && t.ObjectSizes[object] == 0 && !counted[object] {
			counted[object] = true
			sum += size
		}
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

// Op is what a request does.
type Op uint8

const (
	OpUnknown Op = iota
	OpRead       // get, read, pread
	OpWrite      // set, write, put
	OpDelete
)

// String returns the word that stands for o in text formats, "" for OpUnknown.
func (o Op) String() string {
	switch o {
	case OpRead:
		return "read"
	case OpWrite:
		return "write"
	case OpDelete:
		return "delete"
	}
	return ""
}

// Key is the name of an object in a trace file: a number, or text that is not a canonical decimal number.
// "7" and "7.0" are the number 7; "007" and "+7" are text, so that different spellings stay different objects.
type Key struct {
	Num  uint64
	Text string // "" for a number
}

// String returns the key as it stands in a text file.
func (k Key) String() string {
	if k.Text != "" {
		return k.Text
	}
	return strconv.FormatUint(k.Num, 10)
}

// Record is one request as a file states it.
type Record struct {
	Time int64 // nanoseconds, never negative; 0 where the format has none
	Size int64 // bytes, never negative; 0 where the format has none
	Num  uint64
	Text []byte // key text, nil for a numeric key; valid until the next call of Read
	Op   Op

	Tenant []byte // only where Fields.Tenant, and valid until the next call of Read

	Begins bool // the request begins a group: see Trace.Groups
	// of the prompt that begins here; only where Fields.BlockTokens, and valid until the next call of Read
	Prompt *PromptHead
	Query  *QueryHead // only where Fields.Queries, and valid until the next call of Read
}

// Reader streams the records of one trace. Read fills rec and returns io.EOF after the last record. Every other error
// names file, line or byte offset and what was expected, and ends the stream.
type Reader interface {
	Read(rec *Record) error
}

// Fields says what the records of a reader carry.
type Fields struct {
	Time, Size, Op bool

	Tenant      bool // requests name their tenants
	Groups      bool // requests come in groups, so that Record.Begins says something
	BlockTokens int  // tokens in a block of the prompts that the groups are, with Record.Prompt; 0: they are no prompts
	Sessions    bool // prompts belong to conversations: PromptHead.Session
	Queries     bool // requests are queries in words, with Record.Query

	// Counted says that the file has no clock and that time counts requests: Scan and Load make Record.Time the number of
	// the request among all that are read, from 0, in seconds.
	Counted bool
}
