package servers

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// bytesOf reads a number of bytes as most servers do: 8mb, 64M, 1g, 256 MB, with factors of 1,024. Redis' 8m and 8k
// are the exception, and read so here: nobody means 8,000,000.
func bytesOf(text string) (int64, error) {
	s := strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz ")
	factor := int64(1)
	switch strings.TrimSpace(s[len(digits):]) {
	case "", "b":
	case "k", "kb", "kib":
		factor = 1 << 10
	case "m", "mb", "mib":
		factor = 1 << 20
	case "g", "gb", "gib":
		factor = 1 << 30
	case "t", "tb", "tib":
		factor = 1 << 40
	default:
		return 0, fmt.Errorf("%q: want a number with k, m, g or t, such as 512mb", text)
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(n > 0) || n*float64(factor) >= 1<<62 {
		return 0, fmt.Errorf("%q: want a number of bytes above 0, such as 512mb", text)
	}
	return int64(n * float64(factor)), nil
}

// megabytes reads memcached's -m, which is in whole MB unless it has a unit.
func megabytes(text string) (int64, error) {
	if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
		return bytesOf(strconv.Itoa(n) + "m")
	}
	if _, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
		return 0, fmt.Errorf("%q: -m is a whole number of MB, such as 64, or has a unit, such as 64m", text)
	}
	return bytesOf(text)
}

// nginxTime reads a time as nginx.conf has it, in nanoseconds: 30s, 10m, 1h, 1d, 1h30m, 500ms; a number
// alone is seconds.
func nginxTime(text string) (int64, error) {
	s := strings.ReplaceAll(strings.TrimSpace(text), " ", "")
	if n, err := strconv.ParseFloat(s, 64); err == nil && n >= 0 && n < 1e9 {
		return int64(n * second), nil
	}
	var days int64
	if before, after, found := strings.Cut(s, "d"); found {
		n, err := strconv.ParseInt(before, 10, 32)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("%q: want a time such as 30s, 10m, 1h or 7d", text)
		}
		if days, s = n, after; s == "" {
			s = "0s"
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q: want a time such as 30s, 10m, 1h or 7d", text)
	}
	return int64(d) + days*24*int64(time.Hour), nil
}
