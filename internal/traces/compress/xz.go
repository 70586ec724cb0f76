package compress

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ulikunitz/xz"
)

func openXZ(_ *decompressed, r *bufio.Reader) (io.Reader, error) {
	guard := &xzGuard{r: r, need: xzStreamHeader, step: (*xzGuard).streamHeader}
	x, err := xz.NewReader(bufio.NewReader(guard))
	if guard.err != nil {
		err = guard.err
	}
	return &xzReader{x, guard}, err
}

// xzReader reads an xz file. An error of its guard takes precedence, as it is the cause of what the xz package then
// reports.
type xzReader struct {
	x     *xz.Reader
	guard *xzGuard
}

func (x *xzReader) Read(p []byte) (int, error) {
	n, err := x.x.Read(p)
	switch {
	case err != nil && x.guard.err != nil:
		err = x.guard.err
	case err == io.EOF && !x.guard.whole():
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// xzGuard passes an xz file on and follows its streams, blocks and chunks, without decompressing any. The xz package
// allocates a dictionary of whatever size the header of a block requests, and accepts a file that is cut off between
// its blocks and the index as complete. (The .xz file format, https://tukaani.org/xz/xz-file-format.txt; LZMA2 as the
// Linux kernel documents it.)
type xzGuard struct {
	r    io.Reader
	err  error
	skip int64                  // bytes to pass on unseen
	need int                    // bytes that the next step needs
	seen []byte                 // the part of them that has arrived
	step func(g *xzGuard) error // sets what comes next

	checkSize int64  // bytes of the checksum after a block
	blockSize int64  // bytes of the current block so far, or of the index
	numbers   uint64 // numbers left in the index
}

const (
	xzStreamHeader = 12
	xzFooter       = 12
)

var errXZ = errors.New("its structure is malformed")

// Read implements io.Reader. It never passes on the last byte of a refused header.
func (g *xzGuard) Read(p []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.r.Read(p)
	for i := 0; i < n; {
		if g.skip > 0 {
			passed := min(g.skip, int64(n-i))
			g.skip -= passed
			i += int(passed)
			continue
		}
		g.seen = append(g.seen, p[i])
		if len(g.seen) == g.need {
			if g.err = g.step(g); g.err != nil {
				// What came before is passed on; the next call returns the error.
				return i, nil
			}
		}
		i++
	}
	return n, err
}

// whole reports whether the bytes so far are whole streams, with or without padding.
func (g *xzGuard) whole() bool { return g.skip == 0 && len(g.seen) == 0 && g.need == xzPadding }

// then makes step see the next need bytes, after skip bytes that nobody looks at.
func (g *xzGuard) then(skip int64, need int, step func(*xzGuard) error) {
	g.skip, g.need, g.step, g.seen = skip, need, step, g.seen[:0]
}

// xzPadding is the unit of padding between streams.
const xzPadding = 4

// betweenStreams sees padding, or the beginning of another stream.
func (g *xzGuard) betweenStreams() error {
	if binary.LittleEndian.Uint32(g.seen) == 0 {
		g.seen = g.seen[:0]
		return nil
	}
	g.need, g.step = xzStreamHeader, (*xzGuard).streamHeader
	return nil
}

func (g *xzGuard) streamHeader() error {
	if string(g.seen[:6]) != "\xfd7zXZ\x00" || g.seen[7] > 15 {
		return errXZ
	}
	g.checkSize = 0
	if kind := g.seen[7]; kind > 0 {
		g.checkSize = 4 << ((kind - 1) / 3)
	}
	g.then(0, 1, (*xzGuard).blockStart)
	return nil
}

// blockStart sees the length of the header of a block, or that the index begins.
func (g *xzGuard) blockStart() error {
	if g.seen[0] == 0 {
		g.blockSize, g.numbers = 1, 0
		g.then(0, 1, (*xzGuard).indexCount)
		return nil
	}
	g.need, g.step = (int(g.seen[0])+1)*4, (*xzGuard).blockHeader
	return nil
}

// blockHeader refuses a dictionary that is too large. (Sections 3.1 and 5.3.1.)
func (g *xzGuard) blockHeader() error {
	flags, fields := g.seen[1], g.seen[2:]
	for _, sizeField := range []byte{0x40, 0x80} { // compressed and uncompressed size
		if flags&sizeField == 0 {
			continue
		}
		_, n := binary.Uvarint(fields)
		if n <= 0 {
			return errXZ
		}
		fields = fields[n:]
	}
	const lzma2 = 0x21
	if flags&3 != 0 || len(fields) < 3 || fields[0] != lzma2 || fields[1] != 1 || fields[2] > 40 {
		return errors.New("a block has filters other than LZMA2")
	}
	if size := int64(2|fields[2]&1) << (fields[2]/2 + 11); size > MaxWindow {
		return fmt.Errorf("%w: it requests %d MiB", errWindow, size>>20)
	}
	g.blockSize = 0
	g.then(0, 1, (*xzGuard).chunkControl)
	return nil
}

// chunkControl sees what kind of chunk of a block follows, or that the block ends.
func (g *xzGuard) chunkControl() error {
	g.blockSize++
	switch control := g.seen[0]; {
	case control == 0: // padding and checksum follow; headers are whole units of padding
		g.then(-g.blockSize&(xzPadding-1)+g.checkSize, 1, (*xzGuard).blockStart)
	case control <= 2: // not compressed
		g.need, g.step = 3, (*xzGuard).chunk
	case control >= 0x80:
		g.need, g.step = 5, (*xzGuard).chunk
	default:
		return errXZ
	}
	return nil
}

// chunk sees how long a chunk is.
func (g *xzGuard) chunk() error {
	length := int64(binary.BigEndian.Uint16(g.seen[len(g.seen)-2:])) + 1
	if g.seen[0] >= 0xc0 {
		length++ // its properties
	}
	g.blockSize += int64(len(g.seen)) - 1 + length
	g.then(length, 1, (*xzGuard).chunkControl)
	return nil
}

// indexCount sees the number of blocks in the index, byte by byte.
func (g *xzGuard) indexCount() error {
	g.blockSize++
	if g.seen[len(g.seen)-1] >= 0x80 {
		g.need++
		if g.need > binary.MaxVarintLen64 {
			return errXZ
		}
		return nil
	}
	blocks, n := binary.Uvarint(g.seen)
	if n <= 0 || blocks > 1<<62 {
		return errXZ
	}
	g.numbers = 2 * blocks
	g.nextNumber()
	return nil
}

// indexNumber sees a byte of a number in the index: two for each block.
func (g *xzGuard) indexNumber() error {
	g.blockSize++
	if g.seen[0] < 0x80 {
		g.numbers--
	}
	g.nextNumber()
	return nil
}

func (g *xzGuard) nextNumber() {
	if g.numbers > 0 {
		g.then(0, 1, (*xzGuard).indexNumber)
		return
	}
	const checksum = 4
	g.then(-g.blockSize&(xzPadding-1)+checksum, xzFooter, (*xzGuard).footer)
}

func (g *xzGuard) footer() error {
	if string(g.seen[xzFooter-2:]) != "YZ" {
		return errXZ
	}
	g.then(0, xzPadding, (*xzGuard).betweenStreams)
	return nil
}
