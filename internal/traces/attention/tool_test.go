package attention

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/interpreter"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/npy"
)

// recorder is the program that records attention traces of models.
const recorder = "../../../tools/attention-trace.py"

// record runs the recorder and returns the trace, with all of its heads.
func record(t *testing.T, python, out string, args ...string) (*Shape, []Head) {
	t.Helper()
	text, err := exec.Command(python, append([]string{recorder, "-o", out}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	return recorded(t, out)
}

func recorded(t *testing.T, out string) (*Shape, []Head) {
	t.Helper()
	trace := must.Get(Open(context.Background(), out, nil, Options{Parts: everything}))(t)
	defer trace.Close()
	return trace.Shape(), headsOf(t, trace)
}

// listOf writes token ids as NumPy does.
func listOf(t *testing.T, tokens []int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens.npy")
	raw := make([]byte, 0, 4*len(tokens))
	for _, token := range tokens {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(token))
	}
	text := fmt.Sprintf("{'descr': '<i4', 'fortran_order': False, 'shape': (%d,), }", len(tokens))
	text += strings.Repeat(" ", 127-10-len(text)) + "\n"
	head := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), byte(len(text)>>8))
	must.Do(t, os.WriteFile(path, slices.Concat(head, []byte(text), raw), 0o644))
	return path
}

// tokensIn reads the tokens that the recorder stored.
func tokensIn(t *testing.T, dir string) []int {
	t.Helper()
	raw := must.Get(os.ReadFile(filepath.Join(dir, "tokens.npy")))(t)[128:]
	tokens := make([]int, len(raw)/4)
	for i := range tokens {
		tokens[i] = int(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return tokens
}

// toy is a random model of the Llama family, with weights by the names of GGUF.
type toy struct {
	arch    string
	size    int // of a head
	fields  [][2]any
	names   []string
	shapes  map[string][]int
	weights map[string][]float64
	raw     map[string][]byte
	kinds   map[string]uint32
}

const (
	toyLayers, toyHeads, toyKV = 3, 4, 2
	toyWidth, toyInner         = 32, 64
	toyWords                   = 48
	toyTheta, toyEps           = 100, 1e-5
)

func newToy(arch string, size int) *toy {
	m := &toy{arch: arch, size: size, shapes: map[string][]int{}, weights: map[string][]float64{},
		raw: map[string][]byte{}, kinds: map[string]uint32{}}
	m.fields = [][2]any{
		{"general.architecture", arch}, {"general.name", "toy"}, {arch + ".block_count", uint32(toyLayers)},
		{arch + ".embedding_length", uint32(toyWidth)}, {arch + ".context_length", uint32(200)},
		{arch + ".attention.head_count", uint32(toyHeads)}, {arch + ".attention.head_count_kv", uint32(toyKV)},
		{arch + ".attention.layer_norm_rms_epsilon", float32(toyEps)}, {arch + ".rope.freq_base", float32(toyTheta)},
		{arch + ".attention.key_length", uint32(size)}, {"tokenizer.ggml.eos_token_id", uint32(1)},
	}
	r := rand.New(rand.NewPCG(1, 2))
	m.add(r, "token_embd", 8, toyWords, toyWidth)
	m.add(r, "output_norm", 0, toyWidth)
	for layer := range toyLayers {
		blk := fmt.Sprintf("blk.%d.", layer)
		m.add(r, blk+"attn_norm", 0, toyWidth)
		m.add(r, blk+"attn_q", 8, toyHeads*size, toyWidth)
		m.add(r, blk+"attn_k", 1, toyKV*size, toyWidth)
		m.add(r, blk+"attn_v", 0, toyKV*size, toyWidth)
		m.add(r, blk+"attn_output", 8, toyWidth, toyHeads*size)
		m.add(r, blk+"ffn_norm", 0, toyWidth)
		m.add(r, blk+"ffn_gate", 1, toyInner, toyWidth)
		m.add(r, blk+"ffn_up", 8, toyInner, toyWidth)
		m.add(r, blk+"ffn_down", 0, toyWidth, toyInner)
		switch arch {
		case "qwen2":
			m.addNamed(r, blk+"attn_q.bias", 0, toyHeads*size)
			m.addNamed(r, blk+"attn_k.bias", 0, toyKV*size)
			m.addNamed(r, blk+"attn_v.bias", 0, toyKV*size)
		case "qwen3":
			m.add(r, blk+"attn_q_norm", 0, size)
			m.add(r, blk+"attn_k_norm", 0, size)
		}
	}
	return m
}

func (m *toy) add(r *rand.Rand, name string, kind uint32, shape ...int) {
	m.addNamed(r, name+".weight", kind, shape...)
}

// addNamed adds a tensor as F32 (0), F16 (1) or Q8_0 (8), with the weights that its bytes have.
func (m *toy) addNamed(r *rand.Rand, name string, kind uint32, shape ...int) {
	count := 1
	for _, length := range shape {
		count *= length
	}
	var raw []byte
	weights := make([]float64, 0, count)
	put := func(x float32) float64 {
		half := npy.ToHalf(x)
		raw = binary.LittleEndian.AppendUint16(raw, half)
		return float64(npy.Half(half))
	}
	for len(weights) < count {
		x := float32(r.NormFloat64() * 0.3)
		switch kind {
		case 0:
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
			weights = append(weights, float64(x))
		case 1:
			weights = append(weights, put(x))
		case 8:
			scale := put(0.002 + 0.005*r.Float32())
			for range 32 {
				n := int8(r.IntN(256))
				raw = append(raw, byte(n))
				weights = append(weights, scale*float64(n))
			}
		}
	}
	m.names = append(m.names, name)
	m.shapes[name], m.kinds[name], m.raw[name], m.weights[name] = shape, kind, raw, weights
}

// write writes the model as a GGUF file and returns its path.
func (m *toy) write(t *testing.T) string {
	t.Helper()
	var head, data bytes.Buffer
	number := func(values ...any) {
		for _, v := range values {
			must.Do(t, binary.Write(&head, binary.LittleEndian, v))
		}
	}
	text := func(s string) { number(uint64(len(s)), []byte(s)) }
	head.WriteString("GGUF")
	number(uint32(3), uint64(len(m.names)), uint64(len(m.fields)))
	for _, field := range m.fields {
		text(field[0].(string))
		switch v := field[1].(type) {
		case uint32:
			number(uint32(4), v)
		case float32:
			number(uint32(6), v)
		case string:
			number(uint32(8))
			text(v)
		case []float32:
			number(uint32(9), uint32(6), uint64(len(v)), v)
		case []string:
			number(uint32(9), uint32(8), uint64(len(v)))
			for _, s := range v {
				text(s)
			}
		}
	}
	for _, name := range m.names {
		text(name)
		number(uint32(len(m.shapes[name])))
		for _, length := range slices.Backward(m.shapes[name]) {
			number(uint64(length))
		}
		number(m.kinds[name], uint64(data.Len()))
		data.Write(m.raw[name])
		data.Write(make([]byte, -data.Len()&31))
	}
	head.Write(make([]byte, -head.Len()&31))
	path := filepath.Join(t.TempDir(), "toy.gguf")
	must.Do(t, os.WriteFile(path, append(head.Bytes(), data.Bytes()...), 0o644))
	return path
}

// expected is what the model computes for each layer and token.
type expected struct {
	q, p, k, v [][][]float64
	logits     [][]float64 // of each token
}

func (m *toy) product(name string, x []float64) []float64 {
	w := m.weights[name+".weight"]
	y := make([]float64, len(w)/len(x))
	for i := range y {
		for j := range x {
			y[i] += w[i*len(x)+j] * x[j]
		}
	}
	for i, b := range m.weights[name+".bias"] {
		y[i] += b
	}
	return y
}

func (m *toy) norm(name string, x []float64) []float64 {
	sum := 0.0
	for _, a := range x {
		sum += a * a
	}
	y := make([]float64, len(x))
	for i, a := range x {
		y[i] = a / math.Sqrt(sum/float64(len(x))+toyEps) * m.weights[name+".weight"][i]
	}
	return y
}

// heads projects x, norms the heads of it in models that do, and turns them by RoPE.
func (m *toy) heads(name string, x []float64, at int) []float64 {
	y := m.product(name, x)
	for head := 0; head < len(y); head += m.size {
		h := y[head:][:m.size]
		if m.arch == "qwen3" {
			copy(h, m.norm(name+"_norm", h))
		}
		for i := range m.size / 2 {
			a, b := &h[i], &h[i+m.size/2]
			if m.arch == "llama" {
				a, b = &h[2*i], &h[2*i+1]
			}
			sin, cos := math.Sincos(float64(at) * math.Pow(toyTheta, -2*float64(i)/float64(m.size)))
			*a, *b = *a*cos-*b*sin, *a*sin+*b*cos
		}
	}
	return y
}

func add(x, y []float64) []float64 {
	z := slices.Clone(x)
	for i := range y {
		z[i] += y[i]
	}
	return z
}

func (m *toy) compute(tokens []int) (e expected) {
	x := make([][]float64, len(tokens))
	for i, token := range tokens {
		x[i] = m.weights["token_embd.weight"][token*toyWidth:][:toyWidth]
	}
	before := x
	for layer := range toyLayers {
		blk := fmt.Sprintf("blk.%d.", layer)
		var q, p, k, v, out [][]float64
		for i := range x {
			h := m.norm(blk+"attn_norm", x[i])
			q = append(q, m.heads(blk+"attn_q", h, i))
			k = append(k, m.heads(blk+"attn_k", h, i))
			v = append(v, m.product(blk+"attn_v", h))
			p = append(p, m.heads(blk+"attn_q", m.norm(blk+"attn_norm", before[i]), i))
			y := add(x[i], m.product(blk+"attn_output", m.attend(q[i], k, v)))
			h = m.norm(blk+"ffn_norm", y)
			gate, up := m.product(blk+"ffn_gate", h), m.product(blk+"ffn_up", h)
			for j, g := range gate {
				up[j] *= g / (1 + math.Exp(-g))
			}
			out = append(out, add(y, m.product(blk+"ffn_down", up)))
		}
		e.q, e.p, e.k, e.v = append(e.q, q), append(e.p, p), append(e.k, k), append(e.v, v)
		before, x = x, out
	}
	for i := range x {
		m.weights["head.weight"] = m.weights["token_embd.weight"]
		e.logits = append(e.logits, m.product("head", m.norm("output_norm", x[i])))
	}
	return e
}

func (m *toy) attend(q []float64, k, v [][]float64) (out []float64) {
	for head := range toyHeads {
		part := head / (toyHeads / toyKV) * m.size
		keys, values := make([][]float64, len(k)), make([][]float64, len(v))
		for i := range k {
			keys[i], values[i] = k[i][part:][:m.size], v[i][part:][:m.size]
		}
		out = append(out, attend(q[head*m.size:][:m.size], keys, values, 1/math.Sqrt(float64(m.size)))...)
	}
	return out
}

// attend returns softmax(scale * q k) v.
func attend[F float32 | float64](q []F, keys, values [][]F, scale float64) []float64 {
	out, sum := make([]float64, len(q)), 0.0
	for i, key := range keys {
		score := 0.0
		for j := range q {
			score += float64(q[j]) * float64(key[j])
		}
		weight := math.Exp(score * scale)
		sum += weight
		for j := range q {
			out[j] += weight * float64(values[i][j])
		}
	}
	for j := range out {
		out[j] /= sum
	}
	return out
}

// near compares a row with what it should be; the difference is a share of the largest number.
func near[F float32 | float64](t *testing.T, what string, got []F, want []float64, share float64) {
	t.Helper()
	largest := 0.0
	for _, x := range want {
		largest = max(largest, math.Abs(x))
	}
	for i := range want {
		if !(math.Abs(float64(got[i])-want[i]) <= share*largest) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

func (m *toy) compare(t *testing.T, s *Shape, heads []Head, tokens []int) {
	t.Helper()
	e, group := m.compute(tokens), s.Group()*m.size
	const share = 2e-3
	for _, h := range heads {
		for step := range s.Steps {
			at := s.Prompt + step
			for part, rows := range map[string][2][]float64{
				"query":     {e.q[h.Layer][at], widen(h.Queries[step*group:][:group])},
				"predicted": {e.p[h.Layer][at], widen(h.Predicted[step*group:][:group])},
			} {
				near(t, fmt.Sprintf("layer %d, KV head %d, %s %d", h.Layer, h.KV, part, step), rows[1],
					rows[0][h.KV*group:][:group], share)
			}
		}
		for at := range tokens {
			what := fmt.Sprintf("layer %d, KV head %d, token %d", h.Layer, h.KV, at)
			near(t, what+", key", h.Key(at), e.k[h.Layer][at][h.KV*m.size:][:m.size], share)
			near(t, what+", value", h.Value(at), e.v[h.Layer][at][h.KV*m.size:][:m.size], share)
		}
	}
}

func widen(row []float32) []float64 {
	wide := make([]float64, len(row))
	for i, x := range row {
		wide[i] = float64(x)
	}
	return wide
}

// randomTokens are more than the recorder computes at a time.
func randomTokens(words int) []int {
	r := rand.New(rand.NewPCG(3, 4))
	tokens := make([]int, 140)
	for i := range tokens {
		tokens[i] = 2 + r.IntN(words-2)
	}
	return tokens
}

func TestToolRecordsGGUF(t *testing.T) {
	python := interpreter.Python(t, "numpy")
	tokens := randomTokens(toyWords)
	for arch, size := range map[string]int{"llama": 8, "qwen2": 8, "qwen3": 16} {
		m := newToy(arch, size)
		path, dir := m.write(t), t.TempDir()
		args := []string{path, "--tokens", listOf(t, tokens), "--context", "131", "--steps", "9"}
		s, heads := record(t, python, filepath.Join(dir, "all"), args...)
		want := Shape{Model: "toy", Layers: []int{0, 1, 2}, QueryHeads: toyHeads, KVHeads: toyKV, Dim: size, Prompt: 131,
			Steps: 9, Predicted: true, Scale: 1 / math.Sqrt(float64(size))}
		if s.String() != want.String() || s.Model != want.Model || s.Scale != want.Scale {
			t.Errorf("%s: %+v, want %+v", arch, s, want)
		}
		m.compare(t, s, heads, tokens)

		s, some := record(t, python, filepath.Join(dir, "some.safetensors"), append(args, "--layers", "2,0-1",
			"--no-predicted")...)
		want.Predicted = false
		if s.String() != want.String() || s.Model != want.Model || s.Scale != want.Scale {
			t.Errorf("%s, safetensors: %+v, want %+v", arch, s, want)
		}
		for i, h := range some {
			if len(h.Predicted) > 0 || !slices.Equal(h.Queries, heads[i].Queries) ||
				!slices.Equal(h.Keys, heads[i].Keys) || !slices.Equal(h.Values, heads[i].Values) {
				t.Errorf("%s: head %d of the tensors differs from that of the folder", arch, i)
			}
		}
	}
}

// TestToolDecodesGreedily has every step read the likeliest token but the end of the text.
func TestToolDecodesGreedily(t *testing.T) {
	python := interpreter.Python(t, "numpy")
	m, out := newToy("llama", 8), filepath.Join(t.TempDir(), "greedy")
	prompt := randomTokens(toyWords)[:130]
	s, heads := record(t, python, out, m.write(t), "--tokens", listOf(t, prompt), "--context", "130", "--steps", "9",
		"--decode", "greedy")
	tokens := tokensIn(t, out)
	m.compare(t, s, heads, tokens)
	logits := m.compute(tokens).logits
	for step, token := range tokens[130:] {
		before := logits[129+step]
		before[1] = math.Inf(-1)
		if likeliest := slices.Index(before, slices.Max(before)); token != likeliest {
			t.Errorf("step %d reads token %d, want %d", step, token, likeliest)
		}
	}
}

// TestToolReadsBlocks compares blocks of weights with what the package gguf 0.19.0 of llama.cpp makes of them: the
// first number, the last one, and the sum of all, each times its place.
func TestToolReadsBlocks(t *testing.T) {
	const program = `
import importlib.util, sys
import numpy as np
spec = importlib.util.spec_from_file_location("tool", sys.argv[1])
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)
for name, _, size, decode in tool.TYPES.values():
    x = decode(((np.arange(3 * size) * 73 + 41) % 121).astype(np.uint8).reshape(3, size)).ravel().astype(float)
    print(name, "%.6g %.6g %.6g" % (x[0], x[-1], x @ np.arange(1, len(x) + 1)))
`
	const want = `F32 6.13563e-28 8.79058e+32 2.63717e+33
F16 12616 0.0574646 12616.2
Q4_0 -75696 -193.312 -2.22776e+07
Q4_1 138776 0.01346 3.34451e+07
Q5_0 -151392 -11.127 -2.92912e+07
Q5_1 252320 5264 2.66207e+08
Q8_0 832656 699072 3.33704e+09
Q4_K 2.72506e+06 -89358.6 4.80062e+10
Q5_K 1.36253e+06 -6.91238 1.06934e+11
Q6_K -132.542 -941724 -6.40441e+10
BF16 3.34739e+30 7.78044e-13 3.34739e+30
`
	out := must.Get(exec.Command(interpreter.Python(t, "numpy"), "-c", program, recorder).Output())(t)
	if string(out) != want {
		t.Errorf("blocks have\n%swant\n%s", out, want)
	}
}

func TestToolReadsText(t *testing.T) {
	python := interpreter.Python(t, "numpy")
	letters := strings.Fields("<s> </s> <unk> h e l o w r d ▁ Ġ 1 2 he ll hell hello ▁w or ▁wor ▁worl <0xC3> <0xA9> Ġw " +
		"Ã © Ã©")
	ids := func(names string) (list []int) {
		for name := range strings.SplitSeq(names, " ") {
			list = append(list, slices.Index(letters, name))
		}
		return list
	}
	scores := make([]float32, len(letters))
	for i := range scores {
		scores[i] = -float32(i)
	}
	merges := []string{"h e", "l l", "he ll", "hell o", "o r", "Ġ w", "Ã ©"}
	for _, test := range []struct {
		kind, rule, text, want string
	}{
		{"llama", "", "hello world é", "<s> ▁ hello ▁worl d ▁ <0xC3> <0xA9>"},
		{"gpt2", "gpt-2", "hello world é12", "hello Ġw or l d Ġ Ã© 1 2"},
		{"gpt2", "smollm", "\ufeffhello  12", "hello Ġ Ġ 1 2"},
		{"gpt2", "llama-bpe", "lloh 1", "ll o h Ġ 1"},
		{"gpt2", "qwen2", "helloo", "hello o"},
	} {
		m, dir := newToy("llama", 8), t.TempDir()
		m.fields = append(m.fields, [][2]any{{"tokenizer.ggml.model", test.kind}, {"tokenizer.ggml.tokens", letters},
			{"tokenizer.ggml.scores", scores}, {"tokenizer.ggml.merges", merges}, {"tokenizer.ggml.pre", test.rule},
			{"tokenizer.ggml.bos_token_id", uint32(0)}}...)
		text := filepath.Join(dir, "text")
		must.Do(t, os.WriteFile(text, []byte(test.text), 0o644))
		want := ids(test.want)
		record(t, python, filepath.Join(dir, "out"), m.write(t), "--text", text, "--steps", "1",
			"--context", fmt.Sprint(len(want)-1))
		if got := tokensIn(t, filepath.Join(dir, "out")); !slices.Equal(got, want) {
			t.Errorf("%s %s: %q is the tokens %v, want %v", test.kind, test.rule, test.text, got, want)
		}
	}
}

// refused runs the recorder, which must refuse to record and leave nothing behind.
func refused(t *testing.T, python, want string, args ...string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	text, err := exec.Command(python, append([]string{recorder, "-o", out}, args...)...).CombinedOutput()
	exit, ok := err.(*exec.ExitError)
	if !ok || exit.ExitCode() != 2 || !strings.Contains(string(text), want) ||
		strings.Contains(string(text), "Traceback") {
		t.Errorf("%v: %v and %s\nwant exit code 2 and %q", args, err, text, want)
	}
	if left, _ := filepath.Glob(out + "*"); left != nil {
		t.Errorf("%v leaves %v", args, left)
	}
}

func TestToolRefuses(t *testing.T) {
	python := interpreter.Python(t, "numpy")
	m := newToy("llama", 8)
	model, tokens := m.write(t), listOf(t, randomTokens(toyWords))
	content := must.Get(os.ReadFile(model))(t)
	file := func(name string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		must.Do(t, os.WriteFile(path, content, 0o644))
		return path
	}
	changed := func(from, to string) string {
		return file("other.gguf", bytes.ReplaceAll(content, []byte(from), []byte(to)))
	}
	short := []string{"--context", "9", "--steps", "1"}
	for _, test := range []struct {
		want string
		args []string
	}{
		{"has 140 tokens, but 140 of prompt and 1 steps need 141", []string{model, "--tokens", tokens, "--context", "140",
			"--steps", "1"}},
		{"the model reads at most 200 tokens", []string{model, "--tokens", tokens}},
		{"the model has no layer 3, it has layers 0 to 2", append([]string{model, "--tokens", tokens, "--layers", "1-3"},
			short...)},
		{"want all, or numbers and ranges", []string{model, "--tokens", tokens, "--layers", "1-"}},
		{"want a number from 1 on", []string{model, "--tokens", tokens, "--steps", "0"}},
		{"want a list of token ids, integers from 0 to 47", append([]string{model, "--tokens", listOf(t, []int{48})},
			short...)},
		{"want token ids, as numpy.save writes them", append([]string{model, "--tokens", model}, short...)},
		{"has no field tokenizer.ggml.model", append([]string{model, "--text", file("text", nil)}, short...)},
		{"leave them out", []string{model, "--tokens", tokens, "--device", "cpu"}},
		{"No such file", []string{"absent.gguf", "--tokens", tokens}},
		{"want a file of GGUF", []string{file("empty.gguf", nil), "--tokens", tokens}},
		{"cut off or damaged", append([]string{file("cut.gguf", content[:99]), "--tokens", tokens}, short...)},
		{"is cut off or damaged", append([]string{file("cut.gguf", content[:len(content)-64]), "--tokens", tokens},
			short...)},
		{"architecture lemma: want llama", append([]string{changed("llama", "lemma"), "--tokens", tokens}, short...)},
		{"has no tensor blk.1.ffn_gate.weight", append([]string{changed("1.ffn_gate", "1.ffn_cate"), "--tokens", tokens},
			short...)},
	} {
		refused(t, python, test.want, test.args...)
	}

	args := append([]string{recorder, model, "--tokens", tokens, "-o", filepath.Dir(model)}, short...)
	if text, err := exec.Command(python, args...).CombinedOutput(); err == nil ||
		!strings.Contains(string(text), "exists: name another output") || bytes.Contains(text, []byte("Traceback")) {
		t.Errorf("a folder that exists: %v, %s", err, text)
	}
	far := newToy("llama", 8)
	far.raw["blk.1.attn_v.weight"] = bytes.Repeat([]byte{0, 0x50, 0xc3, 0x47}, 2*8*32) // 100 000.6
	refused(t, python, "a value has numbers that are not finite, or beyond 65504",
		append([]string{far.write(t), "--tokens", tokens}, short...)...)
}

// models makes models of transformers in a folder, prints what they compute, and records their attention. One process
// does it all, as torch takes seconds to begin.
const models = `
import importlib.util, json, sys
import torch
import transformers
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

spec = importlib.util.spec_from_file_location("tool", sys.argv[1])
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)
torch.set_num_threads(1)

dir, path, steps = sys.argv[2], sys.argv[3], 9
tokens = torch.from_numpy(tool.np.load(path)).long()[None]
common = dict(vocab_size=48, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
              num_key_value_heads=2, max_position_embeddings=256, initializer_range=0.3, bos_token_id=0, eos_token_id=1,
              pad_token_id=0)
kinds = {"Llama": dict(head_dim=16), "Qwen2": {}, "Mistral": dict(sliding_window=None), "Gemma": dict(head_dim=8),
         "Qwen3": dict(head_dim=8), "Phi3": {}, "Gemma2": dict(head_dim=8, sliding_window=9),
         "GPT2": dict(n_embd=32, n_layer=3, n_head=4), "no model": None}


def record(model, *more):
    args = [dir + "/" + model, "--tokens", path, "--context", "131", "--steps", str(steps), "-o", dir + "/" + model]
    args[-1] += more[-1] + "-trace" if more else "-trace"
    try:
        tool.record(tool.options().parse_args([*args, *more]))
    except tool.Refused as e:
        return str(e)


def compute(model):
    outputs, predicted = [], []
    for layer in model.model.layers:
        layer.self_attn.o_proj.register_forward_pre_hook(lambda _, args: outputs.append(args[0][0, -steps:].tolist()))
    states = model(tokens, output_hidden_states=True).hidden_states
    if type(model).__name__ == "LlamaForCausalLM":
        cos, sin = model.model.rotary_emb(states[0], torch.arange(tokens.shape[1])[None])
        for i, layer in enumerate(model.model.layers):
            q = layer.self_attn.q_proj(layer.input_layernorm(states[max(0, i - 1)]))
            q = q.view(1, -1, 4, 16).transpose(1, 2)
            q = apply_rotary_pos_emb(q, q, cos, sin)[0].transpose(1, 2)[0, -steps:]
            predicted.append(q.reshape(steps, -1).tolist())
    return dict(outputs=outputs, predicted=predicted)


sys.stdout, out = sys.stderr, sys.stdout
for kind, own in kinds.items():
    result = {}
    if own is not None:
        torch.manual_seed(1)
        config = getattr(transformers, kind + "Config")(**common, **own)
        config._attn_implementation = "eager"
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
        model.save_pretrained(dir + "/" + kind)
        if kind != "GPT2":
            with torch.no_grad():
                result = compute(model)
    json.dump(dict(kind=kind, refused=record(kind), **result), out)
record("Llama", "--decode", "greedy")
path = dir + "/Llamagreedy-trace/tokens.npy"
record("Llama", "--decode", "text")
`

// TestToolRecordsTransformers computes the output of attention from the trace and compares it with that of the model:
// they differ if RoPE is missing, or if heads or tokens are confused.
func TestToolRecordsTransformers(t *testing.T) {
	if testing.Short() {
		t.Skip("torch takes seconds to begin")
	}
	python := interpreter.Python(t, "torch, transformers")
	tokens, dir := randomTokens(48), t.TempDir()
	var problems bytes.Buffer
	program := exec.Command(python, "-c", models, recorder, dir, listOf(t, tokens))
	program.Stderr = &problems
	out, err := program.Output()
	if err != nil {
		t.Fatal(err, problems.String())
	}
	refused := map[string]string{"Gemma2": "layer 0 attends to the latest tokens only", "GPT2": "has no rotary embedding",
		"no model": "transformers cannot load it as a causal model"}
	results := json.NewDecoder(bytes.NewReader(out))
	for range 9 {
		var model struct {
			Kind, Refused      string
			Outputs, Predicted [][][]float64
		}
		must.Do(t, results.Decode(&model))
		if why := refused[model.Kind]; why != "" || model.Refused != "" {
			if why == "" || !strings.Contains(model.Refused, why) {
				t.Errorf("%s is refused because %q, want %q", model.Kind, model.Refused, why)
			}
			continue
		}
		s, heads := recorded(t, filepath.Join(dir, model.Kind+"-trace"))
		if len(s.Layers) != 3 || s.QueryHeads != 4 || s.KVHeads != 2 || s.Prompt != 131 || s.Steps != 9 {
			t.Errorf("%s: %s", model.Kind, s)
		}
		compareOutputs(t, model.Kind, s, heads, model.Outputs)
		for _, h := range heads {
			for step := range s.Steps {
				if len(model.Predicted) > 0 {
					near(t, fmt.Sprintf("layer %d, KV head %d, predicted %d", h.Layer, h.KV, step),
						h.Predicted[step*2*s.Dim:][:2*s.Dim], model.Predicted[h.Layer][step][h.KV*2*s.Dim:][:2*s.Dim], 2e-3)
				}
			}
		}
	}

	greedy, again := filepath.Join(dir, "Llamagreedy-trace"), filepath.Join(dir, "Llamatext-trace")
	_, heads := recorded(t, greedy)
	_, same := recorded(t, again)
	for i := range heads {
		near(t, "queries of greedy decoding", heads[i].Queries, widen(same[i].Queries), 2e-3)
		near(t, "keys of greedy decoding", heads[i].Keys, widen(same[i].Keys), 2e-3)
	}
	if slices.Equal(tokensIn(t, greedy), tokens) {
		t.Error("greedy decoding reads the text")
	}
}

func compareOutputs(t *testing.T, kind string, s *Shape, heads []Head, outputs [][][]float64) {
	t.Helper()
	for _, h := range heads {
		for step := range s.Steps {
			var keys, values [][]float32
			for token := range s.Visible(step) {
				keys, values = append(keys, h.Key(token)), append(values, h.Value(token))
			}
			for j := range s.Group() {
				want := outputs[h.Layer][step][(h.KV*s.Group()+j)*s.Dim:][:s.Dim]
				near(t, fmt.Sprintf("%s: output of layer %d, KV head %d, query head %d at step %d", kind, h.Layer, h.KV, j,
					step), attend(h.Query(step, j), keys, values, s.Scale), want, 1e-2)
			}
		}
	}
}
