package traces

import "github.com/cachesim/cachesim/internal/traces/stream"

// What tests use of the inside of this package.
const FirstRoom = firstRoom

var RotatedWarning = rotatedWarning

// Keeps reports whether a sample has the key of a record.
func Keeps(rate float64, seed uint64, rec *stream.Record) bool {
	return newSampler(rate, seed).keeps(rec)
}

func (t *Trace) Slice(from, to int) *Trace { return t.slice(from, to) }
