package parquet

import (
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

// readColumns are the columns of a file whose rows are reads of files.
type readColumns struct {
	*reader
	access files.Access
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
	if chosen.Time >= 0 {
		p.src.Reading.Time = "time"
	}
	r := &readColumns{reader: p}
	a := &r.access
	p.fields, err = p.chooseAll(all, []use{
		{chosen.Path, "path", (*cursor).acceptKey, func(c *cursor) error { return read(c, &a.Path, (*cursor).textOf) }},
		{chosen.Offset, "offset", (*cursor).acceptInteger,
			func(c *cursor) error { return read(c, &a.Offset, (*cursor).sizeOf) }},
		{chosen.Length, "length", (*cursor).acceptInteger,
			func(c *cursor) error { return read(c, &a.Length, (*cursor).sizeOf) }},
		{chosen.Time, "time", func(c *cursor) error { return p.acceptTime(c, opts) },
			func(c *cursor) error { return read(c, &a.Time, (*cursor).timeOf) }},
		{chosen.Job, "job", (*cursor).acceptKey, func(c *cursor) error { return readAny(c, &a.Job, (*cursor).textOf) }},
		{chosen.FileSize, "size of the file", (*cursor).acceptInteger,
			func(c *cursor) error { return readAny(c, &a.FileSize, (*cursor).sizeOf) }},
	})
	if err != nil {
		return nil, stream.Fields{}, err
	}
	p.src.Reading.Why = "reads of no bytes of the file"
	return files.NewReader(p.src, files.Accesses{Next: r.next, At: r.At}, opts, chosen.Time >= 0)
}

func (r *readColumns) next(a *files.Access) error {
	if err := r.nextRow(); err != nil {
		return err
	}
	r.access = files.Access{Head: files.Head{FileSize: -1}}
	for _, field := range r.fields {
		if err := field(); err != nil {
			return r.At(err)
		}
	}
	if *a = r.access; len(a.Job) == 0 {
		a.Job = nil // as where it is null
	}
	return nil
}

// readsWriter writes a row per read: time (TIMESTAMP in ns, if there is a clock), job (a string or null), path (a
// string), offset, length (INT64, bytes) and file_size (INT64 or null).
type readsWriter struct {
	files.TableLosses
	rowWriter
}

func newReadsWriter(w io.Writer, fields stream.Fields) *readsWriter {
	text, number := parquet.Encoded(parquet.String(), &parquet.RLEDictionary), parquet.Int(64)
	var columns []outColumn
	if fields.Time {
		columns = append(columns, timeColumn)
	}
	add := func(name string, node parquet.Node, value func(*files.Head) parquet.Value) {
		columns = append(columns, outColumn{name: name, node: node, value: func(rec *stream.Record) (parquet.Value, error) {
			return value(files.HeadOf(rec)), nil
		}})
	}
	add("path", text, func(h *files.Head) parquet.Value { return parquet.ByteArrayValue(h.Path) })
	add("offset", number, func(h *files.Head) parquet.Value { return parquet.Int64Value(h.Offset) })
	add("length", number, func(h *files.Head) parquet.Value { return parquet.Int64Value(h.Length) })
	add("job", parquet.Optional(text), func(h *files.Head) parquet.Value { return textOrNull(h.Job) })
	add("file_size", parquet.Optional(number), func(h *files.Head) parquet.Value {
		if h.FileSize < 0 {
			return parquet.NullValue()
		}
		return parquet.Int64Value(h.FileSize)
	})
	return &readsWriter{files.NewTableLosses(fields.Kind), newRowWriter(w, "reads", groupRows, columns)}
}

// Write implements source.RecordWriter. The blocks of a read that follow its first say nothing new.
func (p *readsWriter) Write(rec *stream.Record) error {
	head := files.HeadOf(rec)
	if head == nil {
		return nil
	}
	p.Saw(head)
	return p.rowWriter.Write(rec)
}
