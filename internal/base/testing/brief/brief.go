// Package brief shortens tests under -short: Of chooses a size, Sample some of the cases. Long leaves out tests that
// take too long for `make test`. It is for tests only.
package brief

import (
	"os"
	"testing"
)

// longEnv is the environment variable that has tests run in full, if it is "1".
const longEnv = "CACHESIM_LONG"

// InFull reports whether tests run in full: with CACHESIM_LONG=1, as CI does, and without -short.
func InFull() bool { return os.Getenv(longEnv) == "1" && !testing.Short() }

// Long skips a test that takes long, unless tests run in full.
func Long(t testing.TB, why string) {
	t.Helper()
	if !InFull() {
		t.Skip(why + "; " + longEnv + "=1 go test runs it, as CI does")
	}
}

// Of returns full, or short under -short.
func Of[T any](full, short T) T {
	if testing.Short() {
		return short
	}
	return full
}

// OfLong returns full where tests run in full, or less.
func OfLong[T any](full, less T) T {
	if InFull() {
		return full
	}
	return less
}

// Sample returns all cases, or under -short the first of each k.
func Sample[T any](k int, cases ...T) []T {
	return firsts(Of(1, k), cases)
}

// SampleLong returns all cases where tests run in full, or the first of each k.
func SampleLong[T any](k int, cases ...T) []T {
	return firsts(OfLong(1, k), cases)
}

func firsts[T any](k int, cases []T) (sample []T) {
	for i := 0; i < len(cases); i += k {
		sample = append(sample, cases[i])
	}
	return sample
}
