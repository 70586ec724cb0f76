package source

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// SkippingBadLines returns a reader that omits unreadable lines of r, if the user allows any. r returns an error of
// LineErrorf for such a line, and can be called again.
func SkippingBadLines(src *Source, r stream.Reader) stream.Reader {
	if src.In.BadLines == 0 {
		return r
	}
	return stream.ReaderFunc(func(rec *stream.Record) error {
		for {
			err := r.Read(rec)
			if err == nil || err == io.EOF {
				return err
			}
			if err := src.Skip(err); err != nil {
				return err
			}
		}
	})
}

// A file of another format has only bad lines. It is refused after mostInARow of them, however many may be bad.
const mostInARow = 1000

// Skip counts a line that cannot be read, and returns nil if the next one can be read. Otherwise it returns err.
func (s *Source) Skip(err error) error {
	bad, ok := errors.AsType[*stream.BadLine](err)
	if !ok || s.In.BadLines == 0 {
		return err
	}
	if bad.Line <= s.lastBad+1 {
		s.inARow++
	} else {
		s.inARow = 1
	}
	s.lastBad = bad.Line
	if s.Reading.Bad++; s.Reading.BadLine == nil {
		s.Reading.BadLine = bad
	}
	if s.inARow == mostInARow {
		return fmt.Errorf("%w, and so are the %d lines before it", err, mostInARow-1)
	}
	return nil
}

// countLines adds the lines of s to its reading, once they have been read.
func (s *Source) countLines() error {
	if s.Reading != nil {
		s.Reading.Lines += int64(s.LineNumber)
	}
	return nil
}

// CheckBadLines returns an error if more than this share of the lines of files that were read together could not be
// read.
func (t *Together) CheckBadLines(share float64) error {
	var all stream.Reading
	for _, r := range t.readings {
		all.Bad, all.Lines = all.Bad+r.Bad, all.Lines+r.Lines
		if all.BadLine == nil {
			all.BadLine = r.BadLine
		}
	}
	switch {
	case float64(all.Bad) <= share*float64(all.Lines):
		return nil
	case all.Lines == 1:
		return all.BadLine
	case all.Bad == 1:
		return fmt.Errorf("%w; --bad-lines allows %s, none of %s", all.BadLine, percent(share),
			stream.Thousands(all.Lines)+" lines")
	}
	return fmt.Errorf("%s: %s; --bad-lines allows %s", all.BadLine.Place, all.BadText(), percent(share))
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 6, 64) + "%" }
