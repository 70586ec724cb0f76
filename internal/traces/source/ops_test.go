package source

import (
	"testing"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

func TestParseOp(t *testing.T) {
	for word, want := range map[string]stream.Op{
		"get": stream.OpRead, " Get_Lease\t": stream.OpRead, "PUT": stream.OpWrite,
		"Purge": stream.OpDelete, "": stream.OpUnknown, "OPTIONS": stream.OpUnknown} {
		if got, ok := ParseOp([]byte(word)); !ok || got != want {
			t.Errorf("%q: %v, %v, want %v", word, got, ok, want)
		}
	}
	for _, word := range []string{"jump", "gett", "GET /a HTTP/1.1 and more"} {
		if got, ok := ParseOp([]byte(word)); ok {
			t.Errorf("%q: %v, want an unknown word", word, got)
		}
	}
	word := []byte("GET")
	if n := testing.AllocsPerRun(100, func() { ParseOp(word) }); n > 0 {
		t.Errorf("%v allocations per word", n)
	}
}

// TestOpsRoundTrip: each operation, with each condition, is read as it is written.
func TestOpsRoundTrip(t *testing.T) {
	for op := range stream.Op(128) {
		if got, ok := ParseOp([]byte(op.String())); (!ok || got != op) && op.Kind() != stream.OpUnknown {
			t.Errorf("%q is read as %v, %v", op.String(), got, ok)
		}
	}
}
