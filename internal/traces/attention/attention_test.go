package attention

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/npy"
	"github.com/cachesim/cachesim/internal/traces/source"
)

var everything = Parts{Predicted: true, Keys: true, Values: true}

// made is a small trace whose numbers all differ, so that no two places can be confused.
type made struct {
	shape Shape
	next  int
}

func newMade() *made {
	return &made{shape: Shape{Model: "made", Layers: []int{0, 4, 29}, QueryHeads: 6, KVHeads: 2, Dim: 5, Prompt: 7,
		Steps:     4,
		Predicted: true, Scale: 0.25}}
}

func (m *made) Shape() *Shape { return &m.shape }
func (m *made) End() error    { return nil }
func (m *made) Close() error  { return nil }

func (m *made) Next(h *Head) error {
	h.Begin(&m.shape, m.next)
	m.next++
	number := float32(h.Place*1000 + 1)
	fill := func(rows int) []float32 {
		list := make([]float32, rows*m.shape.Dim)
		for i := range list {
			list[i] = npy.Half(npy.ToHalf(number / 4))
			number++
		}
		return list
	}
	h.Queries, h.Predicted = fill(m.shape.Steps*3), fill(m.shape.Steps*3)
	h.Keys, h.Values = fill(m.shape.Tokens()), fill(m.shape.Tokens())
	return nil
}

// headsOf reads all heads, each into memory of its own.
func headsOf(t testing.TB, trace Trace) []Head {
	t.Helper()
	heads := make([]Head, trace.Shape().Heads())
	for i := range heads {
		must.Do(t, trace.Next(&heads[i]))
	}
	must.Do(t, trace.End())
	return heads
}

func (h Head) cut(s *Shape, steps int) Head {
	h.Queries, h.Predicted = h.Queries[:steps*3*s.Dim], h.Predicted[:steps*3*s.Dim]
	h.Keys, h.Values = h.Keys[:(s.Prompt+steps)*s.Dim], h.Values[:(s.Prompt+steps)*s.Dim]
	return h
}

// arrays returns the arrays of a trace as a folder and a file of tensors have them: name, lengths and float16.
func arrays(t testing.TB, trace Trace) (names []string, lengths map[string][]int, raw map[string][]byte) {
	s := trace.Shape()
	lengths, raw = map[string][]int{}, map[string][]byte{}
	heads := headsOf(t, trace)
	for layer, number := range s.Layers {
		group := heads[layer*s.KVHeads:][:s.KVHeads]
		for _, part := range "qpkv" {
			name := fmt.Sprintf("%c.L%02d", part, number)
			var list []float32
			if part == 'q' || part == 'p' {
				lengths[name] = []int{s.Steps, s.QueryHeads, s.Dim}
				for step := range s.Steps {
					for _, h := range group {
						rows := map[rune][]float32{'q': h.Queries, 'p': h.Predicted}[part]
						list = append(list, rows[step*3*s.Dim:][:3*s.Dim]...)
					}
				}
			} else {
				lengths[name] = []int{s.KVHeads, s.Tokens(), s.Dim}
				for _, h := range group {
					list = append(list, map[rune][]float32{'k': h.Keys, 'v': h.Values}[part]...)
				}
			}
			names = append(names, name)
			raw[name] = must.Get(appendHalves(nil, list))(t)
		}
	}
	return names, lengths, raw
}

func npyOf(lengths []int, kind string, raw []byte) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", kind, list(lengths))
	text += strings.Repeat(" ", 127-10-len(text)) + "\n"
	head := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), byte(len(text)>>8))
	return slices.Concat(head, []byte(text), raw)
}

const metaOf = `{"model": {"general.name": "made"}, "context": 7, "steps": 4, "layers": 30, "query_heads": 6, "kv_heads": 2,
"head_dim": 5, "scale": 0.25, "layers_stored": [0, 4, 29]}`

// folderOf writes the folder of the small trace and returns its path. Every other array is compressed.
func folderOf(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	names, lengths, raw := arrays(t, newMade())
	for i, name := range names {
		content := npyOf(lengths[name], "<f2", raw[name])
		path := filepath.Join(dir, name+".npy")
		if i%2 == 0 {
			content, path = must.Get(zstd.NewWriter(nil))(t).EncodeAll(content, nil), path+".zst"
		}
		must.Do(t, os.WriteFile(path, content, 0o644))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, metaName), []byte(metaOf), 0o644))
	return dir
}

// tensorsOf returns the small trace as a file of tensors.
func tensorsOf(t testing.TB, metadata string) []byte { return asTensors(t, newMade(), metadata) }

func asTensors(t testing.TB, trace Trace, metadata string) []byte {
	t.Helper()
	names, lengths, raw := arrays(t, trace)
	header, content := map[string]any{"__metadata__": json.RawMessage(metadata)}, []byte(nil)
	for _, name := range names {
		at := len(content)
		content = append(content, raw[name]...)
		header[name] = map[string]any{"dtype": "F16", "shape": lengths[name], "data_offsets": []int{at, len(content)}}
	}
	text := must.Get(json.Marshal(header))(t)
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, content)
}

// ownOf returns the small trace in this program's own format.
func ownOf(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, Write(t.Context(), &b, newMade(), 1, nil))
	return b.Bytes()
}

// files returns the small trace in every format.
func files(t testing.TB) map[string]string {
	t.Helper()
	dir := t.TempDir()
	paths := map[string]string{"folder": folderOf(t)}
	own := ownOf(t)
	for name, content := range map[string][]byte{
		"tensors": tensorsOf(t, `{"context": "7", "scale": "0.25", "model": "made"}`), "own": own,
		"own.zst": must.Get(zstd.NewWriter(nil))(t).EncodeAll(own, nil),
	} {
		paths[name] = filepath.Join(dir, name)
		must.Do(t, os.WriteFile(paths[name], content, 0o644))
	}
	return paths
}

// Every format gives the same heads: all of them, or the first steps.
func TestFormatsHoldTheSame(t *testing.T) {
	want := headsOf(t, newMade())
	for format, path := range files(t) {
		if !Is(t.Context(), path) {
			t.Errorf("%s is not recognised", format)
		}
		for _, steps := range []int{0, 1, 3, 4, 9} {
			trace := must.Get(Open(t.Context(), path, nil, Options{Parts: everything, Steps: steps}))(t)
			shape := newMade().shape
			if steps > 0 {
				shape.Steps = min(shape.Steps, steps)
			}
			if got := trace.Shape(); !reflect.DeepEqual(*got, shape) {
				t.Errorf("%s, %d steps: shape %+v, want %+v", format, steps, *got, shape)
			}
			for i, h := range headsOf(t, trace) {
				if cut := want[i].cut(&shape, shape.Steps); !reflect.DeepEqual(h, cut) {
					t.Errorf("%s, %d steps: head %d is %+v, want %+v", format, steps, i, h, cut)
				}
			}
			must.Do(t, trace.Close())
		}
	}
}

// What is not wanted is not read, and leaves the rest as it is.
func TestPartsAreChosen(t *testing.T) {
	want := headsOf(t, newMade())
	for format, path := range files(t) {
		for _, parts := range []Parts{{}, {Keys: true}, {Values: true}, {Predicted: true}} {
			trace := must.Get(Open(t.Context(), path, nil, Options{Parts: parts}))(t)
			for i, h := range headsOf(t, trace) {
				for _, part := range []struct {
					name   string
					wanted bool
					got    []float32
					all    []float32
				}{
					{"queries", true, h.Queries, want[i].Queries}, {"predicted", parts.Predicted, h.Predicted, want[i].Predicted},
					{"keys", parts.Keys, h.Keys, want[i].Keys}, {"values", parts.Values, h.Values, want[i].Values},
				} {
					if part.wanted && !slices.Equal(part.got, part.all) || !part.wanted && len(part.got) > 0 {
						t.Errorf("%s, %+v: head %d has %d %s", format, parts, i, len(part.got), part.name)
					}
				}
			}
			must.Do(t, trace.Close())
		}
	}
}

// A file may be read through a pipe, and copied to the same bytes.
func TestPipe(t *testing.T) {
	own := ownOf(t)
	for name, content := range map[string][]byte{"own": own, "tensors": tensorsOf(t,
		`{"scale": "0.25", "model": "made"}`)} {
		r, w := io.Pipe()
		go func() {
			_, err := w.Write(content)
			w.CloseWithError(err)
		}()
		trace := must.Get(Open(t.Context(), "-", r, Options{Parts: everything}))(t)
		var copied bytes.Buffer
		must.Do(t, Write(t.Context(), &copied, trace, 3, nil))
		must.Do(t, trace.Close())
		if !bytes.Equal(copied.Bytes(), own) {
			t.Errorf("%s: the copy differs", name)
		}
	}
}

// Other widths of numbers hold the same; float32 and bfloat16 come from other tools.
func TestNumbers(t *testing.T) {
	values := []float32{0, -0.5, 1, 3.140625, -65504, 1 << 20}
	for kind, raw := range map[numbers][]byte{
		bfloat16s: must.Get(binary.Append(nil, binary.LittleEndian, []uint16{0, 0xbf00, 0x3f80, 0x4049, 0xc780, 0x4980}))(t),
		float32s:  must.Get(binary.Append(nil, binary.LittleEndian, values))(t),
		float64s: must.Get(binary.Append(nil, binary.LittleEndian,
			[]float64{0, -0.5, 1, 3.140625, -65504, 1 << 20}))(t),
	} {
		row := make([]float32, len(values))
		finite, any := kind.decode(row, raw)
		want := slices.Clone(values)
		if kind == bfloat16s {
			want[4] = -65536
		}
		if !finite || !any || !slices.Equal(row, want) {
			t.Errorf("type %d: %v, finite %t, any %t", kind, row, finite, any)
		}
	}
	if finite, _ := float64s.decode(make([]float32, 1), binary.LittleEndian.AppendUint64(nil,
		math.Float64bits(1e300))); finite {
		t.Error("1e300 is finite as float32")
	}
}

// Every 16-bit number is its sign, exponent and fraction, as in IEEE 754, and is written as it was read.
func TestHalfFloat(t *testing.T) {
	for bits := range 1 << 16 {
		sign, exponent, fraction := 1-2*float64(bits>>15), bits>>10&31, float64(bits&1023)
		want := sign * math.Ldexp(1+fraction/1024, exponent-15)
		if exponent == 0 {
			want = sign * math.Ldexp(fraction/1024, -14)
		}
		raw, row := binary.LittleEndian.AppendUint16(nil, uint16(bits)), make([]float32, 1)
		finite, any := float16s.decode(row, raw)
		if finite != (exponent < 31) || any != (bits&0x7fff != 0) {
			t.Fatalf("%#04x: finite %t, any %t", bits, finite, any)
		}
		written, err := appendHalves(nil, row)
		switch {
		case !finite:
			if err == nil {
				t.Fatalf("%#04x is written although it is not finite", bits)
			}
		case float64(row[0]) != want || math.Signbit(float64(row[0])) != (sign < 0):
			t.Fatalf("%#04x is %v, want %v", bits, row[0], want)
		case err != nil || !bytes.Equal(written, raw):
			t.Fatalf("%#04x is written as %x, error %v", bits, written, err)
		}
	}
	if _, err := appendHalves(nil, []float32{65520}); err == nil {
		t.Error("65520, which rounds to infinity, is written")
	}
}

// Each gives every head once to a goroutine with memory of its own, and ends at the first error.
func TestEach(t *testing.T) {
	want := headsOf(t, newMade())
	options := Options{Parts: everything}
	for _, path := range files(t) {
		for _, jobs := range []int{1, 4} {
			trace := must.Get(Open(t.Context(), path, nil, options))(t)
			var seen [6]atomic.Int32
			must.Do(t, Each(t.Context(), trace, jobs, options, func(_ int, h *Head) error {
				seen[h.Place].Add(1)
				if !reflect.DeepEqual(*h, want[h.Place]) {
					t.Errorf("head %d differs", h.Place)
				}
				return nil
			}))
			for place := range seen {
				if n := seen[place].Load(); n != 1 {
					t.Errorf("head %d came %d times", place, n)
				}
			}
			must.Do(t, trace.Close())
		}
	}
	failure := errors.New("failure")
	if err := Each(t.Context(), newMade(), 2, options, func(int, *Head) error { return failure }); err != failure {
		t.Errorf("error %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Each(ended, newMade(), 2, options, func(int, *Head) error { return nil }); err != context.Canceled {
		t.Errorf("error %v after the end of the context", err)
	}
	// Half of this budget has room for one head.
	tight := options
	tight.Memory = memory.Fixed(3*newMade().shape.HeadBytes(everything), 0)
	must.Do(t, Each(t.Context(), newMade(), 8, tight, func(worker int, _ *Head) error {
		if worker > 0 {
			t.Error("two heads are held")
		}
		return nil
	}))
	tight.Memory = memory.Fixed(100, 0)
	if _, err := Open(t.Context(), files(t)["own"], nil, tight); err == nil || !strings.Contains(err.Error(), "out of "+
		"memory") {
		t.Errorf("error %v for a head larger than the memory", err)
	}
}

// claims is a header that claims far more than follows: memory grows with what is read, not with what is claimed.
func TestClaimsTakeNoMemory(t *testing.T) {
	shape := Shape{Layers: []int{0}, QueryHeads: 1 << 10, KVHeads: 1, Dim: 1 << 13, Prompt: 1 << 26, Steps: 1 << 26,
		Scale: 1}
	text := must.Get(json.Marshal(shape))(t)
	own := slices.Concat([]byte(magic), binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text, make([]byte,
		1<<16))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := readAll(t.Context(), own)
	runtime.ReadMemStats(&after)
	if err == nil || after.TotalAlloc-before.TotalAlloc > 32<<20 {
		t.Errorf("%d bytes are allocated, error %v", after.TotalAlloc-before.TotalAlloc, err)
	}
}

// readAll reads a file from standard input.
func readAll(ctx context.Context, content []byte) error {
	trace, err := Open(ctx, "-", bytes.NewReader(content), Options{Parts: everything})
	if err != nil {
		return err
	}
	defer trace.Close()
	return readTrace(ctx, trace)
}

func readSource(ctx context.Context, src *source.Source) error {
	trace, err := openSource(src, Options{Parts: everything})
	if err != nil {
		return err
	}
	return readTrace(ctx, trace)
}

func readTrace(ctx context.Context, trace Trace) error {
	return Each(ctx, trace, 1, Options{Parts: everything}, func(_ int, h *Head) error {
		for _, part := range [][]float32{h.Queries, h.Predicted, h.Keys, h.Values} {
			for _, x := range part {
				if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					return fmt.Errorf("head %d has %v", h.Place, x)
				}
			}
		}
		return nil
	})
}

// Every file that is cut off is an error that says so, wherever that is.
func TestCutFiles(t *testing.T) {
	for name, content := range map[string][]byte{"own": ownOf(t), "tensors": tensorsOf(t, "{}")} {
		if err := readAll(t.Context(), content); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for n := 12; n < len(content); n += 1 + n/17 {
			err := readAll(t.Context(), content[:n])
			if err == nil || !strings.HasPrefix(err.Error(), "standard input: ") || !strings.Contains(err.Error(), "cut off") {
				t.Errorf("%s: %d of %d bytes: error %v", name, n, len(content), err)
			}
		}
		err := readAll(t.Context(), append(content[:len(content):len(content)], 0))
		if name == "own" && (err == nil || !strings.Contains(err.Error(), "bytes follow the 6 heads")) {
			t.Errorf("%s: error %v with a byte too many", name, err)
		}
		path := filepath.Join(t.TempDir(), name)
		must.Do(t, os.WriteFile(path, content[:len(content)-2], 0o644))
		if _, err := Open(t.Context(), path, nil, Options{}); err == nil || !strings.Contains(err.Error(), "cut off or "+
			"damaged") {
			t.Errorf("%s: error %v on opening a file that lacks its end", name, err)
		}
	}
}

// A folder with something wrong is an error that names the file and what was expected.
func TestBadFolders(t *testing.T) {
	_, lengths, raw := arrays(t, newMade())
	half := func(x float32) []byte {
		return binary.LittleEndian.AppendUint16(nil, npy.ToHalf(x))
	}
	with := func(name string, at int, bits []byte) []byte {
		changed := slices.Clone(raw[name])
		copy(changed[at:], bits)
		return npyOf(lengths[name], "<f2", changed)
	}
	zeros := make([]byte, 10)
	for name, c := range map[string]struct {
		file    string // to write; "" for none
		content []byte
		remove  string
		want    string
	}{
		"NaN key": {"k.L04.npy", with("k.L04", (11+3)*10, half(float32(math.NaN()))), "", "k.L04.npy: KV head 1, token " +
			"3: a number that is not finite"},
		"infinite": {"v.L29.npy", with("v.L29", 4, half(float32(math.Inf(1)))), "", "v.L29.npy: KV head 0, token 0: a " +
			"number that is not finite"},
		"NaN query": {"q.L00.npy", with("q.L00", (2*6+4)*10, half(float32(math.NaN()))), "", "q.L00.npy: step 2, query " +
			"head 4: a number"},
		"zero key":   {"k.L00.npy", with("k.L00", 5*10, zeros), "", "k.L00.npy: KV head 0, token 5: all numbers are 0"},
		"zero query": {"q.L04.npy", with("q.L04", 6*10, zeros), "", "q.L04.npy: step 1, query head 0: all numbers are 0"},
		"zero hat":   {"p.L04.npy", with("p.L04", 6*10, zeros), "", "p.L04.npy: step 1, query head 0: all numbers are 0"},
		"dimensions": {"k.L04.npy", npyOf([]int{2, 11, 4}, "<f2", raw["k.L04"][:176]), "", "k.L04.npy: an array of the " +
			"shape (2, 11, 4): want (2, 11, 5), that is KV heads, tokens"},
		"a head less": {"v.L04.npy", npyOf([]int{1, 11, 5}, "<f2", raw["v.L04"][:110]), "", "an array of the shape (1, 11, " +
			"5): want (2, 11, 5)"},
		"steps less": {"q.L29.npy", npyOf([]int{3, 6, 5}, "<f2", raw["q.L29"][:180]), "", "an array of the shape (3, 6, " +
			"5): want (4, 6, 5), that is steps, query heads"},
		"flat": {"q.L29.npy", npyOf([]int{120}, "<f2", raw["q.L29"]), "", "an array of the shape (120): want (4, 6, " +
			"5)"},
		"whole numbers": {"k.L04.npy", npyOf(lengths["k.L04"], "<i2", raw["k.L04"]), "",
			"k.L04.npy: a NumPy array of type \"<i2\": want little-endian floating-point"},
		"no array": {"k.L04.npy", []byte("none of it"), "", "want a NumPy array"},
		"cut keys": {"k.L04.npy", npyOf(lengths["k.L04"], "<f2", raw["k.L04"][:150]), "", "k.L04.npy: KV head 1, " +
			"token 4: the file is cut off here"},
		"cut queries": {"q.L04.npy", npyOf(lengths["q.L04"], "<f2", raw["q.L04"][:150]), "", "q.L04.npy: the file is cut " +
			"off in step 2 of 4"},
		"too much": {"v.L04.npy", append(npyOf(lengths["v.L04"], "<f2", raw["v.L04"]), 1), "", "v.L04.npy: bytes " +
			"follow the numbers of the shape (2, 11, 5)"},
		"missing layer": {"", nil, "v.L29", "has no v.L29.npy, the values of layer 29"},
		"missing hats":  {"", nil, "p.L29", "has no p.L29.npy, the predicted queries of layer 29"},
		"no dimensions": {metaName, nil, metaName, "has no meta.json, which states context"},
		"no JSON":       {metaName, []byte("["), "", "meta.json: unexpected end of JSON input: want a JSON object"},
		"a list":        {metaName, []byte("[1]"), "", "meta.json: the JSON array: want a JSON object that"},
		"a text": {metaName, []byte(strings.Replace(metaOf, "7", `"7"`, 1)), "", "meta.json: \"context\" is the JSON " +
			"string: want a whole number"},
		"a fraction": {metaName, []byte(strings.Replace(metaOf, `"head_dim": 5`, `"head_dim": 5.5`, 1)), "",
			`meta.json: "head_dim" is the JSON number 5.5: want a whole number`},
		"beyond int64": {metaName, []byte(strings.Replace(metaOf, `"steps": 4`, `"steps": 1`+strings.Repeat("0", 90), 1)),
			"", `meta.json: "steps" is the JSON number 100`},
		"too many layers": {metaName, []byte(strings.Replace(strings.Replace(metaOf, `"layers": 30`, `"layers": 5000`, 1),
			`"layers_stored"`, `"layers_known"`, 1)), "", "meta.json: 5000 layers: want 1 to 4096"},
		"no heads": {metaName, []byte(strings.Replace(metaOf, `"kv_heads": 2`, `"kv_heads": 0`, 1)), "", "meta.json: " +
			"0 KV heads: want 1 to"},
		"uneven heads": {metaName, []byte(strings.Replace(metaOf, `"kv_heads": 2`, `"kv_heads": 4`, 1)), "", "6 query " +
			"heads for 4 KV heads"},
		"huge": {metaName, []byte(strings.Replace(metaOf, `"context": 7`, `"context": 99999999999`, 1)), "",
			"99999999999 tokens before the first step: want 1 to"},
		"layers twice": {metaName, []byte(strings.Replace(metaOf, "[0, 4, 29]", "[0, 4, 4]", 1)), "", "layers [0 4 4]: " +
			"want numbers"},
		"scale": {metaName, []byte(strings.Replace(metaOf, "0.25", "-1", 1)), "", "scale -1 of the products"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folderOf(t)
			for _, gone := range []string{c.remove, strings.TrimSuffix(c.file, ".npy")} {
				for _, ending := range []string{"", ".npy", ".npy.zst"} {
					os.Remove(filepath.Join(dir, gone+ending))
				}
			}
			if c.content != nil {
				must.Do(t, os.WriteFile(filepath.Join(dir, c.file), c.content, 0o644))
			}
			trace, err := Open(t.Context(), dir, nil, Options{Parts: everything})
			if err == nil {
				defer trace.Close()
				err = Each(t.Context(), trace, 1, Options{}, func(int, *Head) error { return nil })
			}
			if err == nil || !strings.HasPrefix(err.Error(), dir) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// Tensors that are no trace, or a damaged one, are errors that say what is wrong.
func TestBadTensors(t *testing.T) {
	good := string(tensorsOf(t, "{}"))
	file := func(header string, bytes int) string {
		return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + strings.Repeat("\x01", bytes)
	}
	for name, c := range map[string]struct{ content, want string }{
		"other tensors": {file(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), "its 1 tensors are no " +
			"attention trace"},
		"type": {file(`{"q.L00":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}}`, 2),
			`tensor "q.L00": numbers of type "I8"`},
		"beyond": {file(`{"q.L00":{"dtype":"F16","shape":[9],"data_offsets":[0,18]}}`, 2), "the bytes 0 to 18 of 2: " +
			"the file is cut off"},
		"backwards": {file(`{"q.L00":{"dtype":"F16","shape":[0],"data_offsets":[2,0]}}`, 2), "the bytes 2 to 0 of 2"},
		"product": {file(`{"q.L00":{"dtype":"F16","shape":[3],"data_offsets":[0,2]}}`, 2), "2 bytes for the shape " +
			"(3) of F16: want 6"},
		"overflow": {file(`{"q.L00":{"dtype":"F16","shape":[4611686018427387904,4611686018427387904],"data_offsets":[0,2]}}`,
			2),
			"want lengths whose product"},
		"negative": {file(`{"q.L00":{"dtype":"F16","shape":[-1],"data_offsets":[0,2]}}`, 2), "want lengths whose " +
			"product"},
		"flat": {file(`{"q.L00":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}`, 2), "tensors q.L00 of the " +
			"shape (1) and k.L00"},
		"no keys": {strings.Replace(good, `"k.L04"`, `"x.L04"`, 1), "has no tensor k.L04, the keys of layer 4"},
		"no hats": {strings.Replace(good, `"p.L29"`, `"x.L29"`, 1), "has no tensor p.L29, the predicted queries of layer 29"},
		"scale":   {string(tensorsOf(t, `{"scale": "wide"}`)), `scale "wide" in its metadata: want a number`},
		"context": {string(tensorsOf(t, `{"context": "8"}`)),
			`context "8" in its metadata: 11 tokens and 4 steps leave 7`},
		"metadata": {string(tensorsOf(t, `[]`)), "the metadata: the JSON array: want a JSON object of texts"},
		"a number": {string(tensorsOf(t, `{"scale": 1}`)), `the metadata: the JSON number: want a JSON object of texts`},
		"no shape": {file(`{"q.L00":{"dtype":"F16","shape":"wide","data_offsets":[0,2]}}`, 2),
			`tensor "q.L00": "shape" is the JSON string: want a list in brackets`},
		"other header": {file("{nothing}", 8), "holds no attention trace"},
	} {
		t.Run(name, func(t *testing.T) {
			err := readAll(t.Context(), []byte(c.content))
			if err == nil || !strings.HasPrefix(err.Error(), "standard input: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// Damaged files of the program's own format are errors that name the head and the row.
func TestBadOwnFiles(t *testing.T) {
	good := ownOf(t)
	length := int(binary.LittleEndian.Uint32(good[len(magic):]))
	begin := len(magic) + 4 + length
	with := func(at int, bits ...byte) []byte {
		changed := slices.Clone(good)
		copy(changed[begin+at:], bits)
		return changed
	}
	headBytes := int(newMade().shape.HeadBytes(everything) / 2)
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"NaN":      {with(headBytes+2*10, 0, 0x7e), "layer 0, KV head 1, query 2: a number that is not finite"},
		"zero key": {with(24*10, make([]byte, 10)...), "layer 0, KV head 0, key 0: all numbers are 0"},
		"long header": {slices.Concat([]byte(magic), []byte{0, 0, 0, 1}, good[len(magic)+4:]), "a header of 16777216 " +
			"bytes: want at most"},
		"header":  {bytes.Replace(good, []byte(`"steps":4`), []byte(`"steps":0`), 1), "its header: 0 steps: want 1 to"},
		"no JSON": {bytes.Replace(good, []byte(`{"model"`), []byte(`["model"`), 1), "its header: "},
		"no number": {bytes.Replace(good, []byte(`"scale":0.25`), []byte(`"scale":true`), 1),
			`its header: "scale" is the JSON bool: want a number`},
		"array": {npyOf([]int{2, 2}, "<f2", make([]byte, 8)), "is one array of an attention trace, if it is one at " +
			"all"},
		"text": {[]byte("key,size\n1,2\n"), "holds no attention trace: want a folder with meta.json"},
	} {
		t.Run(name, func(t *testing.T) {
			err := readAll(t.Context(), c.content)
			if err == nil || !strings.HasPrefix(err.Error(), "standard input: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// fuzz reads anything. Nothing panics or allocates what a header claims, and every error says which file is wrong.
func fuzz(f *testing.F, seeds ...[]byte) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := must.Get(source.OpenFile(t.Context(), "-", bytes.NewReader(nil)))(t)
		defer in.Close()
		src, err := source.New(in, in.Label, in.Path, bytes.NewReader(data)) // needs no temporary file
		if err == nil {
			err = readSource(t.Context(), src)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "standard input: ") {
			t.Errorf("the error does not say where it is: %v", err)
		}
	})
}

func FuzzOwn(f *testing.F) { fuzz(f, ownOf(f), ownOf(f)[:200]) }

func FuzzTensors(f *testing.F) {
	fuzz(f, tensorsOf(f, "{}"), tensorsOf(f, `{"context": "7", "scale": "0.25"}`)[:300])
}

// FuzzMeta: what is accepted is a shape that can be read.
func FuzzMeta(f *testing.F) {
	f.Add([]byte(metaOf))
	f.Add([]byte(`{"context":1,"steps":1,"layers":2,"query_heads":1,"kv_heads":1,"head_dim":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		shape, err := parseMeta(data)
		if err == nil && (shape.check() != nil || shape.Heads() < 1 || shape.HeadBytes(everything) < 1) {
			t.Errorf("%+v is accepted", shape)
		}
	})
}

// FuzzArray: the header of an array is one of its dimensions, or an error that says which file is wrong.
func FuzzArray(f *testing.F) {
	f.Add(npyOf([]int{2, 3, 4}, "<f2", make([]byte, 48)))
	f.Add(npyOf([]int{99999999, 3, 4}, "<f8", nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := must.Get(source.OpenFile(t.Context(), "-", bytes.NewReader(data)))(t)
		defer in.Close()
		a, err := newNpy(in)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "standard input: ") {
				t.Errorf("the error does not say where it is: %v", err)
			}
			return
		}
		rows := rowReader{numbers: a.numbers, dim: 4}
		if _, err := rows.read(a.r, nil, 1<<40, false, func(int, string) error { return io.EOF }); err == nil {
			t.Error("a file of 2^42 numbers")
		}
	})
}

// realTrace returns the path of the attention of a real model, which is not part of the repository.
func realTrace(t testing.TB) string {
	folder := os.Getenv("CACHESIM_TRACES")
	if folder == "" {
		t.Skip("CACHESIM_TRACES does not name a folder with the published traces")
	}
	return filepath.Join(folder, "attention", "sawyer")
}

// The real trace is read whole. Another program computed its figures, and those of a second text: bands have both.
func TestRealTrace(t *testing.T) {
	options := Options{Parts: Parts{Predicted: true, Keys: true}}
	trace := must.Get(Open(t.Context(), realTrace(t), nil, options))(t)
	defer trace.Close()
	got := trace.Shape()
	want := Shape{Model: "Smollm2 135M 8k Lc100K Mix1 Ep2", Layers: got.Layers, QueryHeads: 9, KVHeads: 3, Dim: 64,
		Prompt: got.Prompt, Steps: got.Steps, Predicted: true, Scale: 0.125}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("shape %+v, want %+v", *got, want)
	}
	d := must.Get(Describe(t.Context(), trace, 2, options, nil))(t)
	for _, c := range []struct {
		name            string
		got, want, band float64
	}{
		{"similarity at lag 1", d.All.SimilarityByLag[0].Value, 0.82, 0.03},
		{"similarity at lag 8", d.All.SimilarityByLag[3].Value, 0.70, 0.04},
		{"similarity at lag 64", d.All.SimilarityByLag[6].Value, 0.62, 0.05},
		{"overlap at lag 1", d.All.OverlapByLag[0].Value, 0.665, 0.04},
		{"mass of sink and recent", d.All.SinkMass + d.All.RecentMass, 0.53, 0.08},
		{"mass of the tenth", d.All.MassByRank[4].Value, 0.82, 0.09},
		{"similarity of predictions", *d.All.Prediction, 0.967, 0.01},
	} {
		if math.Abs(c.got-c.want) > c.band {
			t.Errorf("%s: %.4f, want %v within %v", c.name, c.got, c.want, c.band)
		}
	}
}

// BenchmarkRead measures how fast heads are read, in bytes of float16.
func BenchmarkRead(b *testing.B) {
	dir := realTrace(b)
	own := filepath.Join(b.TempDir(), "trace"+Ending)
	trace := must.Get(Open(b.Context(), dir, nil, Options{Parts: everything}))(b)
	must.Do(b, WriteFile(b.Context(), own, nil, trace, 1, nil))
	must.Do(b, trace.Close())
	trace = must.Get(Open(b.Context(), own, nil, Options{Parts: everything}))(b)
	tensors := filepath.Join(b.TempDir(), "trace.safetensors")
	must.Do(b, os.WriteFile(tensors, asTensors(b, trace, "{}"), 0o644))
	must.Do(b, trace.Close())
	for name, path := range map[string]string{"folder": dir, "own": own, "tensors": tensors} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(must.Get(os.Stat(own))(b).Size())
			for b.Loop() {
				trace := must.Get(Open(b.Context(), path, nil, Options{Parts: everything}))(b)
				must.Do(b, Each(b.Context(), trace, 1, Options{}, func(int, *Head) error { return nil }))
				must.Do(b, trace.Close())
			}
		})
	}
}
