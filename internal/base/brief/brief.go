// Package brief shortens tests under -short: Of chooses a size, Sample some of the cases. Long leaves out tests that
// take too long for `make test`. It is for tests only.
package brief

import (
	"os"
	"testing"
)

// longEnv is the environment variable that has tests run in full, if it is "1".
const longEnv = "CACHESIM_LONG"

// Long skips a test that takes long, unless CACHESIM_LONG=1, with which CI runs all tests.
func Long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() || os.Getenv(longEnv) != "1" {
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

// Sample returns all cases, or under -short the first of each k.
func Sample[T any](k int, cases ...T) []T {
	if !testing.Short() {
		return cases
	}
	var sample []T
	for i := 0; i < len(cases); i += k {
		sample = append(sample, cases[i])
	}
	return sample
}
