package queries

import (
	"fmt"
	"io"
	"strconv"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// beside gives requests the embeddings from a file beside their trace, a row for each, which makes them queries. It
// implements Beside.
type beside struct {
	vectors *VectorFile
	head    Head // of requests that are not queries
	row     []float32
	rows    int
	ended   bool // the embeddings ended before the requests
}

// NewBeside returns embeddings from a file beside a trace.
func NewBeside(vectors *VectorFile) stream.Beside {
	return &beside{vectors: vectors, row: make([]float32, vectors.Dim())}
}

// String implements Beside: errors name the file.
func (b *beside) String() string { return b.vectors.String() }
func (b *beside) What() string   { return "embeddings" }

func (b *beside) Kind(of stream.Kind) (stream.Kind, error) {
	if of != nil && of.Grouped() {
		return nil, fmt.Errorf("its requests are blocks of prompts, which cannot have the embeddings of %v", b.vectors)
	}
	return Kind{}, nil
}

func (b *beside) Give(rec *stream.Record) (ok bool, err error) {
	if err := b.next(); err != nil {
		return false, err
	}
	head := HeadOf(rec)
	if head == nil {
		head = &b.head
		rec.Extra = head
	}
	head.Vector = b.row
	return !b.ended, nil
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

// Check implements Beside. It reads at most one row more than there are requests, however many follow: a few bytes of a
// compressed file can be any number of rows.
func (b *beside) Check(requests int, all bool) error {
	if all && !b.ended {
		if err := b.next(); err != nil {
			return err
		}
	}
	if b.rows == requests || b.rows > requests && !all {
		return nil
	}
	has := strconv.Itoa(b.rows)
	if b.rows > requests {
		has = b.vectors.numRows(requests)
	}
	return fmt.Errorf("%v: %s embeddings for %d requests: want one for each request of the trace files, in their order",
		b.vectors, has, requests)
}
