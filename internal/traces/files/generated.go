package files

import "github.com/cachesim/cachesim/internal/traces/stream"

// Generated returns a reader of the reads that next generates, and the fields of its records. next fills in all but
// Blocks of a read and returns its time in nanoseconds, or io.EOF after the last. A read has at least a byte, ends
// within its file, and has at most 2^20 blocks. It is valid until the next call.
func Generated(kind Kind, next func(read *Head) (time int64, err error)) (stream.Reader, stream.Fields) {
	accesses := Accesses{At: func(err error) error { return err }, Next: func(a *Access) (err error) {
		a.Time, err = next(&a.Head)
		return err
	}}
	return &reader{accesses: accesses, reading: &stream.Reading{}, block: kind.Block, at: 1}, fieldsOf(kind, true)
}
