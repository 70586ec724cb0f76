package files

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Bounds on the numbers in a trace.
const (
	maxBlock      = 1 << 40 // bytes in a block
	maxReadBlocks = 1 << 20 // blocks of one read
)

// blockOption is the size of a block. kib is the default.
func blockOption(kib int) params.Param {
	return params.Param{Name: "block", Default: kib, Min: 1, Max: maxBlock >> 10,
		Doc: "KiB in a block, the unit that is cached; JuiceFS has 4096"}
}

// jobOption names one job for all reads. otherwise says what the job is by default.
func jobOption(otherwise string) params.Param {
	return params.Param{Name: "job", Default: "", Doc: "name of the job that all reads belong to; by default " + otherwise}
}

// Access is one read as a file states it.
type Access struct {
	Head
	Time int64     // nanoseconds
	Op   stream.Op // OpUnknown: a read
}

// Accesses are the reads of a file.
type Accesses struct {
	// Next fills a and returns io.EOF after the last. What a holds is valid until the next call.
	Next func(a *Access) error
	// At returns an error about the last read, with its place in the file.
	At func(err error) error
}

// Lines returns the reads of a source with at most one per line. parse fills in the read of a line, or returns
// source.ErrLeftOut if it is not a read.
func Lines(src *source.Source, parse func(line []byte, a *Access) error) Accesses {
	return Accesses{At: src.AtLine, Next: func(a *Access) error {
		for {
			line, err := src.Line()
			if err != nil {
				return err
			}
			if len(source.TrimBlanks(line)) == 0 {
				continue
			}
			*a = Access{Head: Head{FileSize: -1}}
			if err := parse(line, a); err == nil {
				return nil
			} else if !errors.Is(err, source.ErrLeftOut) {
				return src.CutOff(src.LineSyntaxError(err))
			}
			src.Reading.LeftOut++
		}
	}}
}

func (a *Access) extent(offset, length []byte) (err error) {
	if a.Offset, err = source.ParseSize(offset); err != nil {
		return fmt.Errorf("offset: %w", err)
	}
	if a.Length, err = source.ParseSize(length); err != nil {
		return fmt.Errorf("length: %w", err)
	}
	return nil
}

// check refuses a read without a path, and numbers whose sums could overflow.
func (a *Access) check() error {
	if a.Offset < 0 || a.Offset > source.MaxSize || a.Length > source.MaxSize {
		return fmt.Errorf("a read of %d bytes at offset %d: want both from 0 to 2^50", a.Length, a.Offset)
	}
	if len(a.Path) == 0 && a.Length > 0 {
		return errors.New("a read without a path: want the path of the file")
	}
	return nil
}

// clip ends a read with its file, and reports whether it was longer.
func (a *Access) clip() (cut bool) {
	if a.FileSize < 0 || a.Offset+a.Length <= a.FileSize {
		return false
	}
	// Below 0 if the read begins behind the end of the file; begin leaves it out then.
	a.Length = a.FileSize - a.Offset
	return true
}

// reader gives the blocks of reads as records, one after another. It implements stream.Reader.
type reader struct {
	accesses Accesses
	reading  *stream.Reading
	block    int64
	listing  *Listing // nil if there is none
	job      []byte   // of all reads; nil: what the accesses say
	access   Access
	at, last int64 // next and last block of the read; none is left where at > last
	key      []byte
}

// NewReader reads the accesses of src in blocks; opts has the options block, files and job. clock says that they have
// times.
func NewReader(src *source.Source, accesses Accesses, opts params.Values, clock bool) (stream.Reader,
	stream.Fields, error) {
	// at is above last: no block is left, so Read begins with an access.
	r := &reader{accesses: accesses, reading: src.Reading, block: int64(opts.Int("block")) << 10, at: 1}
	if job := opts.Text("job"); job != "" {
		r.job = []byte(job)
	}
	var err error
	if r.listing, err = listingOf(src, opts); err != nil {
		return nil, stream.Fields{}, err
	}
	src.Reading.Key = "key path#block"
	if !clock {
		src.Reading.Time = "no time"
	}
	src.Reading.Size = "sizes to the end of what is read of a file, where its own is not known"
	return r, fieldsOf(Kind{Block: r.block, Listing: r.listing}, clock), nil
}

func (r *reader) Read(rec *stream.Record) error {
	begins := r.at > r.last
	if begins {
		if err := r.begin(); err != nil {
			return err
		}
	}
	r.key = appendKey(r.key[:0], r.access.Path, r.at)
	*rec = stream.Record{Time: r.access.Time, Size: r.size(), Text: r.key, Op: cmp.Or(r.access.Op, stream.OpRead),
		Begins: begins}
	if begins {
		rec.Extra = &r.access.Head
	}
	r.at++
	return nil
}

// begin goes to the next access that reads at least one byte. A size in the listing overrides the size in the trace.
func (r *reader) begin() error {
	a := &r.access
	for {
		if err := r.accesses.Next(a); err != nil {
			return err
		}
		if err := a.check(); err != nil {
			return r.accesses.At(err)
		}
		if r.listing != nil {
			if size, _ := r.listing.find(a.Path); size >= 0 {
				a.FileSize = size
			}
		}
		cut := a.clip()
		if a.Length > 0 {
			if cut {
				r.reading.Cut++
			}
			break
		}
		r.reading.LeftOut++
	}
	if r.job != nil {
		a.Job = r.job
	}
	first, last := a.Offset/r.block, (a.Offset+a.Length-1)/r.block
	if a.Blocks = last - first + 1; a.Blocks > maxReadBlocks {
		return r.accesses.At(fmt.Errorf("a read of %d blocks: want at most %d; choose larger blocks with the option block",
			a.Blocks, maxReadBlocks))
	}
	r.at, r.last = first, last
	return nil
}

// size returns the bytes of the block, all of them if the size of the file is not known yet.
func (r *reader) size() int64 {
	end := (r.at + 1) * r.block
	if size := r.access.FileSize; size >= 0 {
		end = min(end, size)
	}
	return end - r.at*r.block
}

func appendKey(to, path []byte, block int64) []byte {
	return strconv.AppendInt(append(append(to, path...), '#'), block, 10)
}
