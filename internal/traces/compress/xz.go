package compress

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/ulikunitz/xz"
)

func openXZ(_ *decompressed, r *bufio.Reader) (io.Reader, error) {
	guard := &xzGuard{r: r}
	x, err := xz.NewReader(guard)
	return &xzReader{x, guard}, err
}

// xzReader reads an xz file. The xz package accepts a file that is cut off between its blocks and the index as whole.
type xzReader struct {
	x     *xz.Reader
	guard *xzGuard
}

func (x *xzReader) Read(p []byte) (int, error) {
	n, err := x.x.Read(p)
	if err == io.EOF && !x.guard.whole {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// xzGuard passes an xz file on to the xz package, and knows what it reads from the lengths of reads: the header of a
// block follows a read of its length, and a stream ends with a read of its footer. (The .xz file format,
// https://tukaani.org/xz/xz-file-format.txt.)
type xzGuard struct {
	r     *bufio.Reader
	last  byte // the last byte of the previous read
	whole bool // the last stream has ended
}

// Read implements io.Reader. It fills p.
func (g *xzGuard) Read(p []byte) (n int, err error) {
	if len(p) == 1 { // data of a block
		if p[0], err = g.r.ReadByte(); err != nil {
			return 0, err
		}
		g.last, g.whole = p[0], false
		return 1, nil
	}
	if n, err = io.ReadFull(g.r, p); err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	if n == 0 {
		return 0, err
	}
	if err == nil && g.last != 0 && n == (int(g.last)+1)*4-1 {
		if err := checkXZBlock(p); err != nil {
			return 0, err
		}
	}
	const padding, footer = 4, 12
	g.whole = n == footer && string(p[n-2:]) == "YZ" || n == padding && g.whole
	g.last = p[n-1]
	return n, err
}

// checkXZBlock refuses the header of a block with a dictionary that is too large, which the xz package would allocate.
// (Sections 3.1 and 5.3.1.)
func checkXZBlock(header []byte) error {
	flags, fields := header[0], header[1:]
	for _, sizeField := range []byte{0x40, 0x80} { // compressed and uncompressed size
		if flags&sizeField != 0 {
			_, n := binary.Uvarint(fields)
			fields = fields[max(n, 0):]
		}
	}
	const lzma2 = 0x21
	if len(fields) < 3 || fields[0] != lzma2 || fields[1] != 1 || fields[2] > 40 {
		return nil // what else is wrong the xz package says
	}
	if size := int64(2|fields[2]&1) << (fields[2]/2 + 11); size > MaxWindow {
		return fmt.Errorf("%w: it requests %d MiB", errWindow, size>>20)
	}
	return nil
}
