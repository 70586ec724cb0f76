package queries

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/must"
	"github.com/cachesim/cachesim/internal/traces/npy"
	"github.com/cachesim/cachesim/internal/traces/source"
)

const twoByTwo = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n"

// FuzzVectors: nothing panics or allocates what a header claims, rows are sane, and errors name their position.
func FuzzVectors(f *testing.F) {
	for _, seed := range []string{twoByTwo, strings.Replace(twoByTwo, "<f4", "<f8", 1), "{'shape': (99999, " +
		"65536), 'descr': '<f4', 'fortran_order': False}"} {
		f.Add([]byte("\x93NUMPY\x01\x00" + string([]byte{byte(len(seed)), 0}) + seed + strings.Repeat("\x00\x01\x02?", 8)))
	}
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x80?"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := source.OpenFile(t.Context(), "-", bytes.NewReader(data))
		must.Do(t, err)
		defer in.Close()
		v, err := newVectorFile(in)
		for err == nil {
			row := make([]float32, v.Dim())
			if err = v.Read(row); err == nil && checkVector(row) != nil {
				t.Fatalf("row %v", row)
			}
		}
		if err != io.EOF && !strings.HasPrefix(err.Error(), "standard input: ") {
			t.Errorf("the error does not say where it is: %v", err)
		}
	})
}

// TestNpyHeadersAreAligned: numbers begin at a multiple of 64 bytes.
func TestNpyHeadersAreAligned(t *testing.T) {
	for rows := range int64(2000) {
		if length := len(npy.Append(nil, rows*rows*rows, 384)); length%64 != 0 {
			t.Errorf("%d rows: a header of %d bytes, want a multiple of 64", rows*rows*rows, length)
		}
	}
}
