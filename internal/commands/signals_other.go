//go:build !unix

package commands

// hearFileSizeSignal does nothing, because the system has no such signal.
func hearFileSizeSignal() {}
