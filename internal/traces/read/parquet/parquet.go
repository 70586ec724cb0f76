// Package parquet reads and writes traces as Apache Parquet: plain objects, and every kind of workload that fits into
// tables.
package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Format reads Parquet, with the columns of the kinds that have tables.
func Format(kinds []stream.Kind) source.Format {
	tables := tablesOf(kinds)
	options := slices.Concat(source.ColumnOptions(), []params.Param{source.OpsOption()}, kindColumnOptions(tables))
	reads := holdsReads(kinds)
	if reads {
		options = append(options, readsOptions()...)
	}
	options = append(options, conversationOptions()...)
	return source.Format{
		Name: "parquet",
		Summary: "Apache Parquet with named columns: an integer or string key, and optionally time, size and operation, or " +
			"the fields of queries, of reads of files (path, offset, length), or of recommender requests, or conversations " +
			"with a language model",
		Carries: "key, and time, size, op, ttl, served if there are columns for them; queries: session, topic, " +
			"answer, text, embedding; file reads: path, offset, length, and time, job, file_size; recommender requests: " +
			"user, tokens, shards or rows, shard_rows, hot",
		Detection:  "its signature PAR1",
		Options:    options,
		Detect:     source.CertainIf(looksLikeParquet),
		Binary:     true,
		Impossible: source.ImpossibleUnless(looksLikeParquet, fmt.Sprintf("it does not begin with %q", Magic)),
		Open: func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
			return open(src, opts, tables, reads)
		},
	}
}

// Magic begins and ends a file.
const Magic = "PAR1"

func looksLikeParquet(head source.Head) bool { return bytes.HasPrefix(head.Bytes, []byte(Magic)) }

// reader reads the chosen columns side by side, one row group after another. It implements stream.Reader.
type reader struct {
	src    *source.Source
	file   *parquet.File
	check  *checker
	groups []parquet.RowGroup // not yet begun
	rows   int64              // left in the current group
	row    int64              // number of the last row read, from 1
	ops    source.OpFilter
	chosen []*cursor // of the columns that are read

	key      []*cursor // of its parts
	keyParts source.KeyParts
	fields   []func() error // each reads what is beside the key into rec
	rec      stream.Record
}

// use is what a column may be read for.
type use struct {
	index  int // of the column; -1: none
	name   string
	accept func(*cursor) error // refuses other types than it can read
	read   func(*cursor) error
}

// chooseAll creates the cursors of columns, and returns what reads them.
func (p *reader) chooseAll(all []*parquet.Column, uses []use) (fields []func() error, err error) {
	for _, u := range uses {
		if u.index < 0 {
			continue
		}
		c, err := p.choose(all, u.index, u.name, u.accept)
		if err != nil {
			return nil, err
		}
		fields = append(fields, func() error { return u.read(c) })
	}
	return fields, nil
}

func (p *reader) choose(all []*parquet.Column, index int, use string, accept func(*cursor) error) (*cursor, error) {
	c := &cursor{column: all[index], use: use}
	if err := accept(c); err != nil {
		return nil, p.src.Errorf("column %q cannot be the %s: it holds %s, want %w", c.column.Name(), use,
			describeColumn(c.column), err)
	}
	p.chosen = append(p.chosen, c)
	return c, nil
}

// open begins to read a file. reads says that its rows may be reads of files.
func open(src *source.Source, opts params.Values, tables []*stream.Table, reads bool) (
	r stream.Reader, fields stream.Fields, err error) {
	defer recovered(&err, src)
	content, size, err := src.ReaderAt()
	if err != nil {
		return nil, stream.Fields{}, err
	}
	check := &checker{r: content, size: size, budget: src.In.Budget}
	if in, ok := content.(*source.File); ok {
		check.r = in.Uncounted() // looking ahead does not count as progress
	}
	if err := check.footer(); err != nil {
		return nil, stream.Fields{}, src.Errorf("%w", err)
	}
	file, err := parquet.OpenFile(content, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, stream.Fields{}, src.Errorf("damaged Parquet: %w", err)
	}
	p := &reader{src: src, file: file, check: check, groups: file.RowGroups(), ops: source.NewOpFilter(opts.Text("ops"))}
	src.Reading.Why = "not " + opts.Text("ops")
	all := file.Root().Columns()
	table := &source.Rows{Src: src, Columns: len(all)}
	for _, c := range all {
		table.Header = append(table.Header, c.Name())
	}
	if reads {
		if reads, err = p.isReads(table.Header, opts); err != nil {
			return nil, stream.Fields{}, err
		}
	}
	conversations := findConversations(all, opts)
	if err := p.checkConversationOptions(conversations != nil, opts); err != nil {
		return nil, stream.Fields{}, err
	}
	if conversations != nil {
		return p.openConversations(all, conversations, opts)
	}
	if reads {
		return p.openReads(table, all, opts)
	}
	fields, err = p.chooseColumns(table, all, opts, tables)
	return p, fields, err
}

// errContradictory is reported if the Parquet package panics: its own message is about its code.
var errContradictory = errors.New("damaged Parquet: the description of its columns contradicts their content")

// recovered turns a panic of the Parquet package into an error: it panics on some damaged files.
func recovered(err *error, src *source.Source) {
	if r := recover(); r != nil {
		*err = src.Errorf("%w", errContradictory)
	}
}

// chooseColumns creates the cursors.
func (p *reader) chooseColumns(table *source.Rows, all []*parquet.Column, opts params.Values,
	tables []*stream.Table) (stream.Fields, error) {
	if key := keyOfKind(tables, table); opts.Text("key") == "" && key != "" {
		opts["key"] = key
	}
	chosen, err := table.ChooseColumns("parquet", opts)
	if err != nil {
		return stream.Fields{}, err
	}
	ignoreUnfit(&chosen, all, opts)
	p.key = make([]*cursor, len(chosen.Key))
	for i, column := range chosen.Key {
		if p.key[i], err = p.choose(all, column, "key", (*cursor).acceptKey); err != nil {
			return stream.Fields{}, err
		}
	}
	table.State(chosen, opts)
	rec := &p.rec
	p.fields, err = p.chooseAll(all, []use{
		{chosen.Time, "time", func(c *cursor) error { return p.acceptTime(c, opts) },
			func(c *cursor) error { return read(c, &rec.Time, (*cursor).timeOf) }},
		{chosen.Size, "size", (*cursor).acceptInteger, func(c *cursor) error {
			rec.Size = -1
			err := readAny(c, &rec.Size, (*cursor).sizeOf)
			if rec.SizeUnknown = rec.Size < 0; rec.SizeUnknown {
				rec.Size = 0
			}
			return err
		}},
		{chosen.Op, "operation", (*cursor).acceptText, func(c *cursor) error { return read(c, &rec.Op, (*cursor).opOf) }},
		{chosen.TTL, "time to live", func(c *cursor) error { return c.acceptTTL(opts.Text("ttl-unit")) },
			func(c *cursor) error { return readAny(c, &rec.TTL, (*cursor).timeToLive) }},
		{chosen.Served, "hit or miss", (*cursor).acceptServed,
			func(c *cursor) error { return readAny(c, &rec.Served, (*cursor).servedAs) }},
		{chosen.Tenant, "tenant", (*cursor).acceptKey,
			func(c *cursor) error { return read(c, &rec.Tenant, (*cursor).textOf) }},
	})
	if err != nil {
		return stream.Fields{}, err
	}
	if chosen.TTL >= 0 {
		p.src.Reading.TTL += " in " + opts.Text("ttl-unit")
	}
	fields := chosen.Fields()
	kind, err := findKind(tables, table, all, opts)
	if err != nil {
		return stream.Fields{}, p.src.Errorf("%w", err)
	}
	if kind != nil {
		p.chosen = append(p.chosen, kind.cursors...)
		p.fields = append(p.fields, func() (err error) {
			rec.Extra, err = kind.read()
			return err
		})
		fields.Kind = kind.table.Of
		p.src.Reading.Request = fields.Kind.Name()
	}
	return fields, nil
}

// ignoreUnfit drops columns that were chosen by names such as cache, which may be names of something else.
func ignoreUnfit(chosen *source.ChosenColumns, all []*parquet.Column, opts params.Values) {
	unfit := func(index int, option string, accept func(*cursor) error) bool {
		return index >= 0 && opts.Text(option) == "" && accept(&cursor{column: all[index]}) != nil
	}
	if unfit(chosen.TTL, "ttl", (*cursor).acceptInteger) {
		chosen.TTL = -1
	}
	if unfit(chosen.Served, "served", (*cursor).acceptServed) {
		chosen.Served = -1
	}
}

// acceptTime is cursor.acceptTime with the unit of the user or, without one, of the first time. The reading states it.
func (p *reader) acceptTime(c *cursor, opts params.Values) error {
	if err := c.acceptTime(source.TimeUnit(opts, p.firstNumber(c.column))); err != nil {
		return err
	}
	if logical := c.column.Type().LogicalType(); logical != nil {
		if _, ok := logical.Value.(*format.TimestampType); ok {
			opts["time-unit"] = "auto" // the file states it
		}
	}
	if c.isBytes() {
		p.src.Reading.Time += " as dates"
	} else {
		p.src.Reading.Time += " in " + source.UnitName(c.unit)
	}
	return nil
}

// firstNumber returns the first value of a column as text, nil if it is not a number.
func (p *reader) firstNumber(column *parquet.Column) []byte {
	probe := &cursor{column: column}
	if len(p.groups) == 0 || !probe.isInteger() && !probe.isFloat() ||
		p.check.chunk(p.file.Metadata().RowGroups[0].Columns[column.Index()]) != nil {
		return nil
	}
	probe.pages = p.groups[0].ColumnChunks()[column.Index()].Pages()
	defer probe.pages.Close()
	v, err := probe.next()
	if err != nil {
		return nil // which reading reports
	}
	if f, ok := float(v); ok {
		return strconv.AppendFloat(nil, f, 'g', -1, 64)
	}
	return strconv.AppendInt(nil, integer(v, probe.unsigned), 10)
}

func describeColumn(c *parquet.Column) string {
	if !c.Leaf() || c.Repeated() {
		return "nested or repeated values"
	}
	return c.Type().String()
}

func (p *reader) Read(rec *stream.Record) error {
	for {
		if err := p.nextRow(); err != nil {
			return err
		}
		p.rec = stream.Record{}
		err := p.readKey(&p.rec)
		for i := 0; i < len(p.fields) && err == nil; i++ {
			err = p.fields[i]()
		}
		if err != nil {
			return p.At(err)
		}
		if *rec = p.rec; p.ops.Has(rec.Op) {
			return nil
		}
		p.src.Reading.LeftOut++
	}
}

// At returns an error about the last row.
func (p *reader) At(err error) error { return p.src.Errorf("row %d: %w", p.row, err) }

// nextRow goes to the next row, in the next row group if it begins one; io.EOF after the last.
func (p *reader) nextRow() error {
	for p.rows == 0 {
		if err := p.nextGroup(); err != nil {
			return err
		}
	}
	p.rows--
	p.row++
	return nil
}

// nextGroup begins the next row group; io.EOF after the last.
func (p *reader) nextGroup() (err error) {
	defer recovered(&err, p.src)
	for _, c := range p.chosen {
		if err := c.end(); err != nil {
			return p.src.Errorf("after row %d: %w", p.row, err)
		}
	}
	if len(p.groups) == 0 {
		if total := p.file.NumRows(); p.row != total {
			return p.src.Errorf("damaged Parquet: it claims %d rows, but its row groups have %d", total, p.row)
		}
		return io.EOF
	}
	number := len(p.file.RowGroups()) - len(p.groups)
	chunks := p.groups[0].ColumnChunks()
	for _, c := range p.chosen {
		if err := p.check.chunk(p.file.Metadata().RowGroups[number].Columns[c.column.Index()]); err != nil {
			return p.src.Errorf("column %q: %w", c.column.Name(), err)
		}
		c.pages = chunks[c.column.Index()].Pages()
	}
	p.rows = p.groups[0].NumRows()
	p.groups = p.groups[1:]
	return nil
}

// read sets to to the next value, which must not be null.
func read[T any](c *cursor, to *T, as func(*cursor, parquet.Value) (T, error)) error {
	v, err := c.next()
	if err == nil {
		*to, err = as(c, v)
	}
	return err
}

// readAny is read for a value that may be null, which leaves to as it is.
func readAny[T any](c *cursor, to *T, as func(*cursor, parquet.Value) (T, error)) error {
	v, err := c.nextOrNull()
	if err == nil && !v.IsNull() {
		*to, err = as(c, v)
	}
	return err
}

func (c *cursor) opOf(v parquet.Value) (stream.Op, error) {
	op, ok := source.ParseOp(v.ByteArray())
	if !ok {
		return op, fmt.Errorf("column %q: operation %.60q: want one such as get, set, read, write or delete; or use "+
			"parquet:op=none to ignore the column", c.column.Name(), v.ByteArray())
	}
	return op, nil
}

// sizeOf returns a number of bytes.
func (c *cursor) sizeOf(v parquet.Value) (int64, error) {
	size, ok := whole(v, c.unsigned)
	if !ok || size < 0 || size > source.MaxSize {
		return 0, fmt.Errorf("column %q: size %v: want a whole number of bytes from 0 to 2^50", c.column.Name(), v)
	}
	return size, nil
}

// isText reports whether a value is the bytes of a text.
func isText(v parquet.Value) bool {
	return v.Kind() == parquet.ByteArray || v.Kind() == parquet.FixedLenByteArray
}

// textOf returns a text, which is not nil, or a number in decimal, as in text formats. It is valid until the next call.
func (c *cursor) textOf(v parquet.Value) ([]byte, error) {
	if isText(v) {
		if text := v.ByteArray(); text != nil {
			return text, nil
		}
		return []byte{}, nil
	}
	n, ok := whole(v, c.unsigned)
	switch {
	case !ok:
		return nil, fmt.Errorf("column %q: %s %v: want a text or a whole number, below 2^53 in a column of floating-point "+
			"numbers", c.column.Name(), c.use, v)
	case c.unsigned:
		c.text = strconv.AppendUint(c.text[:0], uint64(n), 10)
	default:
		c.text = strconv.AppendInt(c.text[:0], n, 10)
	}
	return c.text, nil
}

// readKey reads the key from its column, or joins it from several. A number stays one, except that negative ones become
// text, as in text formats.
func (p *reader) readKey(rec *stream.Record) error {
	p.keyParts.Reset()
	for _, c := range p.key {
		v, err := c.next()
		if err != nil {
			return err
		}
		if len(p.key) == 1 && !isText(v) {
			n, ok := whole(v, c.unsigned)
			switch {
			case !ok:
				return fmt.Errorf("column %q: key %v: want a whole number, below 2^53 in a column of floating-point numbers",
					c.column.Name(), v)
			case n >= 0 || c.unsigned:
				rec.Num = uint64(n)
				return nil
			}
		}
		text, err := c.textOf(v)
		switch {
		case err != nil:
			return err
		case len(p.key) == 1:
			return p.setText(rec, text)
		}
		p.keyParts.Add(text)
	}
	return p.setText(rec, p.keyParts.Text())
}

func (p *reader) setText(rec *stream.Record, text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("column %q: the key is empty", p.key[0].column.Name())
	}
	rec.SetKey(text)
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

// whole is integer for numbers that may be FLOAT or DOUBLE, which pandas uses for a column of integers if some are
// missing. ok reports whether it is whole.
func whole(v parquet.Value, unsigned bool) (n int64, ok bool) {
	f, isFloat := float(v)
	if !isFloat {
		return integer(v, unsigned), true
	}
	size, ok := source.WholeNumber(math.Abs(f))
	return int64(math.Copysign(float64(size), f)), ok
}

// float returns a FLOAT or DOUBLE; ok is false if v is something else.
func float(v parquet.Value) (f float64, ok bool) {
	switch v.Kind() {
	case parquet.Float:
		return float64(v.Float()), true
	case parquet.Double:
		return v.Double(), true
	}
	return 0, false
}

// cursor reads the values of one column.
type cursor struct {
	column   *parquet.Column
	use      string // what it is read for
	unsigned bool   // integers are unsigned
	unit     int64  // nanoseconds in a unit of time
	text     []byte // of a number

	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader // of page
	buffer [256]parquet.Value
	filled []parquet.Value // part of buffer that has not been returned yet
}

// holds reports whether a row has one value, of one of these physical types.
func (c *cursor) holds(kinds ...parquet.Kind) bool {
	return c.column.Leaf() && !c.column.Repeated() && slices.Contains(kinds, c.column.Type().Kind())
}

func (c *cursor) isInteger() bool {
	if !c.holds(parquet.Int32, parquet.Int64) {
		return false
	}
	if logical := c.column.Type().LogicalType(); logical != nil {
		if kind, ok := logical.Value.(*format.IntType); ok {
			c.unsigned = !kind.IsSigned
		}
	}
	return true
}

func (c *cursor) isFloat() bool { return c.holds(parquet.Float, parquet.Double) }
func (c *cursor) isBytes() bool { return c.holds(parquet.ByteArray, parquet.FixedLenByteArray) }

func (c *cursor) acceptKey() error {
	if !c.isInteger() && !c.isFloat() && !c.isBytes() {
		return errors.New("whole numbers or strings")
	}
	return nil
}

func (c *cursor) acceptInteger() error {
	if !c.isInteger() && !c.isFloat() {
		return errors.New("whole numbers")
	}
	return nil
}

func (c *cursor) acceptText() error {
	if !c.isBytes() {
		return errors.New("strings")
	}
	return nil
}

// acceptTime accepts timestamps, which state their unit, numbers of units, and dates as text.
func (c *cursor) acceptTime(unit int64) error {
	c.unit = unit
	if c.isBytes() {
		return nil
	}
	want := errors.New("timestamps, numbers or texts")
	if !c.isInteger() && !c.isFloat() {
		return want
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
		return want
	}
	return nil
}

// acceptTTL accepts numbers of units.
func (c *cursor) acceptTTL(unit string) error {
	c.unit = source.TimeUnits[unit]
	return c.acceptInteger()
}

// acceptServed accepts words, numbers and truth values.
func (c *cursor) acceptServed() error {
	if !c.isBytes() && !c.isInteger() && !c.holds(parquet.Boolean) {
		return errors.New("words such as HIT and MISS, truth values, or 0 and 1")
	}
	return nil
}

// timeToLive returns a number of units in nanoseconds; -1 means for ever, which is 0.
func (c *cursor) timeToLive(v parquet.Value) (int64, error) {
	f, isFloat := float(v)
	if !isFloat {
		f = float64(integer(v, c.unsigned))
	}
	if f == -1 {
		return 0, nil
	}
	// By its decimals: multiplied as a float, 4195.699951 s would be a nanosecond more.
	if ns, err := source.ParseTime(strconv.AppendFloat(nil, f, 'f', -1, 64), c.unit); err == nil {
		return ns, nil
	}
	return 0, fmt.Errorf("column %q: time to live %v: want a number from 0", c.column.Name(), v)
}

// servedAs returns what a word, a number or a truth value says about the cache of the server.
func (c *cursor) servedAs(v parquet.Value) (stream.Served, error) {
	hit := false
	switch {
	case isText(v):
		return source.ParseServed(v.ByteArray()), nil
	case v.Kind() == parquet.Boolean:
		hit = v.Boolean()
	default:
		hit = integer(v, c.unsigned) != 0
	}
	if hit {
		return stream.ServedHit, nil
	}
	return stream.ServedMiss, nil
}

// timeOf returns a value in nanoseconds.
func (c *cursor) timeOf(v parquet.Value) (int64, error) {
	if isText(v) {
		ns, err := source.ParseTime(v.ByteArray(), c.unit)
		if err != nil {
			err = fmt.Errorf("column %q: %w", c.column.Name(), err)
		}
		return ns, err
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
func (c *cursor) next() (parquet.Value, error) {
	v, err := c.nextOrNull()
	if err == nil && v.IsNull() {
		err = fmt.Errorf("column %q: the value is missing (null)", c.column.Name())
	}
	return v, err
}

// nextOrNull is next for columns whose values may be null.
func (c *cursor) nextOrNull() (parquet.Value, error) {
	if len(c.filled) == 0 {
		if err := c.fill(); err == io.EOF {
			return parquet.Value{}, fmt.Errorf("damaged Parquet: column %q has fewer values than its row group has rows",
				c.column.Name())
		} else if err != nil {
			return parquet.Value{}, err
		}
	}
	v := c.filled[0]
	c.filled = c.filled[1:]
	return v, nil
}

// fill reads the next values of the column; io.EOF at its end in the row group.
func (c *cursor) fill() (err error) {
	defer func() {
		if r := recover(); r != nil { // the package panics on some damaged files
			err = fmt.Errorf("column %q: %w", c.column.Name(), errContradictory)
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
			// Otherwise a damaged page without values would be read forever.
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

func (c *cursor) nextPage() error {
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

// end ends a row group. All its values must have been read.
func (c *cursor) end() error {
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
