package traces

import (
	"fmt"
	"io"
)

// beside gives requests the embeddings that lie beside their trace, a row for each.
type beside struct {
	vectors VectorReader
	head    QueryHead // of requests that are no queries
	row     []float32
	rows    int
	ended   bool // before the requests did
}

func newBeside(vectors VectorReader) *beside {
	return &beside{vectors: vectors, row: make([]float32, vectors.Dim())}
}

// give reads the row of the next request, which makes a query of it.
func (b *beside) give(rec *Record) error {
	if err := b.next(); err != nil {
		return err
	}
	if rec.Query == nil {
		rec.Query = &b.head
	}
	rec.Query.Vector = b.row
	return nil
}

func (b *beside) next() error {
	if b.ended {
		return nil
	}
	err := b.vectors.Read(b.row)
	if err == io.EOF {
		b.ended = true // the requests are still counted, so that the error can say how many there are
		return nil
	}
	b.rows++
	return err
}

// check makes sure that there was a row for each request that was read, and if all were read, that there are no more.
func (b *beside) check(requests int, all bool) error {
	for all && !b.ended {
		if err := b.next(); err != nil {
			return err
		}
	}
	if b.rows == requests || b.rows > requests && !all {
		return nil
	}
	return fmt.Errorf(
		"%v: %d embeddings for %d requests: want one for each request of the trace files, in their order",
		b.vectors,
		b.rows,
		requests,
	)
}
