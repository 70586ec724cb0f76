package queries

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// BesideFile is a file of embeddings beside a trace.
type BesideFile struct {
	Path     string
	Distinct bool // it has a row for each distinct query, in the order of their first requests, not for each request
}

// distinctRows follows the path of a file with a row for each distinct query.
const distinctRows = ":rows=distinct"

// ParseBesideFile reads "queries.npy" or "queries.npy:rows=distinct". It returns false if the name is not one of a file
// with embeddings.
func ParseBesideFile(text string) (BesideFile, bool) {
	path, distinct := strings.CutSuffix(text, distinctRows)
	return BesideFile{Path: path, Distinct: distinct}, isVectorFile(path)
}

// UnknownBesideOption returns what follows the path of a file with embeddings and is not rows=distinct.
func UnknownBesideOption(text string) (option string, found bool) {
	at := strings.LastIndexByte(text, ':')
	return text[at+1:], at > 0 && isVectorFile(text[:at])
}

// As returns the file with another path.
func (f BesideFile) As(path string) BesideFile { return BesideFile{path, f.Distinct} }

// String is the inverse of ParseBesideFile.
func (f BesideFile) String() string {
	if f.Distinct {
		return f.Path + distinctRows
	}
	return f.Path
}

// beside gives requests the embeddings from a file beside their trace, which makes them queries. It implements Beside.
type beside struct {
	vectors *VectorFile
	head    Head // of requests that are not queries
	row     []float32
	rows    int
	ended   bool // the embeddings ended before the requests

	// Of a file with a row for each distinct query: the row of each, and all rows so far; nil otherwise.
	rowOf map[stream.Key]int
	all   []float32
}

// NewBeside returns embeddings from a file beside a trace. distinct says that it has a row for each distinct query, not
// for each request.
func NewBeside(vectors *VectorFile, distinct bool) stream.Beside {
	b := &beside{vectors: vectors, row: make([]float32, vectors.Dim())}
	if distinct {
		b.rowOf = map[stream.Key]int{}
	}
	return b
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
	vector, err := b.vectorOf(rec)
	if err != nil {
		return false, err
	}
	head := HeadOf(rec)
	if head == nil {
		head = &b.head
		rec.Extra = head
	}
	head.Vector = vector
	return vector != nil, nil
}

// vectorOf returns the embedding of a request, nil if the file has no more.
func (b *beside) vectorOf(rec *stream.Record) ([]float32, error) {
	var key stream.Key
	if b.rowOf != nil {
		key = stream.Key{Num: rec.Num, Text: string(rec.Text)}
		if row, ok := b.rowOf[key]; ok && row < b.rows {
			return b.all[row*len(b.row):][:len(b.row)], nil
		} else if ok {
			return nil, nil // counted, but beyond the end of the file
		}
		b.rowOf[key] = len(b.rowOf)
	}
	if err := b.next(); err != nil || b.ended {
		return nil, err
	}
	if b.rowOf != nil {
		b.all = append(b.all, b.row...)
	}
	return b.row, nil
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

// Check implements Beside. It reads at most one row more than are wanted, however many follow: a few bytes of a
// compressed file can be any number of rows.
func (b *beside) Check(requests int, all bool) error {
	if all && !b.ended {
		if err := b.next(); err != nil {
			return err
		}
	}
	wanted, things, order := requests, "requests", "request of the trace files, in their order"
	if b.rowOf != nil {
		wanted, things, order = len(b.rowOf), "distinct queries", "query, in the order of their first requests"
	}
	if b.rows == wanted || b.rows > wanted && !all {
		return nil
	}
	has := strconv.Itoa(b.rows)
	if b.rows > wanted {
		has = b.vectors.numRows(wanted)
	}
	return fmt.Errorf("%v: %s embeddings for %d %s: want one for each %s", b.vectors, has, wanted, things, order)
}
