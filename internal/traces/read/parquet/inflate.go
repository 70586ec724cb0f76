package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/traces/compress"
)

// inflation checks the compressed bytes of Parquet pages before the Parquet package inflates them, because the package
// reads all output, whatever the page claims. For most codecs the framing says how long a page is; the others are
// inflated once, and the output discarded.
type inflation struct {
	zstd  *zstd.Decoder
	gzip  *gzip.Reader
	block []byte // for lz4: first the compressed bytes, then the inflated ones
}

// check makes sure that a page inflates to no more than it claims, or, where the framing gives only a bound, not far
// beyond.
func (f *inflation) check(codec format.CompressionCodec, page *io.SectionReader, claim int64) error {
	var told bool
	var err error
	switch codec {
	case format.Uncompressed:
		return nil
	case format.Snappy:
		return checkSnappy(page, claim)
	case format.Lz4Raw:
		return f.checkLZ4(page, claim)
	case format.Zstd:
		told = checkZstd(page, claim)
	case format.Gzip:
		told, err = checkGzip(page, claim)
	}
	if told || err != nil {
		return err
	}
	return f.measure(codec, page, claim)
}

func inflates(claim int64) error {
	return fmt.Errorf("it claims %s, but inflates to more", memory.Bytes(claim))
}

// checkSnappy reads the length at the beginning of a snappy block, which is exact.
func checkSnappy(page *io.SectionReader, claim int64) error {
	var head [binary.MaxVarintLen64]byte
	n, err := page.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return err
	}
	if length, width := binary.Uvarint(head[:n]); width > 0 && length > uint64(claim) {
		return inflates(claim)
	}
	return nil
}

// checkLZ4 inflates a block into as much memory as it claims. The Parquet package doubles the memory for as long as a
// block does not fit, even if the block is damaged.
func (f *inflation) checkLZ4(page *io.SectionReader, claim int64) error {
	need := int(page.Size() + claim)
	if cap(f.block) < need {
		f.block = make([]byte, need)
	}
	packed, room := f.block[:page.Size()], f.block[page.Size():need]
	if _, err := page.ReadAt(packed, 0); err != nil && err != io.EOF {
		return err
	}
	if _, err := lz4.UncompressBlock(packed, room); err != nil {
		return fmt.Errorf("its LZ4 data is damaged, or %w", inflates(claim))
	}
	return nil
}

// zstdMaxBlock is the most bytes of a block (RFC 8878, section 3.1.1.2).
const zstdMaxBlock = 128 << 10

// checkZstd adds up the most that the blocks of all frames can hold. All blocks but a frame's last are usually full, so
// the bound is close; if it is not, the page is inflated.
func checkZstd(page *io.SectionReader, claim int64) (told bool) {
	var most int64
	for at := int64(0); at < page.Size(); {
		length, holds, ok := zstdFrame(io.NewSectionReader(page, at, page.Size()-at))
		if !ok {
			return false
		}
		at += length
		most += holds
	}
	return most <= 2*claim+2*zstdMaxBlock
}

// zstdFrame returns the length of the frame at the beginning of r, and the most bytes that it can hold; ok is false if
// it is not a frame.
func zstdFrame(r *io.SectionReader) (length, holds int64, ok bool) {
	var head [zstd.HeaderMaxSize]byte
	n, _ := r.ReadAt(head[:], 0)
	var h zstd.Header
	if h.Decode(head[:n]) != nil {
		return 0, 0, false
	}
	length = int64(h.HeaderSize) + int64(h.SkippableSize)
	for last := h.Skippable; !last; {
		var block [3]byte
		if n, _ := r.ReadAt(block[:], length); n < len(block) {
			return 0, 0, false
		}
		header := int64(block[0]) | int64(block[1])<<8 | int64(block[2])<<16
		size := header >> 3
		length += int64(len(block))
		last = header&1 == 1
		switch header >> 1 & 3 {
		case 0: // raw
			length += size
			holds += size
		case 1: // one byte, repeated
			length++
			holds += size
		default:
			length += size
			holds += zstdMaxBlock
		}
	}
	if h.HasCheckSum {
		length += 4
	}
	return length, holds, true
}

// deflateMost is the most output bytes per input byte of deflate.
const deflateMost = 1032

// checkGzip trusts the length that a page states at its end if it equals the claim and the page is too short to hold
// more than any page may.
func checkGzip(page *io.SectionReader, claim int64) (told bool, err error) {
	var length [4]byte
	if page.Size() < int64(len(length)) || page.Size()*deflateMost > maxPage {
		return false, nil
	}
	if _, err := page.ReadAt(length[:], page.Size()-int64(len(length))); err != nil && err != io.EOF {
		return false, err
	}
	return int64(binary.LittleEndian.Uint32(length[:])) == claim, nil
}

// measure inflates a page up to its claim, and discards the output.
func (f *inflation) measure(codec format.CompressionCodec, page *io.SectionReader, claim int64) error {
	r, err := f.open(codec, page)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r, claim+1))
	if err == nil && n > claim {
		err = inflates(claim)
	}
	return err
}

func (f *inflation) open(codec format.CompressionCodec, page *io.SectionReader) (r io.Reader, err error) {
	switch codec {
	case format.Zstd:
		if f.zstd == nil {
			f.zstd = compress.NewZstd()
		}
		return f.zstd, f.zstd.Reset(page)
	case format.Gzip:
		if f.gzip == nil {
			f.gzip, err = gzip.NewReader(page)
			return f.gzip, err
		}
		return f.gzip, f.gzip.Reset(page)
	case format.Brotli:
		return brotli.NewReader(page), nil
	}
	return nil, errors.New("compressed in an unsupported way; want none, snappy, gzip, brotli, zstd or lz4_raw")
}
