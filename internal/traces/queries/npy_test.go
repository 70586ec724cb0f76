package queries

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/npy"
	"github.com/cachesim/cachesim/internal/traces/source"
)

const twoByTwo = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n"

// FuzzVectors: nothing panics or allocates what a header claims, rows are sane, and errors name their position. The
// same bytes, compressed, have the same rows.
func FuzzVectors(f *testing.F) {
	for _, seed := range []string{twoByTwo, strings.Replace(twoByTwo, "<f4", "<f8", 1), "{'shape': (99999, " +
		"65536), 'descr': '<f4', 'fortran_order': False}"} {
		f.Add([]byte("\x93NUMPY\x01\x00" + string([]byte{byte(len(seed)), 0}) + seed + strings.Repeat("\x00\x01\x02?", 8)))
	}
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x80?"))
	plain := "\x93NUMPY\x01\x00" + string([]byte{byte(len(twoByTwo)), 0}) + twoByTwo + strings.Repeat("\x00\x01\x02?", 4)
	small := compressed(f, []byte(plain))
	f.Add(small)
	f.Add(small[:len(small)-5])                                     // cut off
	f.Add(append(bytes.Clone(small), "text"...))                    // followed by something else
	f.Add(append([]byte("\x28\xb5\x2f\xfd\x00\xff"), small[6:]...)) // a window of terabytes
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := drainVectors(t, data)
		if err != io.EOF && !strings.HasPrefix(err.Error(), "standard input: ") {
			t.Errorf("the error does not say where it is: %v", err)
		}
		if bytes.HasPrefix(data, []byte(npy.Magic)) {
			again, errAgain := drainVectors(t, compressed(t, data))
			if !slices.Equal(again, rows) || (errAgain == io.EOF) != (err == io.EOF) {
				t.Errorf("compressed: got %v and error %v, uncompressed %v and %v", again, errAgain, rows, err)
			}
		}
	})
}

// drainVectors returns the numbers of the rows of a file that a pipe delivers, and the error that ended it, which is
// io.EOF after the last row.
func drainVectors(t *testing.T, data []byte) (numbers []float32, err error) {
	in, err := source.OpenFile(t.Context(), "-", bytes.NewReader(data))
	must.Do(t, err)
	defer in.Close()
	v, err := newVectorFile(in)
	for err == nil {
		row := make([]float32, v.Dim())
		if err = v.Read(row); err != nil {
			break
		}
		if checkVector(row) != nil {
			t.Fatalf("row %v", row)
		}
		numbers = append(numbers, row...)
	}
	return numbers, err
}

func compressed(t testing.TB, data []byte) []byte {
	w := must.Get(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)))(t)
	defer w.Close()
	return w.EncodeAll(data, nil)
}

// TestNpyHeadersAreAligned: numbers begin at a multiple of 64 bytes.
func TestNpyHeadersAreAligned(t *testing.T) {
	for rows := range int64(2000) {
		if length := len(npy.Append(nil, rows*rows*rows, 384)); length%64 != 0 {
			t.Errorf("%d rows: a header of %d bytes, want a multiple of 64", rows*rows*rows, length)
		}
	}
}
