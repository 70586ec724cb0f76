// Package brief shortens tests under -short: Of chooses a size, Sample some of the cases. It is for tests only.
package brief

import "testing"

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
