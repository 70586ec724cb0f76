package attention

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// maxTensorHeader is the largest header that the library of safetensors writes, in bytes.
const maxTensorHeader = 100_000_000

// tensor is an entry in the header of a file of tensors
// (https://github.com/huggingface/safetensors#format).
type tensor struct {
	Type    string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"` // in the bytes after the header
}

var tensorNumbers = map[string]numbers{"F16": float16s, "BF16": bfloat16s, "F32": float32s, "F64": float64s}

// looksLikeTensors reports whether a file begins with the length of a header, and that header.
func looksLikeTensors(head []byte) bool {
	if len(head) < 10 {
		return false
	}
	length := binary.LittleEndian.Uint64(head)
	text := head[8:min(uint64(len(head)), 8+min(length, maxTensorHeader))]
	return length >= 2 && length <= maxTensorHeader && text[0] == '{' && !source.IsBinary(text) &&
		(uint64(len(text)) < length || json.Valid(text))
}

// openTensors opens a file of tensors, which are named like the files of a folder: q.L04, p.L04, k.L04, v.L04. Its
// metadata may state context, scale and model.
func openTensors(src *source.Source, options Options) (Trace, error) {
	content, size, err := src.ReaderAt()
	if err != nil {
		return nil, err
	}
	tensors, metadata, begin, err := readTensorHeader(src, content, size)
	if err != nil {
		return nil, err
	}
	shape, err := shapeOfTensors(tensors, metadata)
	if err != nil {
		return nil, src.Errorf("%w", err)
	}
	err = eachArray(shape, func(part byte, layer int) error {
		name := tensorName(part, layer)
		if _, ok := tensors[name]; !ok {
			return src.Errorf("has no tensor %s, the %s of layer %d", name, partNames[part], layer)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := options.need(src.Place, shape); err != nil {
		return nil, err
	}
	return &layered{
		shape: options.limited(*shape), steps: shape.Steps, options: options, release: src.In.Close,
		open: func(part byte, layer int) (*array, error) {
			name := tensorName(part, layer)
			t := tensors[name]
			return &array{
				label: src.Place + ": tensor " + name, numbers: tensorNumbers[t.Type], lengths: t.Shape,
				r:       io.NewSectionReader(content, begin+t.Offsets[0], t.Offsets[1]-t.Offsets[0]),
				changed: src.In.Opened.Check, close: func() error { return nil },
			}, nil
		},
	}, nil
}

func tensorName(part byte, layer int) string { return fmt.Sprintf("%c.L%02d", part, layer) }

// readTensorHeader returns the tensors, the metadata and where the numbers begin.
func readTensorHeader(src *source.Source, content io.ReaderAt, size int64) (map[string]tensor, map[string]string, int64,
	error) {
	fail := func(format string, args ...any) (map[string]tensor, map[string]string, int64, error) {
		return nil, nil, 0, src.Errorf(format, args...)
	}
	var field [8]byte
	if _, err := content.ReadAt(field[:], 0); err != nil {
		return fail("the file is cut off within the length of its header")
	}
	length := binary.LittleEndian.Uint64(field[:])
	if length > maxTensorHeader || int64(length) > size-8 {
		return fail("a header of %d bytes in a file of %d: the file is cut off or damaged", length, size)
	}
	text := make([]byte, length)
	if _, err := content.ReadAt(text, 8); err != nil && err != io.EOF {
		return fail("%w", err)
	}
	var entries map[string]json.RawMessage
	if err := jsonlines.Parse(text, &entries, "a JSON object of tensors"); err != nil {
		return fail("the header of its tensors: %w", err)
	}
	var metadata map[string]string
	begin := 8 + int64(length)
	tensors := map[string]tensor{}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if name == "__metadata__" {
			if err := jsonlines.Parse(entries[name], &metadata, "a JSON object of texts"); err != nil {
				return fail("the metadata: %w", err)
			}
			continue
		}
		t, err := parseTensor(entries[name], size-begin)
		if err != nil {
			return fail("tensor %.80q: %w", name, err)
		}
		tensors[name] = t
	}
	return tensors, metadata, begin, nil
}

// parseTensor reads an entry. Its numbers must be among the bytes that follow the header.
func parseTensor(text []byte, bytes int64) (t tensor, err error) {
	if err := jsonlines.Parse(text, &t, "a JSON object with dtype, shape and data_offsets"); err != nil {
		return t, err
	}
	numbers, ok := tensorNumbers[t.Type]
	if !ok {
		return t, fmt.Errorf("numbers of type %.20q: want F16, BF16, F32 or F64", t.Type)
	}
	if t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] || t.Offsets[1] > bytes {
		return t, fmt.Errorf("the bytes %d to %d of %d: the file is cut off or damaged", t.Offsets[0], t.Offsets[1], bytes)
	}
	want := int64(numbers.width())
	for _, length := range t.Shape {
		if length < 0 || length > 0 && want > math.MaxInt64/int64(length) {
			return t, fmt.Errorf("the shape %.80s: want lengths whose product is the number of numbers", list(t.Shape))
		}
		want *= int64(length)
	}
	if got := t.Offsets[1] - t.Offsets[0]; got != want {
		return t, fmt.Errorf("%d bytes for the shape %.80s of %s: want %d", got, list(t.Shape), t.Type, want)
	}
	return t, nil
}

// shapeOfTensors takes the dimensions from the tensors of the first layer.
func shapeOfTensors(tensors map[string]tensor, metadata map[string]string) (*Shape, error) {
	var layers []int
	for name := range tensors {
		digits, ok := strings.CutPrefix(name, "q.L")
		if layer, err := strconv.Atoi(digits); ok && err == nil && tensorName('q', layer) == name {
			layers = append(layers, layer)
		}
	}
	if len(layers) == 0 {
		return nil, fmt.Errorf("its %d tensors are no attention trace: want q.L00, k.L00 and v.L00 for layer 0, and so on",
			len(tensors))
	}
	slices.Sort(layers)
	first := layers[0]
	q, k := tensors[tensorName('q', first)], tensors[tensorName('k', first)]
	if len(q.Shape) != 3 || len(k.Shape) != 3 {
		return nil, fmt.Errorf("tensors %s of the shape %s and %s of the shape %s: want (steps, query heads, head size) "+
			"and (KV heads, tokens, head size)", tensorName('q', first), list(q.Shape), tensorName('k', first),
			list(k.Shape))
	}
	shape := &Shape{Model: metadata["model"], Layers: layers, QueryHeads: q.Shape[1], KVHeads: k.Shape[0], Dim: q.Shape[2],
		Steps: q.Shape[0], Prompt: k.Shape[1] - q.Shape[0], Scale: 1 / math.Sqrt(float64(q.Shape[2]))}
	_, shape.Predicted = tensors[tensorName('p', first)]
	if text := metadata["scale"]; text != "" {
		scale, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("scale %.40q in its metadata: want a number", text)
		}
		shape.Scale = scale
	}
	if text := metadata["context"]; text != "" && text != strconv.Itoa(shape.Prompt) {
		return nil, fmt.Errorf("context %.40q in its metadata: %d tokens and %d steps leave %d", text, k.Shape[1], q.Shape[0],
			shape.Prompt)
	}
	return shape, shape.check()
}
