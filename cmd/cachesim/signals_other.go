//go:build !unix

package main

// hearFileSizeSignal does nothing, because the system has no such signal.
func hearFileSizeSignal() {}
