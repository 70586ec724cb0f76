package files

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Listing has all files of a data set, with their sizes where they are known. It is read-only once it is complete.
type Listing struct {
	name  string            // of the file that it was read from
	paths *stream.Numbering // in the order of the listing
	sizes []int64           // -1 where it is not known
	known int               // files whose size is known
}

// NewListing returns a listing without files. It is named after its source.
func NewListing(name string) *Listing { return &Listing{name: name, paths: stream.NewNumbering()} }

// Add appends a file and its size in bytes, -1 if that is not known. Path and size must be valid, and a path new.
func (l *Listing) Add(path []byte, size int64) error {
	switch number := l.paths.OfText(path); {
	case len(path) == 0:
		return errors.New("a file without a path: want a path on each line")
	case int(number) < len(l.sizes):
		return fmt.Errorf("the file %.80q is listed twice: want each file once", path)
	}
	l.sizes = append(l.sizes, size)
	if size >= 0 {
		l.known++
	}
	return nil
}

func (l *Listing) Files() int { return len(l.sizes) }

// Write writes the listing as CSV that the option files reads.
func (l *Listing) Write(w io.Writer) error {
	rows := csv.NewWriter(w)
	rows.Write([]string{"path", "size"})
	for i, path := range l.paths.Texts() {
		size := ""
		if l.sizes[i] >= 0 {
			size = strconv.FormatInt(l.sizes[i], 10)
		}
		if strings.Contains(path, "\r\n") { // readers of CSV make a line end of the two
			return fmt.Errorf("%.60q: CSV cannot hold a carriage return before a line end", path)
		}
		rows.Write([]string{path, size}) // rows.Error reports failures
	}
	rows.Flush()
	return rows.Error()
}

// find returns the size of a file, -1 if that is not known; listed says whether it is in the listing.
func (l *Listing) find(path []byte) (size int64, listed bool) {
	number, listed := l.paths.FindText(path)
	if !listed {
		return -1, false
	}
	return l.sizes[number], true
}

// String describes the listing for the line that says how a trace was read.
func (l *Listing) String() string {
	sizes := "without sizes"
	switch l.known {
	case 0:
	case l.Files():
		sizes = "with sizes"
	default:
		sizes = fmt.Sprintf("%d of them with sizes", l.known)
	}
	noun := "files"
	if l.Files() == 1 {
		noun = "file"
	}
	return fmt.Sprintf("data set of %d %s (%s, %s)", l.Files(), noun, l.name, sizes)
}

// filesOption names the listing of the data set.
func filesOption() params.Param {
	return params.Param{Name: "files", Default: "", File: true, Doc: "file that lists all files of the data set, read " +
		"or not: CSV with the columns path and size (in bytes, empty if unknown), or a path per line"}
}

// listingOf returns the listing that the option files names; nil if it names none.
func listingOf(src *source.Source, opts params.Values) (*Listing, error) {
	path := opts.Text("files")
	if path == "" {
		return nil, nil
	}
	listing, err := src.ReadBeside(path, "listing", func(s *source.Source) (any, error) { return readListing(s) })
	if err != nil {
		return nil, err
	}
	return listing.(*Listing), nil
}

// readListing reads a listing: CSV if the first line names a column path, and else a path per line.
func readListing(src *source.Source) (*Listing, error) {
	head, err := src.Head()
	if err != nil {
		return nil, err
	}
	l := NewListing(filepath.Base(src.In.Path))
	next := nextPath(src)
	if slices.ContainsFunc(source.FirstNames(head), isPath) {
		if next, err = nextRow(src); err != nil {
			return nil, err
		}
	}
	for {
		path, size, err := next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if err := l.Add(path, size); err != nil {
			return nil, src.LineErrorf("%w", err)
		}
		if err := l.reserve(src.In.Budget, src.Place); err != nil {
			return nil, err
		}
	}
	if l.Files() == 0 {
		return nil, src.Errorf("lists no files: want a path on each line, or rows of CSV with the columns path and size")
	}
	return l, nil
}

// checkedEvery is the number of files between two checks of the memory.
const checkedEvery = 1 << 14

// reserve refuses a listing that has no memory to grow: its tables double, and the trace has its paths, too.
func (l *Listing) reserve(budget *memory.Budget, place string) error {
	if l.Files()%checkedEvery != 0 {
		return nil
	}
	return budget.Need(2*l.bytes(), fmt.Sprintf("%s: a listing of more than %d files", place, l.Files()),
		"a listing of fewer files")
}

func (l *Listing) bytes() int64 { return l.paths.TextBytes() + 8*int64(cap(l.sizes)) }

func isPath(column string) bool { return source.PlainName(column) == "path" }

// nextPath reads a path per line.
func nextPath(src *source.Source) func() ([]byte, int64, error) {
	return func() ([]byte, int64, error) {
		line, err := src.Line()
		if err == nil && len(line) == 0 {
			err = src.OnlyBlankLines()
		}
		if err == nil && bytes.IndexByte(line, 0) >= 0 {
			err = src.LineErrorf("a path with a byte 0: want text, a path on each line")
		}
		return line, -1, err
	}
}

// nextRow reads a path and, if there is such a column, a size per row.
func nextRow(src *source.Source) (func() ([]byte, int64, error), error) {
	rows := &source.Rows{Src: src, Delimiter: ','}
	if err := rows.ReadHeader(); err != nil {
		return nil, err
	}
	path, size := slices.IndexFunc(rows.Header, isPath), rows.Known([]string{"size", "filesize", "bytes"})
	if slices.ContainsFunc(rows.Header[path+1:], isPath) {
		return nil, src.Errorf("two columns path in the header: want one")
	}
	return func() ([]byte, int64, error) {
		if err := rows.Next(); err != nil {
			return nil, 0, err
		}
		if size < 0 || len(rows.Cells[size]) == 0 {
			return rows.Cells[path], -1, nil
		}
		bytes, err := source.ParseSize(rows.Cells[size])
		if err != nil {
			return nil, 0, src.LineErrorf("%w", err)
		}
		return rows.Cells[path], bytes, nil
	}, nil
}

// TableLosses are what tables of reads lose of the data set and of the blocks. Their writers embed it to implement
// source.Loser.
type TableLosses struct {
	block   int64             // bytes in a block
	listing *Listing          // nil if there is none
	read    *stream.Numbering // the files of the listing that are read; nil without a listing
}

// NewTableLosses returns the losses of requests of a kind before any file of its listing is read.
func NewTableLosses(kind stream.Kind) (l TableLosses) {
	if kind, ok := kind.(Kind); ok {
		l.block, l.listing = kind.Block, kind.Listing
	}
	if l.listing != nil {
		l.read = stream.NewNumbering()
	}
	return l
}

// Saw records that a read of a file has been written.
func (l *TableLosses) Saw(head *Head) {
	if l.listing == nil {
		return
	}
	if _, listed := l.listing.find(head.Path); listed {
		l.read.OfText(head.Path)
	}
}

func (l *TableLosses) Losses() (lost []string) {
	if l.listing != nil && l.read.Len() < l.listing.Files() {
		lost = append(lost, fmt.Sprintf("listed files that are not read (%d; name %s again with the option files)",
			l.listing.Files()-l.read.Len(), l.listing.name))
	}
	if l.block != tableBlock<<10 {
		lost = append(lost, fmt.Sprintf("blocks of %s (read the file with the option block=%d)", blockText(l.block),
			l.block>>10))
	}
	return lost
}
