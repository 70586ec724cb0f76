package source

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/cachesim/cachesim/internal/base/memory"
)

// Bounds of a temporary copy.
const (
	copyStep     = 16 << 20 // bytes between two checks of the bounds
	maxInflation = 100      // bytes of the copy per byte of the input, beyond the first ones
	freeStart    = 64 << 20
	spareDisk    = 256 << 20 // bytes that must stay free
)

// copyToFile copies the content to a temporary file. It has no name, so that nothing is left behind however the program
// ends.
func (s *Source) copyToFile() (io.ReaderAt, int64, error) {
	temp, err := os.CreateTemp("", "cachesim-*")
	if err != nil {
		return nil, 0, s.Errorf("temporary copy for random access: %w", err)
	}
	s.In.OnClose(temp.Close)
	if os.Remove(temp.Name()) != nil { // on systems where an open file cannot be removed
		s.In.closers = slices.Insert(s.In.closers, 0, func() error { return os.Remove(temp.Name()) })
	}
	for size := int64(0); ; {
		n, err := io.CopyN(temp, s.buf, copyStep)
		size += n
		if err == io.EOF {
			return temp, size, nil
		}
		if err == nil {
			err = s.checkCopy(temp, size)
		} else {
			err = s.Errorf("temporary copy for random access: %w", err)
		}
		if err != nil {
			return nil, 0, err
		}
	}
}

// checkCopy refuses a copy that has become too large.
func (s *Source) checkCopy(temp *os.File, size int64) error {
	const unpack = "to decompress it first, which also shows how large it is"
	if taken := s.In.BytesRead(); size > freeStart+maxInflation*taken {
		return s.Errorf("inflates from %s to more than %s: this looks like a decompression bomb; if it is not, "+
			"decompress it first", memory.Bytes(taken), memory.Bytes(size))
	}
	if size > s.In.Budget.Part(1, math.MaxInt64) {
		return s.In.Budget.Refuse(0, fmt.Sprintf("%s: its temporary copy for random access has %s", s.Place,
			memory.Bytes(size)), unpack)
	}
	if free, ok := freeDisk(temp.Name()); ok && free < spareDisk {
		return s.Errorf("temporary copy for random access: after %s only %s are free in %s; TMPDIR names another folder",
			memory.Bytes(size), memory.Bytes(free), os.TempDir())
	}
	return nil
}
