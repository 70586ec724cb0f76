package layouts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Row is what a line says. The fields of a layout fill it in.
type Row struct {
	Record stream.Record
	Path   []byte // of the file or device that is read; several fields of it are joined by slashes
	Offset int64  // first byte of the read
	Length int64  // its bytes
	Job    []byte // who reads; nil where no field says it

	key       []byte
	parts     source.KeyParts // of a key with several fields
	sizeTells bool            // a size of 0 is one that the log does not state: a read without one was a miss
	joined    []byte          // a path with several fields
}

// Field is a part of a line, or of a record, as a file describes it.
type Field struct {
	Name string `yaml:"name"`
	Is   texts  `yaml:"is"`   // what it says of a request; nothing: it is not read
	Path texts  `yaml:"path"` // in JSON, the best first

	// Type is what the text must be: whole, number, url, hex, date (as Pattern), epoch (seconds, or ms, us, ns if it is
	// too large for anything else), caches (the last of which found the object or not).
	Type    string `yaml:"type"`
	Unit    string `yaml:"unit"`
	Pattern string `yaml:"pattern"`
	Digits  int    `yaml:"digits"` // how many it has; 0: any number
	OneOf   texts  `yaml:"one-of"` // the text is one of these
	Want    string `yaml:"want"`   // says in errors what the text must be

	Words  *Words `yaml:"words"`  // of an operation, or of the result of the server's cache
	Others string `yaml:"others"` // skip: a line with another word is no request; otherwise it is an error
	Skip   texts  `yaml:"skip"`   // a line with one of these texts is no request
	Zero   string `yaml:"zero"`   // miss: a size of 0 is not known, and a read without a size missed

	Optional bool   `yaml:"optional"` // a line may end before it
	Header   string `yaml:"header"`   // optional: a header may lack it; required: it must have it, though it is not read
}

// Words are the texts for an operation, or for the result of the server's own cache.
type Words struct {
	Read    texts `yaml:"read"`
	Write   texts `yaml:"write"`
	Update  texts `yaml:"update"`
	Delete  texts `yaml:"delete"`
	Unknown texts `yaml:"unknown"`
	Lookup  texts `yaml:"lookup"` // a read that loads nothing where it misses
	Hit     texts `yaml:"hit"`
	Miss    texts `yaml:"miss"`
	Pass    texts `yaml:"pass"` // a miss of which the server kept no copy
}

// part is what a field holds of a request, or several parts.
type part uint8

const (
	aKey part = 1 << iota
	aTime
	aSize
	aKeySize
	anOp
	aTTL
	aServed
)

// column is a Field that was compiled.
type column struct {
	name string
	// parse reads a cell; nil: the column is not read. The error need not name the column.
	parse    func(row *Row, cell []byte) error
	holds    part
	unit     string // of times
	spare    bool   // a header may lack it although it is read
	must     bool   // a header must have it although it is not read
	ofObject bool   // it is the size of the object, which rows may lack
	telling  bool   // few texts fit, so that it tells the format from others
	isLength bool   // it is the length of a read
}

type cellParser func(row *Row, cell []byte) error

// roles are what a field may be, and how it is compiled.
var roles = map[string]func(f *Field, c *column) (cellParser, error){
	"key": always((*Row).addKey), "path": always((*Row).addPath), "key-size": always((*Row).setKeySize),
	"job":  always((*Row).setJob),
	"time": (*Field).time, "size": (*Field).size, "op": (*Field).op, "ttl": (*Field).ttl, "served": (*Field).served,
	"offset": inBytes(func(row *Row) *int64 { return &row.Offset }),
	"length": inBytes(func(row *Row) *int64 { return &row.Length }),
}

// always is a role for which a field says nothing more.
func always(parse cellParser) func(*Field, *column) (cellParser, error) {
	return func(*Field, *column) (cellParser, error) { return parse, nil }
}

// holding are the parts of a request that roles hold.
var holding = map[string]part{"key": aKey, "path": aKey, "time": aTime, "size": aSize, "offset": aSize, "length": aSize,
	"key-size": aKeySize, "op": anOp, "ttl": aTTL, "served": aServed}

// compile returns the column of a field.
func (f *Field) compile() (column, error) {
	c := column{name: f.Name, spare: f.Header == "optional", must: f.Header == "required"}
	if !slices.Contains([]string{"", "optional", "required"}, f.Header) {
		return c, fmt.Errorf("header %q: want optional or required", f.Header)
	}
	check, err := f.check()
	if err != nil {
		return c, err
	}
	parsers := []cellParser{check}
	for _, is := range f.Is {
		role, known := roles[is]
		if !known {
			return c, suggest.Unknown("role", is, slices.Sorted(maps.Keys(roles)))
		}
		parse, err := role(f, &c)
		if err != nil {
			return c, err
		}
		parsers = append(parsers, parse)
		c.holds |= holding[is]
	}
	c.isLength = slices.Contains(f.Is, "length")
	c.parse = sequence(slices.DeleteFunc(parsers, func(p cellParser) bool { return p == nil }))
	c.telling = c.telling || check != nil && !slices.Contains([]string{"", "whole", "number"}, f.Type) ||
		len(f.OneOf) > 0 || f.Digits > 0
	c.must = c.must || len(f.OneOf) > 0 && f.Others == "skip"
	return c, nil
}

// sequence returns a cellParser that calls others.
func sequence(parsers []cellParser) cellParser {
	switch len(parsers) {
	case 0:
		return nil
	case 1:
		return parsers[0]
	}
	first, rest := parsers[0], sequence(parsers[1:])
	return func(row *Row, cell []byte) error {
		if err := first(row, cell); err != nil {
			return err
		}
		return rest(row, cell)
	}
}

// check returns a cellParser that refuses texts of another type; nil: any text fits.
func (f *Field) check() (cellParser, error) {
	var fits func(cell []byte) bool
	want, limit := f.Want, 40
	switch f.Type {
	case "", "hex", "date", "epoch", "caches": // whose roles check it
	case "whole":
		fits, want = source.IsDigits, cmp.Or(want, "a whole number")
	case "number":
		fits, want = isNumber, cmp.Or(want, "a number")
	case "url":
		fits = func(cell []byte) bool { return bytes.HasPrefix(cell, []byte("http")) }
		want, limit = cmp.Or(want, "a URL"), 60
	default:
		return nil, suggest.Unknown("type", f.Type, []string{"whole", "number", "url", "hex", "date", "epoch", "caches"})
	}
	if f.Digits > 0 {
		fits = func(cell []byte) bool { return len(cell) == f.Digits && source.IsDigits(cell) }
		want = cmp.Or(want, fmt.Sprintf("%d digits", f.Digits))
	}
	if len(f.OneOf) > 0 {
		fits = func(cell []byte) bool { return f.OneOf.has(cell) }
		want = cmp.Or(want, listed(f.OneOf))
	}
	if !slices.Contains([]string{"", "skip"}, f.Others) {
		return nil, fmt.Errorf("others %q: want skip, or leave it out", f.Others)
	}
	if fits == nil && len(f.Skip) == 0 {
		return nil, nil
	}
	return func(_ *Row, cell []byte) error {
		if len(f.Skip) > 0 && f.Skip.has(cell) {
			return source.ErrLeftOut
		}
		if fits == nil || fits(cell) {
			return nil
		}
		if f.Others == "skip" {
			return source.ErrLeftOut
		}
		if slices.Contains(f.Is, "time") {
			return fmt.Errorf("time %.*q: want %s", limit, cell, want)
		}
		return fmt.Errorf("%.*q: want %s", limit, cell, want)
	}, nil
}

func isNumber(cell []byte) bool {
	_, digits := source.ParseDigits(cell)
	return digits || source.IsNumber(cell)
}

// addKey takes a key. If a layout has several, the key is all of them, joined by source.KeyParts.
func (row *Row) addKey(cell []byte) error {
	if len(cell) == 0 {
		return errors.New("the key is empty")
	}
	if row.key == nil {
		row.key = cell
		return nil
	}
	if row.parts.Text() == nil {
		row.parts.Add(row.key)
	}
	row.parts.Add(cell)
	row.key = row.parts.Text()
	return nil
}

// addPath takes the file or device that is read. If a layout has several, a slash is between them.
func (row *Row) addPath(cell []byte) error {
	if len(cell) == 0 {
		return errors.New("the path is empty")
	}
	if row.Path == nil {
		row.Path = cell
		return nil
	}
	row.joined = append(append(append(row.joined[:0], row.Path...), '/'), cell...)
	row.Path = row.joined
	return nil
}

func (row *Row) setJob(cell []byte) error {
	row.Job = cell
	return nil
}

func (row *Row) setKeySize(cell []byte) (err error) {
	row.Record.KeySize, err = source.ParseSize(cell)
	return err
}

// windowsEpoch is 1970 in units of 100 ns from 1601.
const windowsEpoch = 116444736000000000

// time reads numbers of a unit, or dates as source.ParseTime reads them.
func (f *Field) time(c *column) (cellParser, error) {
	var read func(cell []byte) (int64, error)
	unit, known := source.TimeUnits[f.Unit]
	switch {
	case f.Type == "epoch":
		c.unit = "s or ms"
		read = func(cell []byte) (int64, error) {
			whole, _, _ := bytes.Cut(cell, []byte("."))
			n, _ := source.ParseDigits(whole)
			return source.ParseTime(cell, source.TimeUnits[source.EpochUnit(float64(n))])
		}
	case f.Type == "date" && f.Pattern != "":
		c.unit, c.telling = f.Pattern, true
		read = func(cell []byte) (int64, error) {
			if ns, ok := source.ParseDateAs(f.Pattern, cell); ok {
				return ns, nil
			}
			return 0, fmt.Errorf("time %.40q: want %s", cell, f.Pattern)
		}
	case f.Type == "date":
		return nil, errors.New("a date needs a pattern of Y, M, D, h, m, s and f, such as YYYY-MM-DD hh:mm:ss.fff")
	case f.Unit == "windows":
		c.unit, c.telling = "100 ns from 1601", true
		read = func(cell []byte) (int64, error) {
			ticks, ok := source.ParseDigits(cell)
			// 2^56 x 100 ns still fit into an int64, and are 228 years.
			if !ok || ticks < windowsEpoch || ticks-windowsEpoch > 1<<56 {
				return 0, fmt.Errorf("time %.30q: want a number of 100 ns from 1601, after 1970", cell)
			}
			return int64(ticks-windowsEpoch) * 100, nil
		}
	case known:
		c.unit = f.Unit
		read = func(cell []byte) (int64, error) { return source.ParseTime(cell, unit) }
	default:
		return nil, fmt.Errorf("unit %q of a time: want s, ms, us, ns or windows, or type: epoch", f.Unit)
	}
	return func(row *Row, cell []byte) (err error) {
		row.Record.Time, err = read(cell)
		return err
	}, nil
}

// size reads the size of the object in bytes.
func (f *Field) size(c *column) (cellParser, error) {
	c.ofObject = true
	switch f.Zero {
	case "":
	case "miss":
		c.holds |= aServed
	default:
		return nil, fmt.Errorf("zero %q: want miss, or leave it out", f.Zero)
	}
	tells := f.Zero == "miss"
	return func(row *Row, cell []byte) error {
		row.sizeTells = tells
		row.Record.SizeUnknown = false
		return source.SetSize(&row.Record, cell)
	}, nil
}

// ttl reads how long the object stays valid.
func (f *Field) ttl(*column) (cellParser, error) {
	unit, known := source.TimeUnits[f.Unit]
	if !known {
		return nil, fmt.Errorf("unit %q of a time to live: want s, ms, us or ns", f.Unit)
	}
	return func(row *Row, cell []byte) (err error) {
		row.Record.TTL, err = source.ParseTTL(cell, unit)
		return err
	}, nil
}

type opWord struct {
	text string
	op   stream.Op
}

// op reads one of the words; case matters.
func (f *Field) op(c *column) (cellParser, error) {
	var words []opWord
	var all texts
	if f.Words != nil {
		for _, w := range []struct {
			texts texts
			op    stream.Op
		}{{f.Words.Read, stream.OpRead}, {f.Words.Write, stream.OpWrite}, {f.Words.Update, stream.OpUpdate},
			{f.Words.Delete, stream.OpDelete}, {f.Words.Unknown, stream.OpUnknown}, {f.Words.Lookup, stream.Lookup}} {
			for _, text := range w.texts {
				words, all = append(words, opWord{text, w.op}), append(all, text)
			}
		}
	}
	if len(words) == 0 {
		return nil, errors.New("an operation needs words, such as words: {read: [GET], write: [PUT]}")
	}
	c.telling = true
	return func(row *Row, cell []byte) error {
		for i := range words {
			if words[i].text == string(cell) {
				row.Record.Op = words[i].op
				return nil
			}
		}
		if f.Others == "skip" {
			return source.ErrLeftOut
		}
		return fmt.Errorf("operation %.40q: want %s", cell, listed(all))
	}, nil
}

// served reads what the server's own cache found. Other words mean that it is not known.
func (f *Field) served(c *column) (cellParser, error) {
	if f.Type == "caches" {
		c.telling = true
		return parseCaches, nil
	}
	if f.Words == nil || len(f.Words.Hit)+len(f.Words.Miss) == 0 {
		return nil, errors.New("what was served needs words, such as words: {hit: [HIT], miss: [MISS]}, or type: caches")
	}
	return func(row *Row, cell []byte) error {
		switch {
		case f.Words.Hit.has(cell):
			row.Record.Served = stream.ServedHit
		case f.Words.Miss.has(cell):
			row.Record.Served = stream.ServedMiss
		case f.Words.Pass.has(cell):
			row.Record.Served = stream.ServedPass
		}
		return nil
	}, nil
}

// parseCaches reads the caches that a request passed, the one next to the user last: "cp1066 hit/6, cp4006 miss".
func parseCaches(row *Row, cell []byte) error {
	last := cell[bytes.LastIndexByte(cell, ',')+1:]
	switch {
	case bytes.Contains(last, []byte(" hit")):
		row.Record.Served = stream.ServedHit
	case bytes.Contains(last, []byte(" miss")):
		row.Record.Served = stream.ServedMiss
	case bytes.Contains(last, []byte(" pass")):
		row.Record.Served = stream.ServedPass
	case !bytes.Contains(cell, []byte(" pass")) && len(cell) > 1:
		return fmt.Errorf("%.40q: want caches that say hit, miss or pass", cell)
	}
	return nil
}

// inBytes reads a position in a file, or a length, in bytes or sectors.
func inBytes(to func(*Row) *int64) func(*Field, *column) (cellParser, error) {
	return func(f *Field, _ *column) (cellParser, error) { return f.bytes(to) }
}

func (f *Field) bytes(to func(*Row) *int64) (cellParser, error) {
	unit := int64(1)
	switch f.Unit {
	case "", "bytes":
	case "sectors":
		unit = 512
	default:
		return nil, fmt.Errorf("unit %q of an offset or a length: want bytes or sectors", f.Unit)
	}
	what := strings.Join(f.Is, ", ")
	if f.Type == "hex" {
		return func(row *Row, cell []byte) error {
			n, ok := source.ParseHex(bytes.TrimPrefix(cell, []byte("0x")))
			if !ok || n > source.MaxSize/uint64(unit) {
				return fmt.Errorf("%.30q: want a hexadecimal number of bytes up to 2^50", cell)
			}
			*to(row) = int64(n) * unit
			return nil
		}, nil
	}
	return func(row *Row, cell []byte) error {
		n, ok := source.ParseWhole(cell)
		if !ok || n > uint64(source.MaxSize/unit) {
			return fmt.Errorf("%s %.40q: want a whole number from 0 to %d", what, cell, source.MaxSize/unit)
		}
		*to(row) = int64(n) * unit
		return nil
	}, nil
}

// finish makes the record from the fields.
func (row *Row) finish() error {
	rec := &row.Record
	rec.SetKey(row.key)
	if rec.Text != nil && source.IsBinary(rec.Text) {
		return fmt.Errorf("control characters in the key %.60q: this is not a text trace", rec.Text)
	}
	if source.IsBinary(row.Path) {
		return fmt.Errorf("control characters in the path %.60q: this is not a text trace", row.Path)
	}
	if row.sizeTells {
		if rec.Op == stream.OpRead {
			rec.Served = stream.ServedMiss
			if rec.Size > 0 {
				rec.Served = stream.ServedHit
			}
		}
		rec.SizeUnknown = rec.SizeUnknown || rec.Size == 0
	}
	return nil
}

// reset prepares the row for the next line.
func (row *Row) reset() {
	if row.parts.Text() != nil {
		row.parts.Reset()
	}
	*row = Row{joined: row.joined, parts: row.parts}
}

// listed returns words as in "R, W or X".
func listed(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
