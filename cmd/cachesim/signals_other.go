//go:build !unix

package main

// hearFileSizeSignal has nothing to hear where there is no such signal.
func hearFileSizeSignal() {}
