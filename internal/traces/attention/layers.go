package attention

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// array is a tensor of a file: the queries of a layer (steps, query heads, numbers), or its keys or values (KV heads,
// tokens, numbers).
type array struct {
	label string // begins errors: its file and, where that has several arrays, its name
	r     io.Reader
	numbers
	lengths []int
	changed func() error // says whether the file has changed
	close   func() error
}

// errorf returns an error about the array. If the file has changed, that explains it.
func (a *array) errorf(format string, args ...any) error {
	return cmp.Or(a.changed(), fmt.Errorf("%s: %w", a.label, fmt.Errorf(format, args...)))
}

// skip passes over bytes.
func (a *array) skip(bytes int64) error {
	if bytes == 0 {
		return nil
	}
	_, err := io.CopyN(io.Discard, a.r, bytes)
	if err == io.EOF {
		return a.errorf("the file is cut off")
	}
	return err
}

// end makes sure that nothing follows but so many bytes, and closes the array.
func (a *array) end(bytes int64) error {
	defer a.close()
	if err := a.skip(bytes); err != nil {
		return err
	}
	switch n, err := io.ReadFull(a.r, make([]byte, 1)); {
	case n > 0:
		return a.errorf("bytes follow the numbers of the shape %s that its header states", list(a.lengths))
	case err != io.EOF:
		return err
	}
	return a.changed()
}

func list(lengths []int) string {
	return "(" + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(lengths), "[]")), ", ") + ")"
}

// partNames say what the arrays of a layer have.
var partNames = map[byte]string{'q': "queries", 'p': "predicted queries", 'k': "keys", 'v': "values"}

// eachArray calls do for every array that a trace of this shape has, until one is missing.
func eachArray(s *Shape, do func(part byte, layer int) error) error {
	for _, layer := range s.Layers {
		for _, part := range []byte("qkvp") {
			if part == 'p' && !s.Predicted {
				continue
			}
			if err := do(part, layer); err != nil {
				return err
			}
		}
	}
	return nil
}

// layered reads formats that have an array for each layer and part. It implements Trace.
type layered struct {
	shape   Shape // of what is read
	steps   int   // that are stored
	options Options
	// open returns the array of a layer, by its number, for the part 'q', 'p', 'k' or 'v'. The array is open until close.
	open    func(part byte, layer int) (*array, error)
	release func() error

	next               int // head
	queries, predicted stepped
	keys, values       rows
}

// stepped are the queries of a layer, which are stored step by step.
type stepped struct {
	*array
	raw    []byte
	reader rowReader
}

// rows are the keys or the values of a layer, which are stored head by head.
type rows struct {
	*array // nil unless it is open
	reader rowReader
}

func (l *layered) Shape() *Shape { return &l.shape }

// End implements Trace. Each layer was checked at its end.
func (l *layered) End() error { return nil }

func (l *layered) Close() error {
	for _, open := range []*rows{&l.keys, &l.values} {
		if open.array != nil {
			open.close()
			open.array = nil
		}
	}
	return l.release()
}

func (l *layered) Next(h *Head) (err error) {
	h.Begin(&l.shape, l.next)
	if h.KV == 0 {
		if err := l.openLayer(h.Layer); err != nil {
			return err
		}
	}
	l.next++
	if h.Queries, err = l.gather(h, &l.queries, h.Queries[:0]); err != nil {
		return err
	}
	if h.Predicted, err = l.gather(h, &l.predicted, h.Predicted[:0]); err != nil {
		return err
	}
	if h.Keys, err = l.read(h, &l.keys, h.Keys[:0], true); err != nil {
		return err
	}
	h.Values, err = l.read(h, &l.values, h.Values[:0], false)
	return err
}

// openLayer reads the queries of a layer and begins its keys and values.
func (l *layered) openLayer(layer int) error {
	parts := l.options.Parts
	err := l.openSteps(&l.queries, 'q', layer)
	if err == nil && parts.Predicted && l.shape.Predicted {
		err = l.openSteps(&l.predicted, 'p', layer)
	}
	if err == nil && parts.Keys {
		err = l.openRows(&l.keys, 'k', layer)
	}
	if err == nil && parts.Values {
		err = l.openRows(&l.values, 'v', layer)
	}
	return err
}

// openSteps reads the wanted steps of an array of queries.
func (l *layered) openSteps(s *stepped, part byte, layer int) error {
	a, err := l.array(part, layer, l.steps, l.shape.QueryHeads)
	if err != nil {
		return err
	}
	s.array, s.reader = a, rowReader{numbers: a.numbers, dim: l.shape.Dim}
	step := int64(l.shape.QueryHeads * l.shape.Dim * a.width())
	raw := bytes.NewBuffer(s.raw[:0]) // grows as it is read, whatever a header claims
	n, err := io.CopyN(raw, a.r, step*int64(l.shape.Steps))
	if err != nil {
		defer a.close()
		if err == io.EOF {
			return a.errorf("the file is cut off in step %d of %d", n/step, l.steps)
		}
		return err
	}
	s.raw = raw.Bytes()
	return a.end(step * int64(l.steps-l.shape.Steps))
}

func (l *layered) openRows(r *rows, part byte, layer int) (err error) {
	if r.array, err = l.array(part, layer, l.shape.KVHeads, l.shape.Prompt+l.steps); err != nil {
		return err
	}
	r.reader = rowReader{numbers: r.array.numbers, dim: l.shape.Dim}
	return nil
}

// array opens an array and checks its dimensions; the last is that of a vector.
func (l *layered) array(part byte, layer int, lengths ...int) (*array, error) {
	a, err := l.open(part, layer)
	if err != nil {
		return nil, err
	}
	if want := append(lengths, l.shape.Dim); !slices.Equal(a.lengths, want) {
		defer a.close()
		what := "steps, query heads"
		if part == 'k' || part == 'v' {
			what = "KV heads, tokens"
		}
		return nil, a.errorf("an array of the shape %s: want %s, that is %s and numbers of a head", list(a.lengths),
			list(want),
			what)
	}
	return a, nil
}

// gather appends the queries of the group of h; none if they are not read.
func (l *layered) gather(h *Head, s *stepped, to []float32) (_ []float32, err error) {
	if s.array == nil {
		return to, nil
	}
	group := l.shape.Group() * l.shape.Dim * s.width()
	all := l.shape.Steps * l.shape.Group() * l.shape.Dim
	to = room(to, all, all) // they are in memory already, so no header claims them
	for step := range l.shape.Steps {
		raw := bytes.NewReader(s.raw[(step*l.shape.KVHeads+h.KV)*group:][:group])
		to, err = s.reader.read(raw, to, l.shape.Group(), true, func(row int, what string) error {
			return s.errorf("step %d, query head %d: %s", step, h.KV*l.shape.Group()+row, what)
		})
		if err != nil {
			return nil, err
		}
	}
	return to, nil
}

// read appends the keys or values of h; none if they are not read.
func (l *layered) read(h *Head, r *rows, to []float32, directed bool) ([]float32, error) {
	if r.array == nil {
		return to, nil
	}
	to, err := r.reader.read(r.r, to, l.shape.Tokens(), directed, func(row int, what string) error {
		return r.errorf("KV head %d, token %d: %s", h.KV, row, what)
	})
	if err != nil {
		return nil, err
	}
	beyond := int64(l.steps-l.shape.Steps) * int64(l.shape.Dim*r.width())
	if h.KV < l.shape.KVHeads-1 {
		return to, r.skip(beyond)
	}
	a := r.array
	r.array = nil
	return to, a.end(beyond)
}
