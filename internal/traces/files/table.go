package files

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var tableFormat = source.Format{
	Name:      "reads",
	Summary:   "reads of files as CSV with a header: time, job, path, offset and length in bytes, size of the file",
	Example:   "time,job,path,offset,length,file_size\n0.25,train,/data/train/n01440764/18.JPEG,0,131072,140512",
	Carries:   "file reads: path, offset, length, and time, job, file size where they are known",
	Detection: "a header with the columns path, offset and length",
	Options: []params.Param{
		blockOption(4096), filesOption(), jobOption("the column job"),
		{Name: "time-unit", Default: "s", Choices: []string{"s", "ms", "us", "ns"}, Doc: "unit of time"},
	},
	Detect: source.CertainIf(looksLikeTable),
	Open:   openTable,
}

// tableColumns are the columns of a table, of which the first three are always there.
var tableColumns = []string{"path", "offset", "length", "time", "job", "file_size"}

func looksLikeTable(head source.Head) bool {
	if len(head.Lines) == 0 {
		return false
	}
	cells := source.CutLoosely(nil, head.Lines[0], ',')
	var header []string
	for _, cell := range cells {
		header = append(header, string(cell))
	}
	return !slices.ContainsFunc(tableColumns[:3], func(name string) bool {
		return !slices.ContainsFunc(header, isColumn(name))
	})
}

// isColumn returns whether a column of the header is that with a name, whatever its case, blanks and punctuation.
func isColumn(name string) func(header string) bool {
	return func(header string) bool { return source.PlainName(header) == source.PlainName(name) }
}

// tableReader reads a read per row.
type tableReader struct {
	rows source.Rows
	unit int64
	at   map[string]int // column by name, -1 for none
}

func openTable(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	t := &tableReader{rows: source.Rows{Src: src, Delimiter: ','}, unit: source.TimeUnits[opts.Text("time-unit")]}
	if err := t.rows.ReadHeader(); err != nil {
		return nil, stream.Fields{}, err
	}
	t.at = map[string]int{}
	for i, name := range tableColumns {
		t.at[name] = slices.IndexFunc(t.rows.Header, isColumn(name))
		if i < 3 && t.at[name] < 0 {
			return nil, stream.Fields{}, src.Errorf("no column %s in the header: want path, offset and length, and time, job "+
				"and file_size where they are known", name)
		}
		if again := t.rows.Header[t.at[name]+1:]; t.at[name] >= 0 && slices.ContainsFunc(again, isColumn(name)) {
			return nil, stream.Fields{}, src.Errorf("two columns %s in the header: want one", name)
		}
	}
	clock := t.at["time"] >= 0
	if clock {
		src.Reading.Time = "time in " + opts.Text("time-unit")
	}
	src.Reading.Why = "reads of no bytes of the file"
	return newReader(src, t, opts, clock)
}

// next implements accessSource.
func (t *tableReader) next(a *access) error {
	if err := t.rows.Next(); err != nil {
		return err
	}
	*a = access{Head: Head{FileSize: -1, Path: t.rows.Cells[t.at["path"]]}}
	if err := t.parse(a); err != nil {
		return t.rows.Src.LineErrorf("%w", err)
	}
	return nil
}

// parse reads the cells of a row. An empty job or file size is not known.
func (t *tableReader) parse(a *access) (err error) {
	cell := func(name string) []byte {
		if t.at[name] < 0 {
			return nil
		}
		return t.rows.Cells[t.at[name]]
	}
	if err := a.extent(cell("offset"), cell("length")); err != nil {
		return err
	}
	if text := cell("file_size"); len(text) > 0 {
		if a.FileSize, err = source.ParseSize(text); err != nil {
			return fmt.Errorf("file_size: %w", err)
		}
	}
	if text := cell("job"); len(text) > 0 {
		a.Job = text
	}
	if t.at["time"] >= 0 {
		a.time, err = source.ParseTime(cell("time"), t.unit)
	}
	return err
}

var tableWritable = source.Writable{
	Name: "reads", Endings: []string{".csv"}, Create: newTableWriter,
	Holds: stream.Fields{Time: true, Size: true, Groups: true}, Kind: Kind{}.Name(), Clockless: true,
}

// tableWriter writes a read per row.
type tableWriter struct {
	buffer bytes.Buffer
	w      io.Writer
	rows   *csv.Writer
	clock  bool
	cells  []string

	listing *Listing          // nil if there is none
	read    *stream.Numbering // the files of the listing that are read; nil without a listing
}

func newTableWriter(_ context.Context, w io.Writer, _ string, fields stream.Fields) (source.RecordWriter, error) {
	kind, ok := fields.Kind.(Kind)
	if !ok {
		return nil, errors.New("the requests are not reads of files: write csv or parquet instead")
	}
	t := &tableWriter{w: w, clock: fields.Time && !fields.Counted}
	if kind.Listing != nil {
		t.listing, t.read = kind.Listing, stream.NewNumbering()
	}
	t.rows = csv.NewWriter(&t.buffer)
	header := []string{"job", "path", "offset", "length", "file_size"}
	if t.clock {
		header = append([]string{"time"}, header...)
	}
	return t, t.write(header)
}

// write writes a row at once, so that an error names its request.
func (t *tableWriter) write(cells []string) error {
	t.buffer.Reset()
	if err := t.rows.Write(cells); err != nil {
		return err
	}
	t.rows.Flush()
	_, err := t.w.Write(t.buffer.Bytes())
	return err
}

// Write implements source.RecordWriter. The blocks of a read that follow its first say nothing new.
func (t *tableWriter) Write(rec *stream.Record) error {
	head := HeadOf(rec)
	if head == nil {
		return nil
	}
	t.cells = t.cells[:0]
	if t.clock {
		t.cells = append(t.cells, string(source.AppendSeconds(nil, rec.Time)))
	}
	for _, text := range [][]byte{head.Path, head.Job} {
		if bytes.Contains(text, []byte("\r\n")) { // readers of CSV make a line end of the two
			return fmt.Errorf("%.60q: CSV cannot hold a carriage return before a line end", text)
		}
	}
	if t.listing != nil {
		if _, listed := t.listing.find(head.Path); listed {
			t.read.OfText(head.Path)
		}
	}
	size := ""
	if head.FileSize >= 0 {
		size = strconv.FormatInt(head.FileSize, 10)
	}
	t.cells = append(t.cells, string(head.Job), string(head.Path), strconv.FormatInt(head.Offset, 10),
		strconv.FormatInt(head.Length, 10), size)
	return t.write(t.cells)
}

// Losses implements source.Loser.
func (t *tableWriter) Losses() []string {
	if t.listing == nil || t.read.Len() == t.listing.Files() {
		return nil
	}
	return []string{fmt.Sprintf("listed files that are not read (%d; name %s again with the option files)",
		t.listing.Files()-t.read.Len(), t.listing.name)}
}

func (t *tableWriter) Finish() error { return nil }
func (t *tableWriter) Discard()      {}
