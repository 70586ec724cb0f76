package attention

import (
	"cmp"
	"encoding/binary"
	"io"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// Ending is that of the names of files in this program's own format.
const Ending = ".attention"

// A file of this program begins with magic, the length of a JSON text as uint32, and that text, the Shape. Then come
// the heads in the order of Head.Place, each as its queries, the predicted ones if Shape.Predicted is set, its keys and
// its values, in the order of Head, as little-endian float16. So it can be written and read in one pass, through a pipe
// or compressed.
const magic = "\x89ATTN\x01\r\n"

// maxShape bounds the text of the shape, in bytes.
const maxShape = 1 << 20

// file reads this program's own format. It implements Trace.
type file struct {
	src     *source.Source
	shape   Shape // of what is read
	stored  Shape
	options Options
	next    int
	rowReader
}

// openOwn opens a file in this program's own format.
func openOwn(src *source.Source, options Options) (Trace, error) {
	head := make([]byte, len(magic)+4)
	if _, err := io.ReadFull(src, head); err != nil {
		return nil, cutOff(src, err)
	}
	length := binary.LittleEndian.Uint32(head[len(magic):])
	if length > maxShape {
		return nil, src.Errorf("a header of %d bytes: want at most %d", length, maxShape)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(src, text); err != nil {
		return nil, cutOff(src, err)
	}
	f := &file{src: src, options: options}
	if err := jsonlines.Parse(text, &f.stored, "the shape of an attention trace, in JSON"); err != nil {
		return nil, src.Errorf("its header: %w", err)
	}
	if err := f.stored.check(); err != nil {
		return nil, src.Errorf("its header: %w", err)
	}
	// Numbers of 4 bytes in memory have 2 in the file.
	bytes := f.stored.HeadBytes(Parts{true, true, true}) / 2
	if size := src.Size(); size > 0 && (size-src.Offset())/bytes != int64(f.stored.Heads()) ||
		size > 0 && (size-src.Offset())%bytes != 0 {
		return nil, src.Errorf("its header states %d heads of %d bytes, but %d bytes follow: the file is cut off or damaged",
			f.stored.Heads(), bytes, size-src.Offset())
	}
	if err := options.need(src.Place, &f.stored); err != nil {
		return nil, err
	}
	f.shape = options.limited(f.stored)
	f.rowReader = rowReader{dim: f.shape.Dim}
	return f, nil
}

func cutOff(src *source.Source, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return src.Errorf("the file is cut off within its header")
	}
	return err
}

func (f *file) Shape() *Shape { return &f.shape }
func (f *file) Close() error  { return f.src.In.Close() }

func (f *file) Next(h *Head) (err error) {
	h.Begin(&f.shape, f.next)
	f.next++
	wanted, queries, stored := f.options.Parts, f.shape.Steps*f.shape.Group(), f.stored.Steps*f.shape.Group()
	predicted, storedPredicted := queries, stored
	if !f.shape.Predicted {
		predicted, storedPredicted = 0, 0
	}
	for _, p := range []struct {
		name         string
		to           *[]float32
		wanted       bool
		read, stored int
	}{
		{"query", &h.Queries, true, queries, stored},
		{"predicted query", &h.Predicted, wanted.Predicted, predicted, storedPredicted},
		{"key", &h.Keys, wanted.Keys, f.shape.Tokens(), f.stored.Tokens()},
		{"value", &h.Values, wanted.Values, f.shape.Tokens(), f.stored.Tokens()},
	} {
		if *p.to, err = f.part(h, p.name, (*p.to)[:0], p.wanted, p.read, p.stored); err != nil {
			return err
		}
	}
	return nil
}

// part appends the first rows of a part of h, if they are wanted, and passes over the others that are stored.
func (f *file) part(h *Head, name string, to []float32, wanted bool, read, stored int) (_ []float32, err error) {
	fail := func(row int, what string) error {
		err := f.src.Errorf("layer %d, KV head %d, %s %d: %s", h.Layer, h.KV, name, row, what)
		return cmp.Or(f.src.In.Opened.Check(), err)
	}
	if !wanted {
		read = 0
	}
	if to, err = f.read(f.src, to, read, name != "value", fail); err != nil {
		return nil, err
	}
	rowBytes := int64(f.dim * f.width())
	n, err := io.CopyN(io.Discard, f.src, int64(stored-read)*rowBytes)
	if err == io.EOF {
		return nil, fail(read+int(n/rowBytes), "the file is cut off here")
	}
	return to, err
}

func (f *file) End() error {
	err := f.src.In.Opened.Check()
	if _, more := f.src.Peek(1); err == nil && more == nil {
		err = f.src.Errorf("bytes follow the %d heads that its header states", f.stored.Heads())
	}
	return err
}
