package source

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// MaxSize is the largest size of a request in bytes, 1 PiB. A larger number means a wrong column.
const MaxSize = 1 << 50

// ParseWhole reads a whole number: in digits below 2^64, or written as 5.0 or 1e3 below 2^53.
func ParseWhole(text []byte) (uint64, bool) {
	if n, ok := ParseDigits(text); ok {
		return n, true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !isFloatText(text) {
		return 0, false
	}
	return WholeNumber(f)
}

// WholeNumber returns f as a whole number, if it is one from 0 to below 2^53.
func WholeNumber(f float64) (uint64, bool) {
	const exact = 1 << 53 // from here on float64 cannot represent every whole number
	if f != math.Trunc(f) || f < 0 || f >= exact {
		return 0, false
	}
	return uint64(f), true
}

// ParseDigits reads a decimal number with or without leading zeros, below 2^64.
func ParseDigits(text []byte) (uint64, bool) {
	for len(text) > 1 && text[0] == '0' {
		text = text[1:]
	}
	return stream.ParseNumber(text)
}

// IsDigits reports whether text is a whole number, of any length.
func IsDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0
}

func ParseSize(text []byte) (int64, error) {
	n, ok := ParseWhole(text)
	if !ok || n > MaxSize {
		return 0, fmt.Errorf("size %.60q: want a whole number of bytes from 0 to 2^50", text)
	}
	return int64(n), nil
}

// SizeKnown reports whether a cell states a size, rather than that there is none or that it is unknown.
func SizeKnown(cell []byte) bool {
	switch string(cell) {
	case "", "-", "null", "NULL", "nil", "nan", "NaN", "NA", "N/A", "none", "None":
		return false
	}
	return true
}

// SetSize reads a cell with the size of a record, which may be unknown.
func SetSize(rec *stream.Record, cell []byte) (err error) {
	if cell = TrimBlanks(cell); !SizeKnown(cell) {
		rec.SizeUnknown = true
		return nil
	}
	rec.Size, err = ParseSize(cell)
	return err
}

// ParseTTL reads a time to live as a number of units, and returns nanoseconds. Nothing, "-" and -1, as Redis has it,
// mean for ever, which is 0. unit is in nanoseconds.
func ParseTTL(text []byte, unit int64) (int64, error) {
	if text = TrimBlanks(text); len(text) == 0 || string(text) == "-" || string(text) == "-1" {
		return 0, nil
	}
	if ns, ok := parseDecimal(text, unit); ok {
		return ns, nil
	}
	const never = "or nothing where the object never expires"
	if whole, _, _ := bytes.Cut(text, []byte(".")); IsDigits(whole) {
		return 0, fmt.Errorf("time to live %.60q: is longer than the 292 years that are counted: want at most %d, %s", text,
			math.MaxInt64/unit, never)
	}
	return 0, fmt.Errorf("time to live %.60q: want a number from 0, %s", text, never)
}

// ParseNumbers reads a line of exactly len(numbers) whole numbers below 10^19, separated by blanks. If it cannot, it
// returns false and leaves the reason to slower code.
func ParseNumbers(line []byte, numbers []uint64) bool {
	const maxDigits = 19
	column, digits := 0, 0
	var n uint64
	for _, c := range line {
		// Bytes below '0' wrap round to above 9. n may overflow after 19 digits, which are refused below.
		if digit := c - '0'; digit <= 9 {
			n = n*10 + uint64(digit)
			digits++
			continue
		}
		if !IsBlank(c) {
			return false
		}
		if digits == 0 {
			continue
		}
		if column == len(numbers) || digits > maxDigits {
			return false
		}
		numbers[column] = n
		column++
		n, digits = 0, 0
	}
	if digits == 0 {
		return column == len(numbers)
	}
	if column != len(numbers)-1 || digits > maxDigits {
		return false
	}
	numbers[column] = n
	return true
}

// cutWord returns the first word of line, delimited by spaces and tabs, and the rest.
func cutWord(line []byte) (word, rest []byte) {
	start := 0
	for start < len(line) && IsBlank(line[start]) {
		start++
	}
	end := start
	for end < len(line) && !IsBlank(line[end]) {
		end++
	}
	return line[start:end], line[end:]
}

// IsBlank reports whether c separates words within a line.
func IsBlank(c byte) bool { return c == ' ' || c == '\t' }

// TrimBlanks drops spaces and tabs at both ends.
func TrimBlanks(text []byte) []byte {
	for len(text) > 0 && IsBlank(text[0]) {
		text = text[1:]
	}
	for len(text) > 0 && IsBlank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

// CutWords cuts line into exactly len(words) words and reports whether it had that many.
func CutWords(line []byte, words [][]byte) bool {
	for i := range words {
		words[i], line = cutWord(line)
	}
	extra, _ := cutWord(line)
	return len(words[len(words)-1]) > 0 && len(extra) == 0
}

// ParseTime reads a point in time, a date or a number of units, and returns nanoseconds. unit is in nanoseconds.
func ParseTime(text []byte, unit int64) (int64, error) {
	// First, because it is exact: float64 cannot hold today's nanoseconds since 1970.
	if ns, ok := parseDecimal(text, unit); ok {
		return ns, nil
	}
	if ns, ok := ParseDate(text); ok {
		return ns, nil
	}
	if f, err := strconv.ParseFloat(string(text), 64); err == nil && isFloatText(text) && f >= 0 &&
		f*float64(unit) < math.MaxInt64 {
		return int64(math.Round(f * float64(unit))), nil
	}
	return 0, fmt.Errorf("time %.60q: want a number from 0 that fits 2^63 nanoseconds, or a date such as "+dateForms, text)
}

// isFloatText reports whether text is written like 1.5e9; ParseFloat also takes hexadecimal numbers, underscores and
// names.
func isFloatText(text []byte) bool {
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
			return false
		}
	}
	return true
}

// parseDecimal reads digits with an optional fraction, exactly. unit is in nanoseconds. Digits below a nanosecond are
// dropped.
func parseDecimal(text []byte, unit int64) (int64, bool) {
	whole, fraction, _ := bytes.Cut(text, []byte("."))
	n, ok := ParseDigits(whole)
	if !ok || (len(whole) < len(text) && !IsDigits(fraction)) {
		return 0, false
	}
	high, ns := bits.Mul64(n, uint64(unit))
	for _, c := range fraction {
		unit /= 10
		ns += uint64(c-'0') * uint64(unit)
	}
	if high != 0 || ns > math.MaxInt64 {
		return 0, false
	}
	return int64(ns), true
}

// MaxRun is the longest run of blocks of one request. With blocks of 512 bytes that is 512 GB: a larger count is not a
// real request.
const MaxRun = 1_000_000_000

// ParseHex reads a hexadecimal number below 2^64 without a prefix.
func ParseHex(text []byte) (n uint64, ok bool) {
	const digits = 16 // of 64 bits
	for len(text) > digits && text[0] == '0' {
		text = text[1:]
	}
	for _, c := range text {
		digit := hexDigit(c)
		if digit < 0 {
			return 0, false
		}
		n = n<<4 | uint64(digit)
	}
	return n, len(text) > 0 && len(text) <= digits
}

// hexDigit returns the value of a hexadecimal digit, or -1.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|' ' >= 'a' && c|' ' <= 'f':
		return int(c|' '-'a') + 10
	}
	return -1
}
