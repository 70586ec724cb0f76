// Package files is the kind of workload of jobs that read files: each read requests the blocks of a file that it
// touches. It has the columns of such requests and the formats that hold them.
package files

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Formats are the formats of reads of files; Writables can be written, too.
var (
	Formats = []source.Format{
		tableFormat, dftracerFormat, juicefsFormat, straceFormat, fioFormat, blkparseFormat,
	}
	Writables = []source.Writable{tableWritable}
)

// Kind are reads of files, in blocks.
type Kind struct {
	Block   int64    // bytes in a block
	Listing *Listing // the files of the data set; nil: those that are read
}

func (k Kind) Name() string { return "file reads" }

func (k Kind) Request() string {
	text := "reads of files in blocks of " + blockText(k.Block)
	if k.Listing != nil {
		text += ", " + k.Listing.String()
	}
	return text
}

func (k Kind) Format() string { return tableFormat.Name }

func (k Kind) Lost() string {
	return "which blocks a read requests, jobs, offsets, lengths and sizes of files"
}

func (k Kind) Conflict(other stream.Kind) string {
	switch o, ok := other.(Kind); {
	case !ok:
		return "only one of them has reads of files"
	case k.Block != o.Block:
		return fmt.Sprintf("blocks of %s and of %s", blockText(k.Block), blockText(o.Block))
	case k.Listing != o.Listing:
		return "they have different listings of files"
	}
	return ""
}

// Unrepeated implements stream.Kind: one pass over a data set reads each block once.
func (k Kind) Unrepeated() string { return "what was prefetched" }

// Grouped implements stream.Kind: a read is a unit.
func (k Kind) Grouped() bool                    { return true }
func (k Kind) Units(bool) (stream.Units, error) { return &units{}, nil }

func (k Kind) NewColumns(stream.Fields) stream.ColumnsBuilder {
	return &builder{Columns: Columns{Block: k.Block}, listing: k.Listing,
		jobs: stream.NewNumbering(), files: stream.NewNumbering()}
}

// Table implements stream.Kind: a read requests several blocks, so it is no row of a table of requests.
func (k Kind) Table() *stream.Table { return nil }

// fieldsOf returns what records of reads carry. Without a clock reads have no times: if requests were counted instead,
// models would take a second per block for the computing time of the job.
func fieldsOf(kind Kind, clock bool) stream.Fields {
	return stream.Fields{Time: clock, Size: true, Groups: true, Kind: kind}
}

// blockText writes the size of a block as the option takes it.
func blockText(bytes int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if bytes%unit.bytes == 0 {
			return fmt.Sprintf("%d %s", bytes/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// Head is a read as a whole. It belongs to the record of the read's first block. It implements stream.Extra.
type Head struct {
	Job    []byte // name of the job that reads; nil where it is not known
	Path   []byte // of the file
	Offset int64  // first byte
	Length int64  // bytes, at least 1
	Blocks int64  // blocks that the read touches
	// FileSize is the size of the file in bytes, -1 where it is not known. A read ends within the file.
	FileSize int64
}

func (h *Head) Clone() stream.Extra {
	copied := *h
	copied.Job, copied.Path = bytes.Clone(h.Job), bytes.Clone(h.Path)
	return &copied
}

// HeadOf returns the read that begins with rec; nil if none does.
func HeadOf(rec *stream.Record) *Head {
	head, _ := rec.Extra.(*Head)
	return head
}

// units follows the reads among the records. It implements stream.Units.
type units struct {
	left int64 // blocks of the read that are yet to come
}

func (u *units) Take(rec *stream.Record) error {
	if rec.Begins {
		u.left = HeadOf(rec).Blocks
	}
	u.left--
	return nil
}

// SampledBy implements stream.Units: all blocks of a file belong to a sample, or none.
func (u *units) SampledBy(rec *stream.Record) uint64 { return stream.HashText(HeadOf(rec).Path) }
func (u *units) Last() bool                          { return u.left == 0 }

// Of returns the columns of reads of files; nil for other requests.
func Of(kind stream.Columns) *Columns {
	c, _ := kind.(*Columns)
	return c
}

// Columns are reads of files. The blocks of a read are its group; an object is a block of a file. It implements
// stream.Warner.
type Columns struct {
	Block int64 // bytes in a full block

	Jobs    []int32 // per read: number of the job, -1 where it is not known; nil where no job is
	Offsets []int64 // per read: first byte
	Lengths []int64 // per read: bytes

	Files   []int32 // per object: number of the file
	Numbers []int64 // per object: which block of the file, from 0

	JobNames []string // per job
	// Paths has the path of each file: first the files that are read, in the order of their first read, then the
	// others in the listing, in its order.
	Paths []string
	// Sizes has the size of each file in bytes. If it is not known, it is the largest end of a read.
	Sizes []int64
	Known []bool // per file: its size is known
	// Listed says that there was a listing of the data set. Files that are read without being in it count as Unlisted.
	Listed   bool
	Read     int // files that are read
	Unlisted int
	// Late counts reads with an earlier time than the previous read. Reads keep the order of the trace.
	Late int
}

// BlocksOf returns how many blocks a file has: 1 if its size is not known and nobody reads it.
func (c *Columns) BlocksOf(file int) int64 {
	if c.Sizes[file] == 0 && !c.Known[file] {
		return 1
	}
	return (c.Sizes[file] + c.Block - 1) / c.Block
}

func (c *Columns) Warnings() (warnings []string) {
	if c.Late > 0 {
		warnings = append(warnings, fmt.Sprintf("out of order: the times of %d of the %d reads are before that of the "+
			"previous read; reads keep the order of the files, and --merge puts those of several files in order of time",
			c.Late, len(c.Offsets)))
	}
	switch {
	case c.Unlisted == 0:
		return warnings
	case c.Unlisted == c.Read:
		return append(warnings, fmt.Sprintf("no file that is read is in the listing: the trace reads %.100q, the "+
			"listing has %.100q, and paths must be equal", c.Paths[0], c.Paths[c.Read]))
	}
	return append(warnings, fmt.Sprintf("not in the listing, and added to it: %d of the %d files that are read",
		c.Unlisted, c.Read))
}

// ObjectSizes implements stream.Sized: the last block of a file ends with the file.
func (c *Columns) ObjectSizes() []int64 {
	sizes := make([]int64, len(c.Files))
	for o, file := range c.Files {
		sizes[o] = min(c.Block, c.Sizes[file]-c.Numbers[o]*c.Block)
	}
	return sizes
}

// leastFileBits is the least number of bits of an address for the block within its file. Prefetchers that tell streams
// by zones of addresses then never have two files in one zone, unless a zone is set larger than that.
const leastFileBits = 16

// FileBits returns how many bits of an address number the block in its file. The others are the position of the file in
// the order of the paths.
func (c *Columns) FileBits() (shift int, err error) {
	last := int64(0) // largest number of a block
	for file := range c.Sizes {
		last = max(last, c.BlocksOf(file)-1)
	}
	shift = max(bits.Len64(uint64(last))+1, leastFileBits)
	if shift+bits.Len(uint(max(len(c.Paths)-1, 0))) > 64 {
		return 0, fmt.Errorf("%d files of up to %d blocks: their blocks have more than 2^64 addresses; larger blocks "+
			"have fewer", len(c.Paths), last+1)
	}
	return shift, nil
}

// Addresses implements stream.Addressed. Files are in the order of their paths. The address after the last block of a
// file is not the next file's.
func (c *Columns) Addresses() (stream.Addresses, error) {
	shift, err := c.FileBits()
	if err != nil {
		return stream.Addresses{}, err
	}
	inOrder := make([]int32, len(c.Paths))
	for file := range inOrder {
		inOrder[file] = int32(file)
	}
	slices.SortFunc(inOrder, func(a, b int32) int { return strings.Compare(c.Paths[a], c.Paths[b]) })
	rank := make([]uint64, len(c.Paths))
	for i, file := range inOrder {
		rank[file] = uint64(i)
	}
	a := stream.Addresses{Of: make([]uint64, len(c.Files))}
	for o, file := range c.Files {
		a.Of[o] = rank[file]<<shift | uint64(c.Numbers[o])
	}
	a.Exists = func(address uint64) bool {
		place := address >> shift
		return place < uint64(len(inOrder)) && int64(address&(1<<shift-1)) < c.BlocksOf(int(inOrder[place]))
	}
	a.KeyAt = func(address uint64) stream.Key {
		path := []byte(c.Paths[inOrder[address>>shift]])
		return stream.Key{Text: string(appendKey(nil, path, int64(address&(1<<shift-1))))}
	}
	return a, nil
}

func (c *Columns) Slice(_, reads stream.Span) stream.Columns {
	part := *c
	part.Jobs = stream.Cut(c.Jobs, reads)
	part.Offsets = c.Offsets[reads.From:reads.To]
	part.Lengths = c.Lengths[reads.From:reads.To]
	return &part
}

// Only implements stream.Columns: single blocks make no reads.
func (c *Columns) Only(stream.Chosen) stream.Columns { return nil }
func (c *Columns) Torn() bool                        { return true }

func (c *Columns) Bytes() int64 {
	bytes := stream.ColumnBytes(c.Jobs) + stream.ColumnBytes(c.Offsets) + stream.ColumnBytes(c.Lengths) +
		stream.ColumnBytes(c.Files) + stream.ColumnBytes(c.Numbers) + stream.ColumnBytes(c.JobNames) +
		stream.ColumnBytes(c.Paths) + stream.ColumnBytes(c.Sizes) + stream.ColumnBytes(c.Known)
	for _, all := range [][]string{c.Paths, c.JobNames} {
		for _, name := range all {
			bytes += int64(len(name))
		}
	}
	return bytes
}

// builder collects the reads of a trace while it loads.
type builder struct {
	Columns
	listing     *Listing // nil if there is none
	jobs, files *stream.Numbering
	number      int64 // of the next block
	file        uint32
	time        int64                 // of the last read
	keeps       func(key uint64) bool // whether a unit belongs to the sample; nil: all do
}

// Sample implements stream.SampledBuilder: files that nobody reads belong to a sample as others do.
func (c *builder) Sample(keeps func(key uint64) bool) { c.keeps = keeps }

// Add implements stream.ColumnsBuilder. The request is for the next block of the read.
func (c *builder) Add(rec *stream.Record, object uint32) error {
	if object > math.MaxInt32-1 { // files are int32, and each has an object
		return stream.ErrTooManyObjects
	}
	if rec.Begins {
		c.addRead(HeadOf(rec))
		if rec.Time < c.time {
			c.Late++
		}
		c.time = rec.Time
	}
	if int(object) == len(c.Files) {
		c.Files = append(c.Files, int32(c.file))
		c.Numbers = append(c.Numbers, c.number)
	}
	c.number++
	return nil
}

func (c *builder) addRead(head *Head) {
	job := int32(-1)
	if head.Job != nil {
		job = int32(c.jobs.OfText(head.Job))
	}
	c.Jobs = append(c.Jobs, job)
	c.Offsets = append(c.Offsets, head.Offset)
	c.Lengths = append(c.Lengths, head.Length)
	file := c.files.OfText(head.Path)
	if int(file) == len(c.Sizes) {
		c.Sizes = append(c.Sizes, 0)
		c.Known = append(c.Known, false)
	}
	c.Sizes[file] = max(c.Sizes[file], head.FileSize, head.Offset+head.Length)
	c.Known[file] = c.Known[file] || head.FileSize >= 0
	c.file, c.number = file, head.Offset/c.Block
}

// Finish implements stream.ColumnsBuilder. The columns are a copy, so that the tables of the names are released.
func (c *builder) Finish() stream.Columns {
	c.Read = c.files.Len()
	if c.listing != nil {
		c.addListing()
	}
	columns := c.Columns
	columns.JobNames, columns.Paths = c.jobs.Texts(), c.files.Texts()
	for i, name := range columns.JobNames {
		columns.JobNames[i] = terminal.Label(name)
	}
	if len(columns.JobNames) == 0 {
		columns.Jobs = nil
	}
	return &columns
}

// addListing adds the files that nobody reads.
func (c *builder) addListing() {
	c.Listed = true
	c.Unlisted = c.Read
	for i, path := range c.listing.paths.Texts() {
		if c.keeps != nil && !c.keeps(stream.HashText([]byte(path))) {
			continue
		}
		if file := c.files.OfText([]byte(path)); int(file) < c.Read {
			c.Unlisted--
			continue
		}
		c.Sizes = append(c.Sizes, max(0, c.listing.sizes[i]))
		c.Known = append(c.Known, c.listing.sizes[i] >= 0)
	}
}
