package source

import (
	"bytes"
	"strings"
)

// dateForms are the written dates that ParseTime reads, for errors.
const dateForms = "2023-11-16 18:17:03.97, 2023-11-16T18:17:03+01:00 or 16/Nov/2023:18:17:03 +0100"

// ParseDate reads a point in time from 1970 to 2261 as nanoseconds since 1970: ISO 8601 with a blank or a T before the
// hours, as in RFC 3339, the same with slashes, as Go's own log writes it, or the form of access logs,
// 10/Oct/2000:13:55:36 -0700, with or without brackets. All may have a fraction of a second, down to nanoseconds.
// Without a zone they are UTC.
func ParseDate(text []byte) (ns int64, ok bool) {
	if n := len(text); n > 2 && text[0] == '[' && text[n-1] == ']' {
		text = text[1 : n-1]
	}
	days, rest := parseDay(text)
	seconds, rest, ok := parseClock(rest) // not ok without a day
	fraction, rest, whole := parseFraction(rest)
	east, known := parseZone(rest)
	const limit = 106_751 // days until int64 overflows
	if !ok || !whole || !known || days >= limit {
		return 0, false
	}
	ns = (days*86_400+seconds-east)*1e9 + fraction
	return ns, ns >= 0
}

// parseDay reads the date, and the sign before the hours; rest is nil if there is none.
func parseDay(text []byte) (days int64, rest []byte) {
	const isoLength, logLength = len("2006-01-02T"), len("02/Jan/2006:")
	var year, month, day int64
	switch {
	case len(text) > isoLength && (text[4] == '-' || text[4] == '/') && text[7] == text[4] &&
		(text[10] == 'T' || text[10] == ' '):
		year, month, day, rest = digits(text[:4]), digits(text[5:7]), digits(text[8:10]), text[isoLength:]
	case len(text) > logLength && text[2] == '/' && text[6] == '/' && text[11] == ':':
		year, month, day, rest = digits(text[7:11]), monthOf(text[3:6]), digits(text[:2]), text[logLength:]
	}
	days, ok := daysSince1970(year, month, day)
	if !ok {
		return 0, nil
	}
	return days, rest
}

// digits returns the number that text is, -1 if it has other bytes.
func digits(text []byte) (n int64) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// monthOf returns the number of a month, 0 for an unknown name.
func monthOf(name []byte) int64 {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	for i := 0; i < len(names); i += 3 {
		if string(name) == names[i:i+3] {
			return int64(i/3 + 1)
		}
	}
	return 0
}

// daysSince1970 returns the number of a day; ok is false if there is none, or it is before 1970.
func daysSince1970(year, month, day int64) (days int64, ok bool) {
	if year < 1970 || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	leap := year%4 == 0 && (year%100 != 0 || year%400 == 0)
	if day > 28 && (day > daysOf[month-1] || month == 2 && !leap) {
		return 0, false
	}
	// Years are counted from March, so that a leap day is the last day of its year.
	if month -= 3; month < 0 {
		month, year = month+12, year-1
	}
	const daysTo1970 = 719_468 // from the first of March of the year 0
	return year*365 + year/4 - year/100 + year/400 + (month*153+2)/5 + day - 1 - daysTo1970, true
}

// daysOf are the most days of the months.
var daysOf = [...]int64{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// parseClock reads hours, minutes and seconds.
func parseClock(text []byte) (seconds int64, rest []byte, ok bool) {
	const length = len("15:04:05")
	if len(text) < length || text[2] != ':' || text[5] != ':' {
		return 0, nil, false
	}
	h, m, s := digits(text[:2]), digits(text[3:5]), digits(text[6:8])
	if h < 0 || h > 23 || m < 0 || m > 59 || s < 0 || s > 59 {
		return 0, nil, false
	}
	return h*3600 + m*60 + s, text[length:], true
}

// parseFraction reads the fraction of a second, if there is one. Digits below a nanosecond are dropped.
func parseFraction(text []byte) (ns int64, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '.' && text[0] != ',' {
		return 0, text, true
	}
	rest = text[1:]
	for unit := int64(1e8); len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9'; unit /= 10 {
		ns += int64(rest[0]-'0') * unit
		rest = rest[1:]
	}
	return ns, rest, len(rest) < len(text)-1
}

// parseZone reads Z, +01:00 or +0100, with or without a blank before it, as seconds east of Greenwich.
func parseZone(text []byte) (east int64, ok bool) {
	text = bytes.TrimPrefix(text, []byte(" "))
	if len(text) == 0 || string(text) == "Z" || string(text) == "UTC" {
		return 0, true
	}
	var h, m int64
	switch {
	case text[0] != '+' && text[0] != '-':
		return 0, false
	case len(text) == len("+01:00") && text[3] == ':':
		h, m = digits(text[1:3]), digits(text[4:6])
	case len(text) == len("+0100"):
		h, m = digits(text[1:3]), digits(text[3:5])
	default:
		return 0, false
	}
	if h < 0 || h > 23 || m < 0 || m > 59 {
		return 0, false
	}
	if east = h*3600 + m*60; text[0] == '-' {
		east = -east
	}
	return east, true
}

// IsMoment reports whether text is a date, or a number of seconds, milliseconds, microseconds or nanoseconds since 1970
// that is between 2001 and 2096: few other numbers look so.
func IsMoment(text []byte) bool {
	if _, ok := ParseDate(text); ok {
		return true
	}
	whole, fraction, _ := bytes.Cut(text, []byte("."))
	const seconds = len("1000000000")
	n := len(whole)
	return (n == seconds || n == seconds+3 || n == seconds+6 || n == seconds+9) && whole[0] >= '1' && whole[0] <= '3' &&
		digits(whole) > 0 && digits(fraction) >= 0
}

// EpochUnit guesses the unit of a time by its size: "ms", "us" or "ns" for times since 1970 from 1973 to 5138, and "s"
// for anything below 10^11, since 1970 or since the trace began. These ranges do not overlap: larger numbers of seconds
// exceed 2^63 nanoseconds.
func EpochUnit(number float64) string {
	switch {
	case number >= 1e17:
		return "ns"
	case number >= 1e14:
		return "us"
	case number >= 1e11:
		return "ms"
	}
	return "s"
}

// ParseDateAs reads a point in time, in UTC, that is written as a pattern: digits where it has YYYY (1970 without it),
// MM, DD, hh, mm, ss and f (of a fraction), and the same bytes elsewhere.
func ParseDateAs(pattern string, text []byte) (ns int64, ok bool) {
	if len(text) != len(pattern) {
		return 0, false
	}
	var numbers ['z']int64 // by their letter in the pattern
	fraction, unit := int64(0), int64(1e9)
	for i, c := range text {
		switch letter := pattern[i]; letter {
		case 'Y', 'M', 'D', 'h', 'm', 's', 'f':
			if c < '0' || c > '9' {
				return 0, false
			}
			numbers[letter] = numbers[letter]*10 + int64(c-'0')
			if letter == 'f' {
				unit /= 10
				fraction += int64(c-'0') * unit
			}
		default:
			if c != letter {
				return 0, false
			}
		}
	}
	year := numbers['Y']
	if strings.IndexByte(pattern, 'Y') < 0 {
		year = 1970
	}
	hour, minute, second := numbers['h'], numbers['m'], numbers['s']
	days, ok := daysSince1970(year, numbers['M'], numbers['D'])
	if !ok || year >= 2262 || hour > 23 || minute > 59 || second > 60 {
		return 0, false
	}
	return (days*86_400+hour*3600+minute*60+second)*1e9 + fraction, true
}
