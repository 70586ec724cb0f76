package attention

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/traces/compress"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// IsWritable reports whether a path names a file of this program's own format.
func IsWritable(path string) bool { return filepath.Ext(source.StrippedName(path)) == Ending }

// Write writes a whole trace into w, in this program's own format. A trace that makes its heads does so on up to jobs
// goroutines; the bytes do not depend on their number. progress, unless it is nil, is called with the number of heads
// that are written.
func Write(ctx context.Context, w io.Writer, t Trace, jobs int, progress func(done int)) error {
	shape := t.Shape()
	text, err := jsonlines.Marshal(shape)
	if err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(text)))
	if _, err := w.Write(append(head, text...)); err != nil {
		return err
	}
	maker, ok := t.(Maker)
	if !ok {
		jobs = 1
	}
	heads, raw := make([]Head, min(jobs, shape.Heads())), make([][]byte, jobs)
	for done := 0; done < shape.Heads(); {
		batch := min(len(heads), shape.Heads()-done)
		err := parallel.For(ctx, batch, batch, func(_ context.Context, _, i int) (err error) {
			if maker != nil {
				err = maker.Make(done+i, &heads[i])
			} else {
				err = t.Next(&heads[i])
			}
			if err == nil {
				raw[i], err = heads[i].append(raw[i][:0])
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, part := range raw[:batch] {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		if done += batch; progress != nil {
			progress(done)
		}
	}
	return t.End()
}

// append appends the numbers of a head as the file has them.
func (h *Head) append(to []byte) ([]byte, error) {
	parts := [][]float32{h.Queries, h.Predicted, h.Keys, h.Values}
	numbers := 0
	for _, part := range parts {
		numbers += len(part)
	}
	to = slices.Grow(to, numbers*float16s.width())
	for i, part := range parts {
		var err error
		if to, err = appendHalves(to, part); err != nil {
			return nil, fmt.Errorf("layer %d, KV head %d, %s: %w", h.Layer, h.KV,
				[]string{"queries", "predicted queries", "keys", "values"}[i], err)
		}
	}
	return to, nil
}

// WriteFile writes a whole trace to a path, compressed as its ending says; "-" is stdout. An existing file is replaced
// only when everything is written.
func WriteFile(ctx context.Context, path string, stdout io.Writer, t Trace, jobs int, progress func(done int)) error {
	if path != "-" && !IsWritable(path) {
		return fmt.Errorf("%s: attention is written as %s, possibly compressed: want a name such as trace%s or trace%s.zst",
			path, Ending, Ending, Ending)
	}
	if _, err := compress.ChooseCompressor(path); err != nil {
		return err
	}
	write := func(w io.Writer) error {
		return compress.Write(w, path, func(w io.Writer) error { return Write(ctx, w, t, jobs, progress) })
	}
	if path == "-" {
		return write(stdout)
	}
	return atomicfile.Write(ctx, path, write)
}
