package traces

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/cachesim/cachesim/internal/params"
)

var parquetFormat = Format{
	Name: "parquet",
	Summary: "Apache Parquet with named columns: an integer or string key, and time, size and operation, or what is " +
		"known of queries, if they are there",
	Carries: "key, and time, size, op where there are columns for them; queries: session, topic, answer, text, " +
		"embedding",
	Detection:  "its signature PAR1",
	Options:    slices.Concat(columnOptions(), []params.Param{opsOption()}, queryColumnOptions()),
	Detect:     detectParquet,
	Binary:     true,
	Impossible: noParquet,
	Open:       openParquet,
}

const parquetMagic = "PAR1"

func detectParquet(head Head, _ string) Confidence {
	if strings.HasPrefix(string(head.Bytes), parquetMagic) {
		return Certain
	}
	return No
}

// noParquet says why a file is no Parquet.
func noParquet(head Head) string {
	if strings.HasPrefix(string(head.Bytes), parquetMagic) {
		return ""
	}
	return fmt.Sprintf("it does not begin with %q", parquetMagic)
}

// parquetReader reads the chosen columns side by side, one row group after another.
type parquetReader struct {
	src    *Source
	file   *parquet.File
	check  *parquetCheck
	groups []parquet.RowGroup // not yet begun
	rows   int64              // left in the current group
	row    int64              // number of the row that was read last, from 1
	ops    opFilter

	key            *parquetCursor
	time, size, op *parquetCursor  // nil without such a column
	tenant         *parquetCursor  // likewise
	queries        *parquetQueries // nil where rows are no queries
	keyText        []byte          // of a negative number
	tenantText     []byte          // of a number
}

func openParquet(src *Source, opts params.Values) (r Reader, fields Fields, err error) {
	defer recoverParquet(&err, src)
	content, size, err := src.ReaderAt()
	if err != nil {
		return nil, Fields{}, err
	}
	check := &parquetCheck{r: content, size: size, budget: src.in.budget}
	if in, ok := content.(*input); ok {
		check.r = in.file // what is looked at ahead is no progress
	}
	if err := check.footer(); err != nil {
		return nil, Fields{}, src.Errorf("%w", err)
	}
	file, err := parquet.OpenFile(content, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, Fields{}, src.Errorf("damaged Parquet: %w", err)
	}
	p := &parquetReader{src: src, file: file, check: check, groups: file.RowGroups(), ops: newOpFilter(opts.Text("ops"))}
	src.reading.Why = "not " + opts.Text("ops")
	fields, err = p.chooseColumns(opts)
	return p, fields, err
}

// contradictoryParquet is said where the Parquet package panics: what it says then is about its own code.
const contradictoryParquet = "damaged Parquet: what it says of its columns contradicts what they hold"

// recoverParquet turns a panic of the Parquet package into an error: it panics on some damaged files.
func recoverParquet(err *error, src *Source) {
	if r := recover(); r != nil {
		*err = src.Errorf("%s", contradictoryParquet)
	}
}

// chooseColumns makes the cursors.
func (p *parquetReader) chooseColumns(opts params.Values) (Fields, error) {
	table := rowReader{src: p.src}
	all := p.file.Root().Columns()
	for _, c := range all {
		table.header = append(table.header, c.Name())
	}
	table.columns = len(all)
	chosen, err := table.chooseColumns("parquet", opts)
	if err != nil {
		return Fields{}, err
	}
	for _, c := range []struct {
		cursor **parquetCursor
		index  int
		use    string
		parse  func(*parquetCursor) error
	}{
		{&p.key, chosen.key, "key", (*parquetCursor).acceptKey},
		{&p.time, chosen.time, "time", func(c *parquetCursor) error { return c.acceptTime(timeUnits[opts.Text("time-unit")]) }},
		{&p.size, chosen.size, "size", (*parquetCursor).acceptInteger},
		{&p.op, chosen.op, "operation", (*parquetCursor).acceptText},
		{&p.tenant, chosen.tenant, "tenant", (*parquetCursor).acceptKey},
	} {
		if c.index < 0 {
			continue
		}
		cursor := &parquetCursor{column: all[c.index]}
		*c.cursor = cursor
		if err := c.parse(cursor); err != nil {
			return Fields{}, p.src.Errorf(
				"column %q cannot be the %s: it holds %s, want %w",
				cursor.column.Name(),
				c.use,
				describeColumn(cursor.column),
				err,
			)
		}
	}
	table.state(chosen, opts)
	if p.time != nil {
		p.src.reading.Time += " in " + unitName(p.time.unit)
	}
	fields := chosen.fields()
	if p.queries, err = newParquetQueries(&table, all, opts); err != nil {
		return Fields{}, p.src.Errorf("%w", err)
	}
	if fields.Queries = p.queries != nil; fields.Queries {
		p.src.reading.Request = "queries"
	}
	return fields, nil
}

func describeColumn(c *parquet.Column) string {
	if !c.Leaf() || c.Repeated() {
		return "nested or repeated values"
	}
	return c.Type().String()
}

// cursors returns those of the columns that are read.
func (p *parquetReader) cursors() []*parquetCursor {
	var cursors []*parquetCursor
	for _, c := range []*parquetCursor{p.key, p.time, p.size, p.op, p.tenant} {
		if c != nil {
			cursors = append(cursors, c)
		}
	}
	if p.queries != nil {
		cursors = append(cursors, p.queries.cursors()...)
	}
	return cursors
}

// Read implements Reader.
func (p *parquetReader) Read(rec *Record) error {
	for {
		if p.rows == 0 {
			if err := p.nextGroup(); err != nil {
				return err
			}
			continue
		}
		p.rows--
		p.row++
		*rec = Record{}
		if err := p.readRow(rec); err != nil {
			return p.src.Errorf("row %d: %w", p.row, err)
		}
		if p.ops.has(rec.Op) {
			return nil
		}
		p.src.reading.LeftOut++
	}
}

// nextGroup begins the next row group; io.EOF after the last.
func (p *parquetReader) nextGroup() (err error) {
	defer recoverParquet(&err, p.src)
	for _, c := range p.cursors() {
		if err := c.end(); err != nil {
			return p.src.Errorf("after row %d: %w", p.row, err)
		}
	}
	if len(p.groups) == 0 {
		if total := p.file.NumRows(); p.row != total {
			return p.src.Errorf("damaged Parquet: it says that it has %d rows, but its row groups have %d", total, p.row)
		}
		return io.EOF
	}
	number := len(p.file.RowGroups()) - len(p.groups)
	chunks := p.groups[0].ColumnChunks()
	for _, c := range p.cursors() {
		if err := p.check.chunk(p.file.Metadata().RowGroups[number].Columns[c.column.Index()]); err != nil {
			return p.src.Errorf("column %q: %w", c.column.Name(), err)
		}
		c.pages = chunks[c.column.Index()].Pages()
	}
	p.rows = p.groups[0].NumRows()
	p.groups = p.groups[1:]
	return nil
}

func (p *parquetReader) readRow(rec *Record) error {
	key, err := p.key.next()
	if err != nil {
		return err
	}
	if err := p.setKey(rec, key); err != nil {
		return err
	}
	if p.time != nil {
		if rec.Time, err = p.time.nextTime(); err != nil {
			return err
		}
	}
	if p.size != nil {
		size, err := p.size.next()
		if err != nil {
			return err
		}
		var ok bool
		if rec.Size, ok = whole(size, p.size.unsigned); !ok || rec.Size < 0 || rec.Size > maxSize {
			return fmt.Errorf("column %q: size %v: want a whole number of bytes from 0 to 2^50", p.size.column.Name(), size)
		}
	}
	if p.op != nil {
		op, err := p.op.next()
		if err != nil {
			return err
		}
		var ok bool
		if rec.Op, ok = parseOp(op.ByteArray()); !ok {
			return fmt.Errorf("column %q: operation %.60q: want one such as get, set, read, write or delete, or "+
				"parquet:op=none to ignore the column",
				p.op.column.Name(), op.ByteArray())
		}
	}
	if p.tenant != nil {
		tenant, err := p.tenant.next()
		if err != nil {
			return err
		}
		if rec.Tenant, err = p.tenantName(tenant); err != nil {
			return err
		}
	}
	if p.queries != nil {
		rec.Query, err = p.queries.read()
	}
	return err
}

// tenantName returns a tenant as text.
func (p *parquetReader) tenantName(v parquet.Value) ([]byte, error) {
	if v.Kind() == parquet.ByteArray || v.Kind() == parquet.FixedLenByteArray {
		return v.ByteArray(), nil
	}
	n, ok := whole(v, p.tenant.unsigned)
	if !ok {
		return nil, fmt.Errorf("column %q: tenant %v: want a text or a whole number", p.tenant.column.Name(), v)
	}
	if p.tenant.unsigned {
		p.tenantText = strconv.AppendUint(p.tenantText[:0], uint64(n), 10)
	} else {
		p.tenantText = strconv.AppendInt(p.tenantText[:0], n, 10)
	}
	return p.tenantText, nil
}

// setKey takes a number as it is, except that negative ones are text, as they are in text formats.
func (p *parquetReader) setKey(rec *Record, key parquet.Value) error {
	switch key.Kind() {
	case parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
		n, ok := whole(key, p.key.unsigned)
		if !ok {
			return fmt.Errorf("column %q: key %v: want a whole number, and in a column of floating-point numbers one below 2^53",
				p.key.column.Name(), key)
		}
		rec.Num = uint64(n)
		if n < 0 && !p.key.unsigned {
			p.keyText = strconv.AppendInt(p.keyText[:0], n, 10)
			rec.Num, rec.Text = 0, p.keyText
		}
		return nil
	}
	text := key.ByteArray()
	if len(text) == 0 {
		return fmt.Errorf("column %q: the key is empty", p.key.column.Name())
	}
	rec.setKey(text)
	return nil
}

// integer returns an INT32 or INT64. Unsigned numbers of 64 bits keep their bits.
func integer(v parquet.Value, unsigned bool) int64 {
	switch {
	case v.Kind() == parquet.Int64:
		return v.Int64()
	case unsigned:
		return int64(v.Uint32())
	}
	return int64(v.Int32())
}

// whole is integer for numbers that may be FLOAT or DOUBLE, which pandas makes of a column of integers where some are
// missing. ok says that it is whole.
func whole(v parquet.Value, unsigned bool) (n int64, ok bool) {
	f, isFloat := float(v)
	if !isFloat {
		return integer(v, unsigned), true
	}
	size, ok := wholeNumber(math.Abs(f))
	return int64(math.Copysign(float64(size), f)), ok
}

// float returns a FLOAT or DOUBLE; ok is false where v is something else.
func float(v parquet.Value) (f float64, ok bool) {
	switch v.Kind() {
	case parquet.Float:
		return float64(v.Float()), true
	case parquet.Double:
		return v.Double(), true
	}
	return 0, false
}

// parquetCursor reads the values of one column.
type parquetCursor struct {
	column   *parquet.Column
	unsigned bool  // integers have no sign
	unit     int64 // nanoseconds in a unit of time

	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader // of page
	buffer [256]parquet.Value
	filled []parquet.Value // part of buffer that was not returned yet
}

func (c *parquetCursor) isInteger() bool {
	if !c.column.Leaf() || c.column.Repeated() {
		return false
	}
	if logical := c.column.Type().LogicalType(); logical != nil {
		if kind, ok := logical.Value.(*format.IntType); ok {
			c.unsigned = !kind.IsSigned
		}
	}
	kind := c.column.Type().Kind()
	return kind == parquet.Int32 || kind == parquet.Int64
}

func (c *parquetCursor) isFloat() bool {
	if !c.column.Leaf() || c.column.Repeated() {
		return false
	}
	kind := c.column.Type().Kind()
	return kind == parquet.Float || kind == parquet.Double
}

func (c *parquetCursor) isBytes() bool {
	if !c.column.Leaf() || c.column.Repeated() {
		return false
	}
	kind := c.column.Type().Kind()
	return kind == parquet.ByteArray || kind == parquet.FixedLenByteArray
}

func (c *parquetCursor) acceptKey() error {
	if !c.isInteger() && !c.isFloat() && !c.isBytes() {
		return errors.New("whole numbers or strings")
	}
	return nil
}

func (c *parquetCursor) acceptInteger() error {
	if !c.isInteger() && !c.isFloat() {
		return errors.New("whole numbers")
	}
	return nil
}

func (c *parquetCursor) acceptText() error {
	if !c.isBytes() {
		return errors.New("strings")
	}
	return nil
}

// acceptTime takes timestamps, which say their unit, and numbers of units.
func (c *parquetCursor) acceptTime(unit int64) error {
	c.unit = unit
	if !c.isInteger() && !c.isFloat() {
		return errors.New("timestamps or numbers")
	}
	logical := c.column.Type().LogicalType()
	if logical == nil {
		return nil
	}
	switch kind := logical.Value.(type) {
	case *format.TimestampType:
		c.unit = kind.Unit.Value.Duration().Nanoseconds()
	case *format.IntType:
	default:
		return errors.New("timestamps or numbers")
	}
	return nil
}

// nextTime returns the next value in nanoseconds.
func (c *parquetCursor) nextTime() (int64, error) {
	v, err := c.next()
	if err != nil {
		return 0, err
	}
	if f, ok := float(v); ok {
		if ns := math.Round(f * float64(c.unit)); ns >= 0 && ns < math.MaxInt64 {
			return int64(ns), nil
		}
	} else if n := integer(v, c.unsigned); n >= 0 && n <= math.MaxInt64/c.unit {
		return n * c.unit, nil
	}
	return 0, fmt.Errorf("column %q: time %v: want a number from 0 that fits 2^63 nanoseconds", c.column.Name(), v)
}

// next returns the next value, which is valid until the following call and never null.
func (c *parquetCursor) next() (parquet.Value, error) {
	v, err := c.nextOrNull()
	if err == nil && v.IsNull() {
		err = fmt.Errorf("column %q: the value is missing (null)", c.column.Name())
	}
	return v, err
}

// nextOrNull returns the next value, which is valid until the following call.
func (c *parquetCursor) nextOrNull() (parquet.Value, error) {
	if len(c.filled) == 0 {
		if err := c.fill(); err == io.EOF {
			return parquet.Value{}, fmt.Errorf(
				"damaged Parquet: column %q has fewer values than its row group has rows",
				c.column.Name(),
			)
		} else if err != nil {
			return parquet.Value{}, err
		}
	}
	v := c.filled[0]
	c.filled = c.filled[1:]
	return v, nil
}

// fill reads the next values of the column; io.EOF at its end in the row group.
func (c *parquetCursor) fill() (err error) {
	defer func() {
		if r := recover(); r != nil { // the package panics on some damaged files
			err = fmt.Errorf("column %q: %s", c.column.Name(), contradictoryParquet)
		}
	}()
	for {
		if c.values == nil {
			if err := c.nextPage(); err != nil {
				return err
			}
		}
		n, err := c.values.ReadValues(c.buffer[:])
		if n == 0 && err == nil {
			err = io.ErrNoProgress
		}
		if err == io.EOF {
			c.values = nil
		} else if err != nil {
			return fmt.Errorf("column %q: damaged Parquet: %w", c.column.Name(), err)
		}
		if n > 0 {
			c.filled = c.buffer[:n]
			return nil
		}
	}
}

func (c *parquetCursor) nextPage() error {
	if c.page != nil {
		parquet.Release(c.page)
		c.page = nil
	}
	page, err := c.pages.ReadPage()
	if err == io.EOF {
		return io.EOF
	} else if err != nil {
		return fmt.Errorf("column %q: damaged Parquet: %w", c.column.Name(), err)
	}
	c.page, c.values = page, page.Values()
	return nil
}

// end leaves a row group whose values must all have been read.
func (c *parquetCursor) end() error {
	if c.pages == nil {
		return nil
	}
	if len(c.filled) == 0 {
		if err := c.fill(); err == io.EOF {
			err := c.pages.Close()
			c.pages = nil
			return err
		} else if err != nil {
			return err
		}
	}
	return fmt.Errorf("damaged Parquet: column %q has more values than its row group has rows", c.column.Name())
}
