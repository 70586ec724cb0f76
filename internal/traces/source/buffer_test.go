package source

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// TestBufferIsABufioReader has a buffer and a bufio.Reader of its largest size do the same.
func TestBufferIsABufioReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var content []byte
		for range rapid.IntRange(0, 6).Draw(t, "lines") {
			length := rapid.SampledFrom([]int{0, 1, 80, 4095, 4096, 70_000, MaxLine - 1, MaxLine, MaxLine + 9}).Draw(t, "length")
			content = append(bytes.Repeat([]byte{'x'}, length), append([]byte{'\n'}, content...)...)
		}
		if len(content) > 0 && rapid.Bool().Draw(t, "unended") {
			content = content[:len(content)-1]
		}
		ends := rapid.SampledFrom([]error{io.EOF, errors.New("broken")}).Draw(t, "ends")
		reader := func() io.Reader {
			return io.MultiReader(bytes.NewReader(content), iotest.ErrReader(ends))
		}
		got, want := newBuffer(reader()), bufio.NewReaderSize(reader(), MaxLine)
		for step := range rapid.IntRange(1, 20).Draw(t, "steps") {
			n := rapid.SampledFrom([]int{0, 1, 100, 5000, HeadLen, MaxLine}).Draw(t, "n")
			var a, b []byte
			var errA, errB error
			switch rapid.IntRange(0, 3).Draw(t, "call") {
			case 0:
				a, errA = got.Peek(n)
				b, errB = want.Peek(n)
			case 1:
				a, errA = got.ReadSlice('\n')
				b, errB = want.ReadSlice('\n')
			case 2:
				m, err := want.Discard(n)
				if n, errA = got.Discard(n); n != m {
					t.Fatalf("step %d: discards %d bytes, want %d", step, n, m)
				}
				errB = err
			default:
				a, b = make([]byte, n), make([]byte, n)
				n, errA = io.ReadFull(got, a)
				a = a[:n]
				n, errB = io.ReadFull(want, b)
				b = b[:n]
			}
			if !bytes.Equal(a, b) || (errA == nil) != (errB == nil) || errA != nil && errA.Error() != errB.Error() {
				t.Fatalf("step %d: %d bytes with error %v, want %d with %v", step, len(a), errA, len(b), errB)
			}
		}
		if len(got.b) > max(readSize, MaxLine) {
			t.Fatalf("the buffer has grown to %d bytes", len(got.b))
		}
	})
}

func TestBufferOfAShortFileIsSmall(t *testing.T) {
	b := newBuffer(bytes.NewReader([]byte("a\nb\n")))
	if head, err := b.Peek(HeadLen); string(head) != "a\nb\n" || err != io.EOF || len(b.b) != firstBuffer {
		t.Errorf("%q, %v, %d bytes; want the file, EOF and %d", head, err, len(b.b), firstBuffer)
	}
}
