//go:build !linux

package memory

// adviseLarge does nothing: these systems choose the size of pages themselves.
func adviseLarge([]byte) {}
