package sizes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Units are the accepted suffixes of bytes. Any other suffix, such as "gb", is an error: a guess could be wrong by a
// factor of 8.
var Units = map[string]float64{
	"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

// UnitNames lists the Units for people.
const UnitNames = "B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024)"

// UnknownUnit suggests what the user may have meant by a suffix that is not in Units.
func UnknownUnit(number, unit string) error {
	var near []string
	for _, name := range []string{"B", "kB", "KiB", "MB", "MiB", "GB", "GiB", "TB", "TiB"} {
		prefix := strings.TrimSuffix(strings.TrimSuffix(name, "B"), "i")
		if slices.ContainsFunc([]string{name, prefix, prefix + "B"}, func(s string) bool {
			return strings.EqualFold(s, unit)
		}) {
			near = append(near, number+name)
		}
	}
	if len(near) == 0 {
		return fmt.Errorf("unknown unit %q; bytes are written with %s", unit, UnitNames)
	}
	return fmt.Errorf("unknown unit %q; did you mean %s? (bytes are written with %s)", unit, strings.Join(near,
		" or "), UnitNames)
}

// mostBytes is the largest size of an object, 1 PiB.
const mostBytes = 1 << 50

// ParseBytes parses a size: whole bytes from 0 to 2^50, alone or with a unit, such as 475, 475B or 1.5KiB.
func ParseBytes(text string) (int64, error) {
	unit := strings.TrimLeft(text, "0123456789.")
	number := text[:len(text)-len(unit)]
	factor, known := Units[strings.TrimSpace(unit)]
	if unit == "" {
		factor, known = 1, !strings.Contains(number, ".")
	}
	value, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || unit == "" && !known:
		return 0, fmt.Errorf("size %q: want bytes, such as 475B or 1.5KiB", text)
	case !known:
		return 0, fmt.Errorf("size %q: %w", text, UnknownUnit(number, strings.TrimSpace(unit)))
	case value*factor > mostBytes:
		return 0, fmt.Errorf("size %q: want at most 2^50 bytes", text)
	}
	return int64(value * factor), nil
}
