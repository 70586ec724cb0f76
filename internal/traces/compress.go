package traces

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// maxWindow is the most memory in bytes that a compressed file may ask for as its window or dictionary: that of `zstd --ultra -22`,
// twice that of `xz -9`.
const maxWindow = 128 << 20

// errWindow is the error for a file that asks for more.
var errWindow = fmt.Errorf("needs a window of more than %d MiB, compress it again with a smaller one", maxWindow>>20)

// compression is one that is recognised from the first bytes of a file.
type compression struct {
	name  string
	magic string // "?" stands for any byte
	open  func(in *input, r *bufio.Reader) (io.Reader, error)
}

var compressions = []compression{
	{"gzip", "\x1f\x8b\x08", openGzip},
	{"zstd", "\x28\xb5\x2f\xfd", openZstd},
	{"xz", "\xfd7zXZ\x00", openXZ},
	{"bzip2", "BZh?\x31\x41\x59\x26\x53\x59", openBzip2}, // with its first block, as words may begin with BZh
	{"bzip2", "BZh?\x17\x72\x45\x38\x50\x90", openBzip2}, // without any block
	{"lz4", "\x04\x22\x4d\x18", openLZ4},
	{"snappy", "\xff\x06\x00\x00sNaPpY", openS2},
	{"s2", "\xff\x06\x00\x00S2sTwO", openS2},
}

// magicLen is the number of bytes that recognising a compression needs.
const magicLen = 10

func openGzip(_ *input, r *bufio.Reader) (io.Reader, error) { return gzip.NewReader(r) }

func openBzip2(_ *input, r *bufio.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }

func openLZ4(_ *input, r *bufio.Reader) (io.Reader, error) { return lz4.NewReader(r), nil }

func openS2(_ *input, r *bufio.Reader) (io.Reader, error) { return s2.NewReader(r), nil }

func openZstd(in *input, r *bufio.Reader) (io.Reader, error) {
	// One goroutine was the fastest in trials; decoding ahead only moves the work.
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	in.onClose(func() error { d.Close(); return nil })
	return d, nil
}

func openXZ(_ *input, r *bufio.Reader) (io.Reader, error) {
	if size, ok := xzDictionary(r); ok && size > maxWindow {
		return nil, fmt.Errorf("%w: it asks for %d MiB", errWindow, size>>20)
	}
	tail := &xzTail{r: r}
	x, err := xz.NewReader(bufio.NewReader(tail))
	return &xzReader{x, tail}, err
}

// xzReader reads an xz file and wants a footer at its end: the xz package takes a file that is cut off between its blocks and the index
// after them for a whole one.
type xzReader struct {
	x    *xz.Reader
	tail *xzTail
}

func (x *xzReader) Read(p []byte) (int, error) {
	n, err := x.x.Read(p)
	if err == io.EOF && !x.tail.isFooter() {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// xzFooter is the length of the footer of an xz stream in bytes. (The .xz file format, section 2.1.2.)
const xzFooter = 12

// xzTail passes bytes on and remembers the last of them, leaving out zeros at the end, as they may be padding.
type xzTail struct {
	r     io.Reader
	last  []byte // up to xzFooter bytes, the last one not zero
	zeros int    // that followed them
}

func (t *xzTail) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	end := len(bytes.TrimRight(p[:n], "\x00"))
	if end == 0 {
		t.zeros += n
		return n, err
	}
	t.last = append(t.last, make([]byte, min(t.zeros, xzFooter))...)
	t.last = append(t.last, p[max(0, end-xzFooter):end]...)
	t.last = t.last[max(0, len(t.last)-xzFooter):]
	t.zeros = n - end
	return n, err
}

// isFooter says whether the bytes so far end with a footer, by its magic bytes and its checksum.
func (t *xzTail) isFooter() bool {
	return len(t.last) == xzFooter && string(t.last[10:]) == "YZ" &&
		binary.LittleEndian.Uint32(t.last) == crc32.ChecksumIEEE(t.last[4:10])
}

// xzDictionary returns the size of the dictionary that the first block of an xz file asks for. The xz package allocates whatever it
// is told. (The .xz file format, sections 2.1.1, 3.1 and 5.3.1.)
func xzDictionary(r *bufio.Reader) (bytes int64, ok bool) {
	const streamHeader, blockHeader = 12, 1024
	head, _ := r.Peek(streamHeader + blockHeader)
	if len(head) < streamHeader+2 {
		return 0, false
	}
	flags, fields := head[streamHeader+1], head[streamHeader+2:]
	for _, sizeField := range []byte{0x40, 0x80} { // compressed and uncompressed size
		if flags&sizeField == 0 {
			continue
		}
		_, n := binary.Uvarint(fields)
		if n <= 0 {
			return 0, false
		}
		fields = fields[n:]
	}
	const lzma2 = 0x21
	if len(fields) < 3 || fields[0] != lzma2 || fields[2] > 40 {
		return 0, false
	}
	code := fields[2]
	return int64(2|code&1) << (code/2 + 11), true
}

// decompressed is the decompressed content of a file. Errors name the file and how far it could be read.
type decompressed struct {
	place       string
	compression string // "" for none
	r           io.Reader
	n           int64 // decompressed bytes so far
}

// decompress recognises the compression of r from its content.
func decompress(in *input, place string, r io.Reader) (*decompressed, error) {
	raw := bufio.NewReaderSize(r, 64<<10)
	d := &decompressed{place: place, r: raw}
	c, found, err := recogniseCompression(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	if !found {
		return d, nil
	}
	d.compression = c.name
	if d.r, err = c.open(in, raw); err != nil {
		return nil, d.fail(err)
	}
	return d, nil
}

// recogniseCompression looks at the first bytes of r.
func recogniseCompression(r *bufio.Reader) (compression, bool, error) {
	head, err := r.Peek(magicLen)
	if err != nil && err != io.EOF {
		return compression{}, false, err
	}
	if isSkippableFrame(head) {
		head = afterSkippableFrames(r)
	}
	for _, c := range compressions {
		if c.begins(head) {
			return c, true, nil
		}
		if c.isCutIn(head) {
			return c, false, fmt.Errorf("%s data is cut off after %d bytes", c.name, len(head))
		}
	}
	return compression{}, false, nil
}

// begins says whether head begins with the magic bytes of c.
func (c compression) begins(head []byte) bool {
	return len(head) >= len(c.magic) && c.matches(head[:len(c.magic)])
}

// isCutIn says whether head, the whole of a file, is less than the magic bytes of c and begins with them, and is no short word.
func (c compression) isCutIn(head []byte) bool {
	return len(head) < len(c.magic) && c.matches(head) && (len(head) >= 3 || !isASCII(head))
}

// isASCII says whether b has ASCII letters, digits and signs alone.
func isASCII(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// matches says whether the magic bytes of c begin with head.
func (c compression) matches(head []byte) bool {
	for i, b := range head {
		if c.magic[i] != b && c.magic[i] != '?' {
			return false
		}
	}
	return true
}

// isSkippableFrame says whether head begins with a frame of user data, which zstd and lz4 share (RFC 8878, section 3.1.2).
func isSkippableFrame(head []byte) bool {
	return len(head) >= 8 && head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18
}

// afterSkippableFrames returns what follows the skippable frames at the beginning of r, as far as r can look ahead.
func afterSkippableFrames(r *bufio.Reader) []byte {
	head, _ := r.Peek(r.Size())
	for isSkippableFrame(head) {
		size := int64(binary.LittleEndian.Uint32(head[4:])) + 8
		if size > int64(len(head)) {
			return nil
		}
		head = head[size:]
	}
	return head
}

// Read turns every error but io.EOF into one that names the file.
func (d *decompressed) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	d.n += int64(n)
	if err != nil && err != io.EOF {
		err = d.fail(err)
	}
	return n, err
}

// fail says how far the content could be read before err.
func (d *decompressed) fail(err error) error {
	if d.compression == "" {
		return fmt.Errorf("%s: %w", d.place, err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %s data is cut off after %d decompressed bytes", d.place, d.compression, d.n)
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = errWindow
	}
	if errors.Is(err, errWindow) {
		return fmt.Errorf("%s: %s data %w", d.place, d.compression, err)
	}
	return fmt.Errorf("%s: %s data is damaged or of an unsupported kind after %d decompressed bytes: %w", d.place, d.compression, d.n, err)
}
