package files

import "github.com/cachesim/cachesim/internal/traces/stream"

// Generated returns a reader of reads that next makes, and the fields of its records. next fills in all but Blocks of a
// read of at least a byte, which ends within its file, and returns its time in nanoseconds; it returns io.EOF after the
// last. What the read holds is valid until the next call. A read has at most 2^20 blocks.
func Generated(kind Kind, next func(read *Head) (time int64, err error)) (stream.Reader, stream.Fields) {
	return &reader{accesses: generated(next), block: kind.Block, at: 1}, fieldsOf(kind, true)
}

type generated func(read *Head) (time int64, err error)

func (g generated) next(a *access) (err error) {
	a.time, err = g(&a.Head)
	return err
}
