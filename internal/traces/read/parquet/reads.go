package parquet

import (
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// readsOptions are the options of files whose rows are reads of files.
func readsOptions() []params.Param {
	return slices.Concat(files.Options("the column job"), files.ColumnOptions())
}

func holdsReads(kinds []stream.Kind) bool {
	return slices.ContainsFunc(kinds, func(k stream.Kind) bool {
		_, ok := k.(files.Kind)
		return ok
	})
}

// readColumns are the cursors of a file whose rows are reads of files. They implement files.Accesses.
type readColumns struct {
	*reader
	path, offset, length, time, job, fileSize *cursor // the last three are nil without such a column
	pathText, jobText                         []byte
}

// isReads decides whether rows are reads of files: they have the columns, or options name some, and no key is named.
func (p *reader) isReads(header []string, opts params.Values) (bool, error) {
	named := ""
	for _, option := range readsOptions() {
		if opts[option.Name] != option.Default {
			named = option.Name
		}
	}
	reads := opts.Text("key") == "" && (files.HasReads(header) ||
		opts.Text("path") != "" && opts.Text("offset") != "" && opts.Text("length") != "")
	if !reads && named != "" {
		return false, p.src.Errorf("the option %s is for reads of files: want the columns path, offset and length, or "+
			"options that name others, and no option key", named)
	}
	return reads, nil
}

// openReads begins to read a file whose rows are reads of files.
func (p *reader) openReads(table *source.Rows, all []*parquet.Column, opts params.Values) (stream.Reader,
	stream.Fields, error) {
	if opts.Text("tenant") != "" {
		return nil, stream.Fields{}, p.src.Errorf("holds reads of files, whose tenants are jobs or directories: write " +
			"--tenant job, or --tenant 'directory(depth=1)'")
	}
	for _, option := range []string{"size", "op"} {
		if opts.Text(option) != "" {
			return nil, stream.Fields{}, p.src.Errorf("reads of files have no column of the %s: leave the option out, or name "+
				"the key of plain objects with the option key", option)
		}
	}
	chosen, err := files.ChooseColumns(table, opts)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	r := &readColumns{reader: p}
	for _, c := range []struct {
		cursor **cursor
		index  int
		use    string
		accept func(*cursor) error
	}{
		{&r.path, chosen.Path, "path", (*cursor).acceptKey},
		{&r.offset, chosen.Offset, "offset", (*cursor).acceptInteger},
		{&r.length, chosen.Length, "length", (*cursor).acceptInteger},
		{&r.time, chosen.Time, "time", func(c *cursor) error { return p.acceptTime(c, opts) }},
		{&r.job, chosen.Job, "job", (*cursor).acceptKey},
		{&r.fileSize, chosen.FileSize, "size of the file", (*cursor).acceptInteger},
	} {
		if *c.cursor, err = p.choose(all, c.index, c.use, c.accept); err != nil {
			return nil, stream.Fields{}, err
		}
	}
	p.src.Reading.Why = "reads of no bytes of the file"
	if r.time != nil {
		p.src.Reading.Time = "time" + r.time.timeKind()
	}
	return files.NewReader(p.src, r, opts, r.time != nil)
}

// choose returns the cursor of a column; nil without one.
func (p *reader) choose(all []*parquet.Column, index int, use string, accept func(*cursor) error) (*cursor, error) {
	if index < 0 {
		return nil, nil
	}
	c := &cursor{column: all[index]}
	if err := accept(c); err != nil {
		return nil, p.src.Errorf("column %q cannot be the %s: it holds %s, want %w", c.column.Name(), use,
			describeColumn(c.column), err)
	}
	p.chosen = append(p.chosen, c)
	return c, nil
}

func (r *readColumns) Next(a *files.Access) error {
	for r.rows == 0 {
		if err := r.nextGroup(); err != nil {
			return err
		}
	}
	r.rows--
	r.row++
	*a = files.Access{Head: files.Head{FileSize: -1}}
	if err := r.readAccess(a); err != nil {
		return r.At(err)
	}
	return nil
}

func (r *readColumns) At(err error) error { return r.src.Errorf("row %d: %w", r.row, err) }

func (r *readColumns) readAccess(a *files.Access) error {
	path, err := r.path.next()
	if err != nil {
		return err
	}
	r.pathText = r.path.appendText(r.pathText[:0], path)
	a.Path = r.pathText
	if a.Offset, err = r.offset.nextSize(); err != nil {
		return err
	}
	if a.Length, err = r.length.nextSize(); err != nil {
		return err
	}
	if r.time != nil {
		if a.Time, err = r.time.nextTime(); err != nil {
			return err
		}
	}
	if r.job != nil {
		job, err := r.job.nextOrNull()
		if err != nil {
			return err
		}
		if r.jobText = r.jobText[:0]; !job.IsNull() {
			r.jobText = r.job.appendText(r.jobText, job)
		}
		if len(r.jobText) > 0 {
			a.Job = r.jobText
		}
	}
	if r.fileSize != nil {
		size, err := r.fileSize.nextOrNull()
		if err != nil {
			return err
		}
		if !size.IsNull() {
			a.FileSize, err = r.fileSize.size(size)
		}
		return err
	}
	return nil
}

// nextSize returns the next value, a number of bytes.
func (c *cursor) nextSize() (int64, error) {
	v, err := c.next()
	if err != nil {
		return 0, err
	}
	return c.size(v)
}

func (c *cursor) size(v parquet.Value) (int64, error) {
	size, ok := whole(v, c.unsigned)
	if !ok || size < 0 || size > source.MaxSize {
		return 0, fmt.Errorf("column %q: size %v: want a whole number of bytes from 0 to 2^50", c.column.Name(), v)
	}
	return size, nil
}

// readsWriter writes a row per read: time (TIMESTAMP in ns, if there is a clock), job (a string or null), path (a
// string), offset, length (INT64, bytes) and file_size (INT64 or null).
type readsWriter struct {
	files.TableLosses
	out     *parquet.GenericWriter[any]
	columns []string // in the order of their values in a row
	row     parquet.Row
	rows    int
}

func newReadsWriter(w io.Writer, fields stream.Fields) *readsWriter {
	text := func() parquet.Node { return parquet.Encoded(parquet.String(), &parquet.RLEDictionary) }
	group := parquet.Group{"job": parquet.Optional(text()), "path": text(), "offset": parquet.Int(64),
		"length": parquet.Int(64), "file_size": parquet.Optional(parquet.Int(64))}
	if fields.Time {
		group["time"] = parquet.Timestamp(parquet.Nanosecond)
	}
	schema := parquet.NewSchema("reads", group)
	p := &readsWriter{TableLosses: files.NewTableLosses(fields.Kind)}
	for _, path := range schema.Columns() {
		p.columns = append(p.columns, path[0])
	}
	p.out = parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Zstd))
	return p
}

// Write implements source.RecordWriter. The blocks of a read that follow its first say nothing new.
func (p *readsWriter) Write(rec *stream.Record) error {
	head := files.HeadOf(rec)
	if head == nil {
		return nil
	}
	p.Saw(head)
	p.row = p.row[:0]
	for i, name := range p.columns {
		p.row = append(p.row, readValue(rec, head, name, i))
	}
	if _, err := p.out.WriteRows([]parquet.Row{p.row}); err != nil {
		return err
	}
	if p.rows++; p.rows%groupRows == 0 {
		return p.out.Flush()
	}
	return nil
}

func readValue(rec *stream.Record, head *files.Head, name string, column int) parquet.Value {
	switch name {
	case "time":
		return parquet.Int64Value(rec.Time).Level(0, 0, column)
	case "path":
		return parquet.ByteArrayValue(head.Path).Level(0, 0, column)
	case "offset":
		return parquet.Int64Value(head.Offset).Level(0, 0, column)
	case "length":
		return parquet.Int64Value(head.Length).Level(0, 0, column)
	case "job":
		if head.Job != nil {
			return parquet.ByteArrayValue(head.Job).Level(0, 1, column)
		}
	case "file_size":
		if head.FileSize >= 0 {
			return parquet.Int64Value(head.FileSize).Level(0, 1, column)
		}
	}
	return parquet.Value{}.Level(0, 0, column)
}

func (p *readsWriter) Finish() error { return p.out.Close() }
func (p *readsWriter) Discard()      {}
