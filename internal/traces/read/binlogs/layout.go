package binlogs

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/traces/source"
)

// field is a number in a record. Without bytes there is none.
type field struct {
	offset, bytes int
	big           bool // the most significant byte comes first
	kind          kind
	shift, bits   uint // of an unsigned number: only these bits of it; all if bits is 0
}

// kind is what the bytes of a field are.
type kind uint8

const (
	unsigned kind = iota
	signed
	float
	text
	scsi // the code of an operation of SCSI
)

// layout says where the fields of a record are.
type layout struct {
	name   string
	record int // bytes
	fields []field

	key, time, size, keySize, op, ttl, tenant, version field
	// extends says that sizes of 32 bits were extended to 64 as if they were signed, which libCacheSim undoes.
	extends bool
}

// roles are the numbers of fields, from 1; 0: there is none.
type roles struct{ key, time, size, keySize, op, ttl, tenant, version int }

func (l *layout) assign(r roles) error {
	for _, f := range []struct {
		number int
		name   string
		to     *field
	}{{r.key, "key", &l.key}, {r.time, "time", &l.time}, {r.size, "size", &l.size}, {r.keySize, "key size", &l.keySize},
		{r.op, "op", &l.op}, {r.ttl, "ttl", &l.ttl}, {r.tenant, "tenant", &l.tenant}, {r.version, "version", &l.version}} {
		if f.number < 0 || f.number > len(l.fields) {
			return fmt.Errorf("%s is field %d: the format has %d, counted from 1", f.name, f.number, len(l.fields))
		}
		if f.number == 0 {
			continue
		}
		*f.to = l.fields[f.number-1]
		if k := f.to.kind; k == text && f.name != "op" || k == float && f.name != "time" {
			return fmt.Errorf("%s is field %d, which is text or a float: want a whole number", f.name, f.number)
		}
	}
	return nil
}

// Bounds of a format.
const (
	maxRecord = 64 << 10 // bytes
	maxFields = 1 << 10
)

// parseStruct reads a format in the notation of Python's module struct (https://docs.python.org/3/library/struct.html),
// except half floats, native sizes and pointers. Fields follow each other without padding.
func parseStruct(format string) (l layout, err error) {
	if format == "" {
		return l, fmt.Errorf("the format is empty: want one such as <IQI")
	}
	big := format[0] == '>' || format[0] == '!'
	if !big && format[0] != '<' && format[0] != '=' {
		return l, fmt.Errorf("format %q: want < (little-endian) or > (big-endian) first, as in <IQI", format)
	}
	count, counted := 0, false
	for _, c := range format[1:] {
		if c >= '0' && c <= '9' {
			if count, counted = count*10+int(c-'0'), true; count > maxRecord {
				return l, fmt.Errorf("format %q: want records of at most %d bytes", format, maxRecord)
			}
			continue
		}
		if !counted {
			count = 1
		}
		if err := l.add(c, count, big); err != nil {
			return l, fmt.Errorf("format %q: %w", format, err)
		}
		count, counted = 0, false
	}
	if counted || len(l.fields) == 0 {
		return l, fmt.Errorf("format %q: want letters of fields, as in <IQI", format)
	}
	return l, nil
}

// letters are the fields of struct: how many bytes they have, and what they are.
var letters = map[rune]struct {
	bytes int
	kind  kind
}{
	'b': {1, signed}, 'B': {1, unsigned}, '?': {1, unsigned}, 'c': {1, text}, 'h': {2, signed}, 'H': {2, unsigned},
	'i': {4, signed}, 'I': {4, unsigned}, 'l': {4, signed}, 'L': {4, unsigned}, 'q': {8, signed}, 'Q': {8, unsigned},
	'f': {4, float}, 'd': {8, float},
}

func (l *layout) add(letter rune, count int, big bool) error {
	switch known, ok := letters[letter]; {
	case letter == 'x':
		l.record += count
	case letter == 's':
		l.fields = append(l.fields, field{offset: l.record, bytes: count, kind: text})
		l.record += count
	case !ok:
		return fmt.Errorf("unknown letter %q: want one of bBhHiIlLqQfd?csx", letter)
	case count > maxFields || len(l.fields)+count > maxFields:
		return fmt.Errorf("want at most %d fields", maxFields)
	default:
		for range count {
			l.fields = append(l.fields, field{offset: l.record, bytes: known.bytes, kind: known.kind, big: big})
			l.record += known.bytes
		}
	}
	if l.record > maxRecord {
		return fmt.Errorf("want records of at most %d bytes", maxRecord)
	}
	return nil
}

func (f *field) exists() bool { return f.bytes > 0 }

// number returns the bits of the field as a number, which is not extended if it is signed.
func (f *field) number(record []byte) (n uint64) {
	b := record[f.offset:]
	switch {
	case f.bytes == 1:
		n = uint64(b[0])
	case f.bytes == 2 && f.big:
		n = uint64(binary.BigEndian.Uint16(b))
	case f.bytes == 2:
		n = uint64(binary.LittleEndian.Uint16(b))
	case f.bytes == 4 && f.big:
		n = uint64(binary.BigEndian.Uint32(b))
	case f.bytes == 4:
		n = uint64(binary.LittleEndian.Uint32(b))
	case f.big:
		n = binary.BigEndian.Uint64(b)
	default:
		n = binary.LittleEndian.Uint64(b)
	}
	if f.bits > 0 {
		n = n >> f.shift & (1<<f.bits - 1)
	}
	return n
}

// extended returns a number that the field returned with its sign.
func (f *field) extended(n uint64) int64 {
	unused := 64 - 8*f.bytes
	if f.kind != signed {
		return int64(n)
	}
	return int64(n<<unused) >> unused
}

func (f *field) negative(n uint64) bool { return f.kind == signed && f.extended(n) < 0 }

func (f *field) bytesFrom(record []byte, what string) (int64, error) {
	n := f.number(record)
	if f.negative(n) || n > source.MaxSize {
		return 0, fmt.Errorf("%s %d: want a number of bytes from 0 to 2^50", what, f.extended(n))
	}
	return int64(n), nil
}

// timeFrom reads a time in units of nanoseconds.
func (f *field) timeFrom(record []byte, unit int64) (int64, error) {
	n := f.number(record)
	if f.kind == float {
		value := math.Float64frombits(n)
		if f.bytes == 4 {
			value = float64(math.Float32frombits(uint32(n)))
		}
		if ns := value * float64(unit); ns >= 0 && ns < math.MaxInt64 {
			return int64(ns), nil
		}
		return 0, fmt.Errorf("time %g %s: want one from 0 that fits 2^63 nanoseconds", value, source.UnitName(unit))
	}
	if f.negative(n) || n > uint64(math.MaxInt64/unit) {
		return 0, fmt.Errorf("time %d %s: want one from 0 that fits 2^63 nanoseconds", f.extended(n), source.UnitName(unit))
	}
	return int64(n) * unit, nil
}
