package traces

import (
	"context"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// What tests use of the inside of this package.
const FirstRoom = firstRoom

var RotatedWarning = rotatedWarning

// Keeps reports whether a sample has the key of a record.
func Keeps(rate float64, seed uint64, rec *stream.Record) bool {
	return newSampler(rate, seed).keeps(rec)
}

func (t *Trace) Slice(from, to int) *Trace { return t.slice(from, to) }

// Opened is a file as Agree sees it.
type Opened struct {
	Path   string
	Ops    bool
	Writes stream.Writes
}

// Agree opens files one after another and returns what their writes do.
func Agree(mode string, files ...Opened) (stream.Writes, error) {
	s, err := newScan(context.Background(), []string{"all"}, LoadOptions{Selection: Selection{Writes: mode}})
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		if err := s.agree(f.Path, stream.Fields{Op: f.Ops}, f.Writes); err != nil {
			return 0, err
		}
	}
	return s.writes, nil
}
