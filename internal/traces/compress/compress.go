// Package compress recognises compressed files by their content and decompresses them within bounds. It compresses
// files by the ending of their name.
package compress

import (
	"bufio"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// MaxWindow bounds the window or dictionary of a compressed file, in bytes: `zstd --ultra -22` uses as much, `xz -9`
// half of it. Without a bound, a few bytes of header could request any amount of memory.
const MaxWindow = 128 << 20

// errWindow is the error for a file with a larger window.
var errWindow = fmt.Errorf("needs a window of more than %d MiB, compress it again with a smaller one", MaxWindow>>20)

// compression is a compression recognised by the first bytes of a file.
type compression struct {
	name  string
	magic string // "?" stands for any byte
	open  func(d *decompressed, r *bufio.Reader) (io.Reader, error)
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

// Decoders are used again for the next file, since those of thousands of small files cost more than their content.
var gzips, zstds, lz4s, snappies, raws sync.Pool

// pooled returns a decoder of a pool, or a new one. On release it forgets its file, and goes back unless it has read
// much: it may hold a large window.
func pooled[T any](d *decompressed, pool *sync.Pool, create func() T, forget func(T)) T {
	decoder, ok := pool.Get().(T)
	if !ok {
		decoder = create()
	}
	d.release(func() error {
		const most = 4 << 20
		if d.n <= most {
			forget(decoder)
			pool.Put(decoder)
		}
		return nil
	})
	return decoder
}

func openGzip(d *decompressed, r *bufio.Reader) (io.Reader, error) {
	z := pooled(d, &gzips, func() *gzip.Reader { return new(gzip.Reader) }, func(*gzip.Reader) {})
	return z, z.Reset(r)
}

func openBzip2(_ *decompressed, r *bufio.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }

func openLZ4(d *decompressed, r *bufio.Reader) (io.Reader, error) {
	z := pooled(d, &lz4s, func() *lz4.Reader { return lz4.NewReader(nil) }, func(z *lz4.Reader) { z.Reset(nil) })
	z.Reset(r)
	return z, nil
}

func openS2(d *decompressed, r *bufio.Reader) (io.Reader, error) {
	z := pooled(d, &snappies, func() *s2.Reader { return s2.NewReader(nil) }, func(z *s2.Reader) { z.Reset(nil) })
	z.Reset(r)
	return z, nil
}

// largestContent is more than any trace has, in bytes. A frame that states more is damaged.
const largestContent = 1 << 50

// checkZstd refuses the first frame of a file if it states an impossible size, before anything is reserved for it.
func checkZstd(r *bufio.Reader) error {
	head, err := r.Peek(zstd.HeaderMaxSize)
	var h zstd.Header
	if err != nil && err != io.EOF || h.Decode(head) != nil || !h.HasFCS || h.FrameContentSize <= largestContent {
		return nil // what else is wrong the decoder says
	}
	return fmt.Errorf("%w: it states a content of %d bytes; get the file again, or test it with zstd -t", errStated,
		h.FrameContentSize)
}

var errStated = errors.New("is damaged")

func openZstd(d *decompressed, r *bufio.Reader) (io.Reader, error) {
	if err := checkZstd(r); err != nil {
		return nil, err
	}
	z := pooled(d, &zstds, NewZstd, func(z *zstd.Decoder) { _ = z.Reset(nil) })
	return z, z.Reset(r)
}

// NewZstd returns a decoder of bounded windows. One goroutine was the fastest in trials; decoding ahead only moves the
// work.
func NewZstd() *zstd.Decoder {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(MaxWindow),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err) // only of options
	}
	return z
}

// decompressed is the decompressed content of a file. Errors name the file and how far it could be read.
type decompressed struct {
	place       string
	Compression string // "" for none
	r           io.Reader
	n           int64 // decompressed bytes so far
	release     func(func() error)
}

// Decompress recognises the compression of r from its content. It passes to release what must be called once nothing
// more is read, to free memory: what is read later is an error.
func Decompress(release func(func() error), place string, r io.Reader) (*decompressed, error) {
	raw, ok := raws.Get().(*bufio.Reader)
	if !ok {
		raw = bufio.NewReaderSize(nil, 64<<10)
	}
	raw.Reset(r)
	d := &decompressed{place: place, r: raw, release: release}
	release(func() error {
		raw.Reset(nil)
		raws.Put(raw)
		d.r = closed{}
		return nil
	})
	c, found, err := recogniseCompression(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	if !found {
		return d, nil
	}
	d.Compression = c.name
	if d.r, err = c.open(d, raw); err != nil {
		return nil, d.fail(err)
	}
	return d, nil
}

// closed is read from when the decoder may belong to another file.
type closed struct{}

func (closed) Read([]byte) (int, error) { return 0, os.ErrClosed }

// recogniseCompression looks at the first bytes of r.
func recogniseCompression(r *bufio.Reader) (compression, bool, error) {
	head, err := r.Peek(magicLen)
	if err != nil && err != io.EOF {
		return compression{}, false, err
	}
	if isSkippableFrame(head) { // the decompressors skip such frames themselves
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

func (c compression) begins(head []byte) bool {
	return len(head) >= len(c.magic) && c.matches(head[:len(c.magic)])
}

// isCutIn reports whether head, the whole of a file, is shorter than the magic bytes of c, begins with them, and is not
// a short word.
func (c compression) isCutIn(head []byte) bool {
	return len(head) < len(c.magic) && c.matches(head) && (len(head) >= 3 || !isASCII(head))
}

// isASCII reports whether b has only ASCII letters, digits and punctuation.
func isASCII(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// matches reports whether the magic bytes of c begin with head, which is no longer than they are.
func (c compression) matches(head []byte) bool {
	for i, b := range head {
		if c.magic[i] != b && c.magic[i] != '?' {
			return false
		}
	}
	return true
}

// isSkippableFrame reports whether head begins with a frame of user data, which zstd and lz4 share (RFC 8878, section
// 3.1.2).
func isSkippableFrame(head []byte) bool {
	return len(head) >= 8 && head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18
}

// afterSkippableFrames returns what follows the skippable frames at the beginning of r, as far as r can look ahead.
func afterSkippableFrames(r *bufio.Reader) []byte {
	head, _ := r.Peek(r.Size())
	for isSkippableFrame(head) {
		size := int64(binary.LittleEndian.Uint32(head[4:])) + 8
		if size > int64(len(head)) { // ends where r cannot look
			return nil
		}
		head = head[size:]
	}
	return head
}

// Read adds the name of the file to every error except io.EOF.
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
	if d.Compression == "" {
		return fmt.Errorf("%s: %w", d.place, err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %s data is cut off after %d decompressed bytes", d.place, d.Compression, d.n)
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = errWindow
	}
	if errors.Is(err, errWindow) || errors.Is(err, errStated) {
		return fmt.Errorf("%s: %s data %w", d.place, d.Compression, err)
	}
	return fmt.Errorf("%s: %s data is damaged or of an unsupported kind after %d decompressed bytes: %w", d.place,
		d.Compression, d.n, err)
}
