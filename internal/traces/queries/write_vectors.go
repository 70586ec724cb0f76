package queries

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/traces/npy"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

const embeddingsAlone = "everything about the queries except their embeddings"

var (
	npyWritable = source.Writable{
		Name: "npy", Endings: []string{".npy"}, Create: newNpyWriter, Vectors: true, Part: embeddingsAlone,
	}
	fvecsWritable = source.Writable{
		Name: "fvecs", Endings: []string{".fvecs"}, Create: newFvecsWriter, Vectors: true, Part: embeddingsAlone,
	}
)

// vectorWriter is shared by the formats that hold only the embeddings of queries, one per request.
type vectorWriter struct {
	dim  int
	rows int64
	row  []byte
}

// append appends the numbers of a record's embedding to row, as little-endian float32.
func (v *vectorWriter) append(row []byte, rec *stream.Record) ([]byte, error) {
	head := HeadOf(rec)
	if head == nil || head.Vector == nil {
		return nil, errors.New("a query without an embedding: make embeddings with cachesim embed")
	}
	vector := head.Vector
	if v.rows == 0 {
		v.dim = len(vector)
	}
	if len(vector) != v.dim {
		return nil, lengthError(len(vector), v.dim)
	}
	v.rows++
	for _, x := range vector {
		row = binary.LittleEndian.AppendUint32(row, math.Float32bits(x))
	}
	v.row = row
	return row, nil
}

var errNoQueries = errors.New("the requests are not queries, so they have no embeddings")

// fvecsWriter writes fvecs (http://corpus-texmex.irisa.fr): before each vector its length, as little-endian int32.
type fvecsWriter struct {
	vectorWriter
	w io.Writer
}

func newFvecsWriter(_ context.Context, w io.Writer, _ string, fields stream.Fields) (source.RecordWriter, error) {
	if !are(fields) {
		return nil, errNoQueries
	}
	return &fvecsWriter{w: w}, nil
}

func (f *fvecsWriter) Write(rec *stream.Record) error {
	row, err := f.append(append(f.row[:0], 0, 0, 0, 0), rec)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(row, uint32(f.dim))
	_, err = f.w.Write(row)
	return err
}

func (f *fvecsWriter) Finish() error { return nil }
func (f *fvecsWriter) Discard()      {}

// npyWriter writes an array of float32 with a row per request
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). Its header states the number of rows, so
// they first go to a temporary file.
type npyWriter struct {
	vectorWriter
	ctx    context.Context
	dst    io.Writer
	spool  *atomicfile.Spool
	buffer *bufio.Writer
}

func newNpyWriter(ctx context.Context, w io.Writer, folder string, fields stream.Fields) (source.RecordWriter, error) {
	if !are(fields) {
		return nil, errNoQueries
	}
	spool, err := atomicfile.NewSpool(folder)
	if err != nil {
		return nil, err
	}
	return &npyWriter{ctx: ctx, dst: w, spool: spool, buffer: bufio.NewWriterSize(spool, 1<<18)}, nil
}

func (n *npyWriter) Write(rec *stream.Record) error {
	const checkEvery = 1 << 12 // rows
	if n.rows%checkEvery == 0 && n.ctx.Err() != nil {
		return n.ctx.Err()
	}
	row, err := n.append(n.row[:0], rec)
	if err != nil {
		return err
	}
	_, err = n.buffer.Write(row)
	return err
}

func (n *npyWriter) Finish() error {
	defer n.Discard()
	if err := n.buffer.Flush(); err != nil {
		return err
	}
	if _, err := n.dst.Write(npy.Append(nil, n.rows, n.dim)); err != nil {
		return err
	}
	if _, err := n.spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(n.dst, n.spool)
	return err
}

func (n *npyWriter) Discard() { n.spool.Discard() }
