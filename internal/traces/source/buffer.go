package source

import (
	"bufio"
	"bytes"
	"io"
)

// Sizes of a buffer, in bytes: it starts small, since a trace may be thousands of files of two lines, and grows to what
// a line or a look ahead needs. Once it has been filled, it reads readSize at a time.
const (
	firstBuffer = 4 << 10
	readSize    = 64 << 10
)

// buffer is a bufio.Reader that grows up to MaxLine. Its methods are those of bufio.Reader, with the same errors.
type buffer struct {
	r    io.Reader
	b    []byte
	from int // b[from:to] is buffered
	to   int
	err  error // of r, once everything before it has been returned
}

func newBuffer(r io.Reader) *buffer { return &buffer{r: r, b: make([]byte, firstBuffer)} }

// mostEmptyReads is how often in a row a reader may return nothing.
const mostEmptyReads = 100

// fill reads once. The buffer has room then, unless it holds MaxLine bytes.
func (b *buffer) fill() {
	switch {
	case b.from > 0:
		copy(b.b, b.b[b.from:b.to])
		b.from, b.to = 0, b.to-b.from
	case b.to == len(b.b):
		larger := make([]byte, min(MaxLine, max(4*len(b.b), readSize)))
		copy(larger, b.b)
		b.b = larger
	}
	for range mostEmptyReads {
		n, err := b.r.Read(b.b[b.to:])
		b.to += n
		if b.err = err; n > 0 || err != nil {
			return
		}
	}
	b.err = io.ErrNoProgress
}

// Buffered returns how many bytes can be read without reading from the reader below.
func (b *buffer) Buffered() int { return b.to - b.from }

func (b *buffer) readErr() error {
	err := b.err
	b.err = nil
	return err
}

func (b *buffer) Peek(n int) ([]byte, error) {
	if n > MaxLine {
		return nil, bufio.ErrBufferFull
	}
	for b.Buffered() < n && b.err == nil {
		b.fill()
	}
	if have := b.Buffered(); have < n {
		return b.b[b.from:b.to], b.readErr()
	}
	return b.b[b.from : b.from+n], nil
}

func (b *buffer) Discard(n int) (int, error) {
	for left := n; ; {
		step := min(left, b.Buffered())
		b.from += step
		if left -= step; left == 0 {
			return n, nil
		}
		if b.err != nil {
			return n - left, b.readErr()
		}
		b.fill()
	}
}

func (b *buffer) ReadSlice(end byte) ([]byte, error) {
	for searched := 0; ; {
		if i := bytes.IndexByte(b.b[b.from+searched:b.to], end); i >= 0 {
			line := b.b[b.from : b.from+searched+i+1]
			b.from += len(line)
			return line, nil
		}
		if full := b.Buffered() == MaxLine; full || b.err != nil {
			line := b.b[b.from:b.to]
			if b.from = b.to; full {
				return line, bufio.ErrBufferFull
			}
			return line, b.readErr()
		}
		searched = b.Buffered()
		b.fill()
	}
}

func (b *buffer) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if b.Buffered() == 0 {
		if b.err != nil {
			return 0, b.readErr()
		}
		if len(p) >= readSize { // past the buffer, which would only copy
			return b.r.Read(p)
		}
		b.from, b.to = 0, 0
		if b.fill(); b.Buffered() == 0 {
			return 0, b.readErr()
		}
	}
	n := copy(p, b.b[b.from:b.to])
	b.from += n
	return n, nil
}
