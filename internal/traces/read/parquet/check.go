package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// checker checks the sizes that a Parquet file claims before the Parquet package allocates them.
type checker struct {
	r         io.ReaderAt
	size      int64
	budget    *memory.Budget
	inflation inflation
}

// Limits on numbers in a Parquet file. Writers make pages of about 1 MiB, and footers of some KiB per row group.
const (
	maxFooter = 16 << 20
	maxPage   = 256 << 20 // bytes, compressed or not
	maxValues = 1 << 24   // per page
)

var errDamaged = errors.New("damaged Parquet: its metadata is malformed")

// footer checks that the file ends with metadata whose lists are no longer than the metadata itself.
func (p *checker) footer() error {
	const tail = 8 // length of the metadata and the signature
	if p.size < int64(len(Magic))+tail {
		return errors.New("cut-off Parquet: want a signature, metadata and their length")
	}
	var end [tail]byte
	if _, err := p.r.ReadAt(end[:], p.size-tail); err != nil {
		return err
	}
	if !bytes.HasSuffix(end[:], []byte(Magic)) {
		return errors.New("cut-off Parquet: the signature PAR1 is missing at its end")
	}
	length := int64(binary.LittleEndian.Uint32(end[:]))
	if length > p.size-tail-int64(len(Magic)) || length > maxFooter {
		return fmt.Errorf("damaged Parquet: it claims %d bytes of metadata", length)
	}
	metadata := make([]byte, length)
	if _, err := p.r.ReadAt(metadata, p.size-tail-length); err != nil {
		return err
	}
	w := thriftWalk{data: metadata}
	if w.structure(nil); w.failed {
		return errDamaged
	}
	return nil
}

// chunk checks the headers of all pages of a column in a row group.
func (p *checker) chunk(chunk format.ColumnChunk) error {
	start, length := chunk.MetaData.DataPageOffset, chunk.MetaData.TotalCompressedSize
	if d := chunk.MetaData.DictionaryPageOffset; d > 0 && d < start {
		start = d
	}
	if start < 0 || length < 0 || start > p.size || length > p.size-start {
		return fmt.Errorf("damaged Parquet: it refers to bytes %d to %d of a file of %d", start, start+length, p.size)
	}
	for end := start + length; start < end; {
		pageLength, err := p.page(chunk.MetaData.Codec, start, end)
		if err != nil {
			return err
		}
		start += pageLength
	}
	return nil
}

// pageShare is the share of the budget that a page may use: several columns are read side by side, and a page is held
// several times.
const pageShare = 0.125

// page checks the page at an offset and returns its length including the header.
func (p *checker) page(codec format.CompressionCodec, start, end int64) (int64, error) {
	w, err := p.pageHeader(start, end)
	if err != nil {
		return 0, err
	}
	left := end - start - int64(w.pos)
	if w.compressed < 0 || w.compressed > min(left, maxPage) || w.uncompressed < 0 || w.uncompressed > maxPage ||
		w.values < 0 || w.values > maxValues {
		return 0, fmt.Errorf("damaged Parquet: the page at byte %d claims %d values in %d bytes, compressed to %d (the "+
			"limit is %d values in %d bytes)", start, w.values, w.uncompressed, w.compressed, maxValues, maxPage)
	}
	if w.uncompressed > p.budget.Part(pageShare, maxPage) {
		return 0, p.budget.Refuse(0, fmt.Sprintf("the Parquet page at byte %d has %s", start,
			memory.Bytes(w.uncompressed)), "smaller pages")
	}
	if w.levels < 0 || w.levels > min(w.compressed, w.uncompressed) {
		return 0, errDamaged
	}
	if !w.plain {
		body := io.NewSectionReader(p.r, start+int64(w.pos)+w.levels, w.compressed-w.levels)
		if err := p.inflation.check(codec, body, w.uncompressed-w.levels); err != nil {
			return 0, fmt.Errorf("damaged Parquet: the page at byte %d: %w", start, err)
		}
	}
	return int64(w.pos) + w.compressed, nil
}

// pageHeader holds the integers of a page header that memory depends on.
type pageHeader struct {
	thriftWalk
	compressed, uncompressed, values int64
	levels                           int64 // bytes before the values that are never compressed
	plain                            bool  // nothing is compressed, whatever the codec of the column
}

// pageHeader decodes the header at an offset. Nearly all headers are short; only the statistics of long keys make one
// longer, for which more is read.
func (p *checker) pageHeader(start, end int64) (*pageHeader, error) {
	for _, length := range []int64{512, source.MaxLine} {
		data := make([]byte, min(length, end-start))
		if _, err := p.r.ReadAt(data, start); err != nil {
			return nil, err
		}
		h := &pageHeader{thriftWalk: thriftWalk{data: data}}
		if h.structure(h.note); !h.failed {
			return h, nil
		}
	}
	return nil, fmt.Errorf("damaged Parquet: want the header of a page at byte %d", start)
}

// note records an integer of a page header, or a truth value as 1 or 0. (parquet.thrift: PageHeader, num_values of the
// three kinds of pages, and the fields of DataPageHeaderV2 about levels and compression.)
func (h *pageHeader) note(outer, field int, value int64) {
	switch {
	case outer == 0 && field == 2:
		h.uncompressed = value
	case outer == 0 && field == 3:
		h.compressed = value
	case (outer == 5 || outer == 7 || outer == 8) && field == 1:
		h.values = value
	case outer == 8 && (field == 5 || field == 6):
		h.levels += value
	case outer == 8 && field == 7:
		h.plain = value == 0
	}
}

// thriftWalk walks over a structure in the Thrift compact protocol without building it, and fails if a length exceeds
// what is left.
type thriftWalk struct {
	data   []byte
	pos    int
	depth  int
	outer  int // current field of the outermost structure, 0 in that structure itself
	failed bool
}

// Types of the compact protocol.
const (
	thriftStop = iota
	thriftTrue
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

// structure walks over a structure and calls note, if not nil, for the integers and truth values in it and in its
// direct substructures.
func (w *thriftWalk) structure(note func(outer, field int, value int64)) {
	const maxDepth = 32
	w.depth++
	if w.depth > maxDepth {
		w.failed = true
	}
	field := 0
	for !w.failed {
		head := w.byte()
		kind := int(head & 15)
		if kind == thriftStop {
			break
		}
		if delta := int(head >> 4); delta > 0 {
			field += delta
		} else {
			field = int(w.zigzag())
		}
		w.field(kind, field, note)
	}
	w.depth--
}

func (w *thriftWalk) field(kind, field int, note func(outer, field int, value int64)) {
	switch kind {
	case thriftTrue, thriftFalse: // the value is the type
		if note != nil && w.depth <= 2 {
			// thriftTrue is 1 and thriftFalse is 2: this is 1 for true and 0 for false.
			note(w.outer, field, int64(thriftFalse-kind))
		}
	case thriftI16, thriftI32, thriftI64:
		value := w.zigzag()
		if note != nil && w.depth <= 2 {
			note(w.outer, field, value)
		}
	case thriftStruct:
		if w.depth == 1 {
			w.outer = field
		}
		w.structure(note)
		if w.depth == 1 {
			w.outer = 0
		}
	default:
		w.value(kind)
	}
}

// value walks over a value in a list, or in a field that is neither a truth value, an integer nor a structure.
func (w *thriftWalk) value(kind int) {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		w.skip(1)
	case thriftI16, thriftI32, thriftI64:
		w.zigzag()
	case thriftDouble:
		w.skip(8)
	case thriftBinary:
		w.skip(w.length())
	case thriftList, thriftSet:
		w.list()
	case thriftStruct:
		w.structure(nil)
	default: // Parquet has no maps
		w.failed = true
	}
}

func (w *thriftWalk) list() {
	head := w.byte()
	count, kind := int(head>>4), int(head&15)
	if count == 15 {
		count = w.length()
	}
	for ; count > 0 && !w.failed; count-- {
		w.value(kind)
	}
}

// length reads the length of a string or a list, each element of which needs at least a byte.
func (w *thriftWalk) length() int {
	n := w.uvarint()
	if n > uint64(len(w.data)-w.pos) {
		w.failed = true
		return 0
	}
	return int(n)
}

func (w *thriftWalk) byte() byte {
	if w.pos >= len(w.data) {
		w.failed = true
		return thriftStop
	}
	w.pos++
	return w.data[w.pos-1]
}

func (w *thriftWalk) skip(n int) {
	if n > len(w.data)-w.pos {
		w.failed = true
		return
	}
	w.pos += n
}

func (w *thriftWalk) uvarint() uint64 {
	value, n := binary.Uvarint(w.data[w.pos:])
	if n <= 0 {
		w.failed = true
		return 0
	}
	w.pos += n
	return value
}

func (w *thriftWalk) zigzag() int64 {
	u := w.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}
