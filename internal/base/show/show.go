// Package show writes numbers and names for people: Count, Share, Capacity and their kind. Tables, pages, figures and
// messages format all of theirs here.
package show

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Bytes is the unit of capacities in bytes; all others are counts.
const Bytes = "bytes"

var english = message.NewPrinter(language.English)

// Count formats a whole number with thousands separators: 914,145.
func Count(n int64) string { return english.Sprintf("%d", n) }

// Counted formats a number with what it counts: 1 record, 914,145 records, 2 policies, 2 keys.
func Counted[N int | int64](n N, noun string) string {
	if n != 1 {
		noun = plural(noun)
	}
	return Count(int64(n)) + " " + noun
}

func plural(noun string) string {
	stem, endsInY := strings.CutSuffix(noun, "y")
	if endsInY && stem != "" && !strings.ContainsRune("aeou", rune(stem[len(stem)-1])) {
		return stem + "ies"
	}
	return noun + "s"
}

// Capacity formats a capacity: 1,000 for objects, 64 MiB for bytes. Bytes that are not a multiple of a unit are rounded
// to four digits.
func Capacity(n int64, unit string) string {
	if unit != Bytes {
		return Count(n)
	}
	return Size(n, 4)
}

// About formats an estimated capacity, with three digits.
func About(n int64, unit string) string {
	if unit == Bytes {
		return Size(n, 3)
	}
	return Count(int64(rounded(float64(n), 3)))
}

// Within formats the end of an interval with three digits, or as Capacity if rounding leaves the range from least to
// most. An interval must contain its value, and end where everything has room.
func Within(n, least, most int64, unit string) string {
	x := float64(n)
	if unit == Bytes {
		size, _ := inUnit(n)
		x = rounded(size, 3) / size * x
	} else {
		x = rounded(x, 3)
	}
	if x < float64(least) || x > float64(most) {
		return Capacity(n, unit)
	}
	return About(n, unit)
}

// Between writes a range of capacities that About has written, with a unit that both have only once: "2.9 to 3.4 GiB".
func Between(low, high string) string {
	if number, unit, ok := strings.Cut(low, " "); ok && strings.HasSuffix(high, " "+unit) {
		low = number
	}
	return low + " to " + high
}

// Size formats a number of bytes in the unit that keeps it below 1,024.
func Size(n int64, digits int) string {
	size, suffix := inUnit(n)
	return Trimmed(size, digits) + " " + suffix
}

func inUnit(n int64) (size float64, suffix string) {
	const units = "KMGTPE"
	size, suffix = float64(n), "B"
	for i := 0; size >= 1024 && i < len(units); i++ {
		size, suffix = size/1024, units[i:i+1]+"iB"
	}
	return size, suffix
}

// Share formats a ratio as a percentage: 12.5%, 0.13%, 0.0045%.
func Share(x float64) string {
	x *= 100
	if x >= 0.1 {
		x = math.Round(x*100) / 100
		return strconv.FormatFloat(x, 'f', -1, 64) + "%"
	}
	return Trimmed(x, 2) + "%"
}

// Trimmed formats x with the given number of significant digits and without an exponent.
func Trimmed(x float64, digits int) string {
	return strconv.FormatFloat(rounded(x, digits), 'f', -1, 64)
}

func rounded(x float64, digits int) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64)
	return x
}

// Printable replaces invisible characters, so that a file name can neither control a terminal nor break an image.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
