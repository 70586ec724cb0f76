package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var tableFormat = source.Format{
	Name: "reads",
	Options: append(slices.Concat(Options("the column job"), ColumnOptions(),
		source.NamedOptions("", tableColumns[len(tableColumns)-1:])), source.TimeUnitOption()),
	Detect: source.CertainIf(func(head source.Head) bool { return HasReads(source.FirstNames(head)) }),
	Open:   openTable,
}

// tableReader reads a read per row.
type tableReader struct {
	rows source.Rows
	unit int64
	at   ChosenColumns
}

func openTable(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	t := &tableReader{rows: source.Rows{Src: src, Delimiter: ','}}
	err := t.rows.ReadHeader()
	if err == nil {
		t.at, err = ChooseColumns(&t.rows, opts)
	}
	if err != nil {
		return nil, stream.Fields{}, err
	}
	t.unit = t.rows.TimeOf(t.at.Time, opts)
	src.Reading.Why = "reads of no bytes of the file"
	return NewReader(src, Accesses{t.next, src.AtLine}, opts, t.at.Time >= 0)
}

func (t *tableReader) next(a *Access) error { return t.rows.Parse(func() error { return t.parse(a) }) }

// parse reads the cells of a row. An empty job or file size is not known.
func (t *tableReader) parse(a *Access) (err error) {
	cells := t.rows.Cells
	*a = Access{Head: Head{FileSize: -1}}
	a.Path = cells[t.at.Path]
	if err := a.extent(cells[t.at.Offset], cells[t.at.Length]); err != nil {
		return err
	}
	if i := t.at.FileSize; i >= 0 && len(cells[i]) > 0 {
		if a.FileSize, err = source.ParseSize(cells[i]); err != nil {
			return fmt.Errorf("file_size: %w", err)
		}
	}
	if i := t.at.Job; i >= 0 && len(cells[i]) > 0 {
		a.Job = cells[i]
	}
	if t.at.Time >= 0 {
		a.Time, err = source.ParseTime(cells[t.at.Time], t.unit)
	}
	return err
}

var tableWritable = source.Writable{
	Name: "reads", Endings: []string{".csv"}, Create: newTableWriter,
	Holds: stream.Fields{Time: true, Size: true, Groups: true}, Kind: Kind{}.Name(),
}

// tableWriter writes a read per row.
type tableWriter struct {
	*source.CSVRows
	TableLosses
}

func newTableWriter(_ context.Context, w io.Writer, _ string, fields stream.Fields) (source.RecordWriter, error) {
	if _, ok := fields.Kind.(Kind); !ok {
		return nil, errors.New("the requests are not reads of files: write csv or parquet instead")
	}
	rows, err := source.NewCSVRows(w, fields.Time, "job", "path", "offset", "length", "file_size")
	return &tableWriter{rows, NewTableLosses(fields.Kind)}, err
}

// Write implements source.RecordWriter. The blocks of a read that follow its first say nothing new.
func (t *tableWriter) Write(rec *stream.Record) error {
	head := HeadOf(rec)
	if head == nil {
		return nil
	}
	for _, text := range [][]byte{head.Path, head.Job} {
		if bytes.Contains(text, []byte("\r\n")) { // readers of CSV make a line end of the two
			return fmt.Errorf("%.60q: CSV cannot hold a carriage return before a line end", text)
		}
	}
	t.Saw(head)
	size := ""
	if head.FileSize >= 0 {
		size = strconv.FormatInt(head.FileSize, 10)
	}
	return t.WriteRow(rec.Time, string(head.Job), string(head.Path), strconv.FormatInt(head.Offset, 10),
		strconv.FormatInt(head.Length, 10), size)
}
