package similarity

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/cachesim/cachesim/internal/base/parallel"
)

// Identity identifies a set of vectors. Side files are named after it.
type Identity struct {
	Dim, Count int
	Sum        [sha256.Size]byte // SHA-256 of the numbers, little-endian
}

func (v Vectors) Identify() Identity {
	id := Identity{Dim: v.Dim, Count: v.Len()}
	sum := sha256.New()
	row := make([]byte, 4*v.Dim)
	for i := range v.Len() {
		for k, x := range v.At(i) {
			binary.LittleEndian.PutUint32(row[4*k:], math.Float32bits(x))
		}
		sum.Write(row)
	}
	sum.Sum(id.Sum[:0])
	return id
}

// fileHeader opens a side file; all integers are little-endian. A zstd frame follows, with a list for each vector, in
// their order: how many of the earlier vectors are similar to it, their numbers in ascending order, each as the
// distance from the previous one, and in the same order how far the similarities are above the threshold, in steps of
// float32. All of these are uvarints. Each pair is only in the list of its higher-numbered vector. The frame ends with
// a SHA-256 of the header and of everything before it.
type fileHeader struct {
	Magic      [8]byte
	Version    uint32
	Dim, Count uint32
	From       uint32 // bits of the threshold
	Pairs      uint64
	Sum        [sha256.Size]byte // Identity.Sum
}

const fileVersion = 1

var fileMagic = [8]byte{'c', 's', 'i', 'm', 'n', 'e', 'a', 'r'}

func headerOf(n *Neighbours, id Identity) fileHeader {
	return fileHeader{fileMagic, fileVersion, uint32(id.Dim), uint32(id.Count), math.Float32bits(n.From),
		uint64(n.Pairs()), id.Sum}
}

// Write writes the neighbours of the vectors of an identity. The same lists give the same bytes.
func (n *Neighbours) Write(w io.Writer, id Identity) error {
	header := headerOf(n, id)
	sum := sha256.New()
	if err := binary.Write(io.MultiWriter(w, sum), binary.LittleEndian, header); err != nil {
		return err
	}
	frame, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	defer frame.Close()
	content := io.MultiWriter(frame, sum)
	var keys []uint64
	var out []byte
	for i := range n.Len() {
		keys, out = n.below(i, keys[:0]), out[:0]
		out = binary.AppendUvarint(out, uint64(len(keys)))
		next := uint64(0)
		for _, key := range keys {
			out = binary.AppendUvarint(out, key>>32-next)
			next = key>>32 + 1
		}
		for _, key := range keys {
			out = binary.AppendUvarint(out, uint64(uint32(key)-rank(n.From)))
		}
		if _, err := content.Write(out); err != nil {
			return err
		}
	}
	if _, err := frame.Write(sum.Sum(nil)); err != nil {
		return err
	}
	return frame.Close()
}

// below returns the neighbours of a vector that have lower numbers, ascending: the number in the upper half, the rank
// of the similarity in the lower.
func (n *Neighbours) below(i int, keys []uint64) []uint64 {
	ids, similarities := n.Of(uint32(i))
	for k, id := range ids {
		if int(id) < i {
			keys = append(keys, uint64(id)<<32|uint64(rank(similarities[k])))
		}
	}
	slices.Sort(keys)
	return keys
}

// Read reads what Write wrote for the vectors of an identity. It returns an error if the file is for other vectors, has
// a higher threshold than requested, or is damaged.
func Read(ctx context.Context, r io.Reader, id Identity, from float32) (*Neighbours, error) {
	raw := make([]byte, binary.Size(fileHeader{}))
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, cutOff(err)
	}
	var header fileHeader
	if err := binary.Read(bytes.NewReader(raw), binary.LittleEndian, &header); err != nil {
		return nil, err
	}
	if err := header.check(id, from); err != nil {
		return nil, err
	}
	frame, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	defer frame.Close()
	return newFileReader(raw, header, frame).neighbours(ctx)
}

// maxWindow is above the window of any file written here, and bounds the memory that a damaged file can request.
const maxWindow = 64 << 20

// check returns an error if a file with this header cannot be used.
func (h fileHeader) check(id Identity, from float32) error {
	listed := math.Float32frombits(h.From)
	switch {
	case h.Magic != fileMagic:
		return errors.New("it is not a file of neighbours")
	case h.Version != fileVersion:
		return fmt.Errorf("it has version %d of the format, want %d", h.Version, fileVersion)
	case int(h.Dim) != id.Dim || int(h.Count) != id.Count:
		return fmt.Errorf("it is for %d vectors of %d numbers, want %d of %d", h.Count, h.Dim, id.Count, id.Dim)
	case h.Sum != id.Sum:
		return fmt.Errorf("it is for other vectors: their checksum is %x, want %x", h.Sum[:8], id.Sum[:8])
	case !(listed <= from): // nor NaN
		return fmt.Errorf("it lists pairs with a similarity of at least %v, want all of at least %v", listed, from)
	case h.Pairs > uint64(id.Count)*uint64(max(0, id.Count-1))/2:
		return fmt.Errorf("its header has %d pairs, more than %d vectors can have", h.Pairs, id.Count)
	}
	return nil
}

// fileReader reads the content of a side file.
type fileReader struct {
	header  fileHeader
	content *bufio.Reader
	sum     hash.Hash
	raw     []byte // read since the last list ended
	ids     []uint32
	read    uint64 // pairs
	pairs   pairList
}

func newFileReader(rawHeader []byte, header fileHeader, content io.Reader) *fileReader {
	f := &fileReader{header: header, content: bufio.NewReader(content), sum: sha256.New()}
	f.sum.Write(rawHeader)
	return f
}

func (f *fileReader) neighbours(ctx context.Context) (*Neighbours, error) {
	for i := range int(f.header.Count) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := f.list(i); err != nil {
			return nil, fmt.Errorf("the list of vector %d: %w", i, cutOff(err))
		}
	}
	if err := f.end(); err != nil {
		return nil, err
	}
	return newNeighbours(ctx, int(f.header.Count), math.Float32frombits(f.header.From), f.pairs.chunks, parallel.Jobs(0))
}

func (f *fileReader) ReadByte() (byte, error) {
	b, err := f.content.ReadByte()
	if err == nil {
		f.raw = append(f.raw, b)
	}
	return b, err
}

var errDamaged = errors.New("it is damaged")

// list reads the pairs of a vector with earlier ones.
func (f *fileReader) list(i int) error {
	count, err := binary.ReadUvarint(f)
	if err != nil {
		return err
	}
	if f.read += count; count > uint64(i) || f.read > f.header.Pairs {
		return fmt.Errorf("%d neighbours of a vector are more than the earlier ones: %w", count, errDamaged)
	}
	f.ids = f.ids[:0]
	next := uint64(0)
	for range count {
		distance, err := binary.ReadUvarint(f)
		if err != nil {
			return err
		}
		// next never exceeds i, so the difference cannot wrap round.
		if distance >= uint64(i)-next {
			return fmt.Errorf("a neighbour is not an earlier vector: %w", errDamaged)
		}
		f.ids = append(f.ids, uint32(next+distance))
		next += distance + 1
	}
	lowest := uint64(rank(math.Float32frombits(f.header.From)))
	for _, id := range f.ids {
		above, err := binary.ReadUvarint(f)
		if err != nil {
			return err
		}
		if above > uint64(rank(1))-lowest {
			return fmt.Errorf("a similarity above 1: %w", errDamaged)
		}
		f.pairs.add(Pair{id, uint32(i), fromRank(uint32(lowest + above))})
	}
	f.sum.Write(f.raw)
	f.raw = f.raw[:0]
	return nil
}

// end checks that the file has all pairs that its header announces, the right checksum, and nothing after it.
func (f *fileReader) end() error {
	want := make([]byte, sha256.Size)
	if _, err := io.ReadFull(f.content, want); err != nil {
		return cutOff(err)
	}
	if _, err := f.content.ReadByte(); err != io.EOF {
		return errors.New("it has further bytes after its end")
	}
	if f.read != f.header.Pairs || !bytes.Equal(want, f.sum.Sum(nil)) {
		return fmt.Errorf("its checksum is wrong: %w", errDamaged)
	}
	return nil
}

// cutOff turns an unexpected end into an error that says so.
func cutOff(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("it is cut off")
	}
	return err
}
