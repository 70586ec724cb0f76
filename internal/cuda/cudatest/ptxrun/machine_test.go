package ptxrun

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/cudatest/ptx"
)

const empty = ".version 7.0\n.target sm_70\n.address_size 64\n"

// TestRefusals loads texts that cannot be run; each has one error, with its line.
func TestRefusals(t *testing.T) {
	body := func(code string) string {
		return empty + ".visible .entry k(.param .u64 a) {\n.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<4>;\n" +
			code + "\n}\n"
	}
	for ptx, want := range map[string]string{
		"":                                        "names no .target",
		"\x00":                                    "line 1: invalid character NUL",
		".version 7.0\n.target sm_90\n":           "need compute capability 9.0, the device has 8.0",
		empty + ".address_size 32":                `addresses have "32" bits`,
		empty + "hello":                           `line 4: unexpected "hello" outside of kernels`,
		empty + ".visible .entry k(":              "the text ends too early",
		empty + ".entry k() { /* ":                "comment not terminated",
		empty + ".shared .b8 x[99999999999];":     "is no number from 0 to",
		empty + ".shared .b8 x[60000][60000];":    "has more than 232448 bytes",
		empty + ".shared .align 3 .b8 x;":         "is no power of two",
		body("frobnicate.u32 %r1, %r2;"):          "line 6: unknown instruction frobnicate.u32",
		body("add.u32.x %r1, %r2, %r3;"):          "unknown instruction add.u32.x",
		body("add.u32 %r1, %r2;"):                 "2 operands, expected 3",
		body("add.u32 %r1, %r2, %r99;"):           `unknown operand "%r99"`,
		body("add.u64 %r1, %rd2, %rd3;"):          "the result has 64 bits, %r1 has 32",
		body("div.approx.f32 %r1, %r2, %r3;"):     "unknown instruction div.approx.f32",
		body("mul.f32 %r1, %r2, %r3;"):            "unknown instruction mul.f32",
		body("mov.u32 %r1, %clock;"):              `unknown operand "%clock"`,
		body("bra $nowhere;"):                     `unknown label "$nowhere"`,
		body("$a: $a: ret;"):                      "label $a is there twice",
		body("@%r1 ret;"):                         "has the wrong type",
		body("ld.global.v3.u32 %r1, [%rd1];"):     "unknown instruction ld.global.v3.u32",
		body("ld.global.u64 %r1, [%rd1];"):        "the result has 64 bits, %r1 has 32",
		body("st.global.u32 %rd1, %r1;"):          "an address is expected in brackets",
		body("call.uni nothing;"):                 "unknown instruction call.uni",
		body("bar.arrive 0, 64;"):                 "unknown instruction bar.arrive",
		body(".reg .b32 %x<999999>;"):             "is no number from 0 to 32768",
		body(".local .b8 big[70000];"):            "is no number from 0 to 65536",
		body(strings.Repeat("{", 100)):            "braces within more than 64 others",
		body("add.u32 %r1, %r2, [[[[[[[1;"):       `unexpected "[", expected an operand`,
		body(".local .b8 a[4]; .local .b8 a[4];"): "a is declared twice",
	} {
		_, err := New(Options{}).Load([]byte(ptx))
		must.Fail(t, err, want, ptx)
	}
}

// TestMemoryOfTheDevice does with memory what callers may and may not.
func TestMemoryOfTheDevice(t *testing.T) {
	m := New(Options{Memory: 1000})
	expect := func(err error, want string) {
		t.Helper()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	p, err := m.Alloc(600)
	expect(err, "")
	_, err = m.Alloc(401)
	expect(err, "out of memory: no memory for 401 bytes: the device has 400 free")
	_, err = m.Alloc(0)
	expect(err, "an allocation of 0 bytes")
	b := make([]byte, 10)
	expect(m.Read(b, p), "the byte at 0 of allocation 1 is read, which nobody wrote")
	expect(m.Write(p+5, []byte("abcde")), "")
	expect(m.Read(b[:5], p+5), "")
	expect(m.Read(b, p+5), "the byte at 10 of")
	expect(m.Fill(p+10, 7, 590), "")
	expect(m.Read(b, p+5), "")
	if string(b) != "abcde\a\a\a\a\a" {
		t.Errorf("the memory has %q", b)
	}
	expect(m.Fill(p+10, 7, 591), "591 bytes at 10 of allocation 1, which has 600")
	expect(m.Write(p+599, b), "which has 600")
	expect(m.Write(7, b), "in no allocation")
	expect(m.Free(p+1), "1 bytes behind the start")
	expect(m.Free(p), "")
	expect(m.Free(p), "which was freed")
	expect(m.Read(b, p), "which was freed")
	free, total, err := m.Memory()
	if free != 1000 || total != 1000 || err != nil {
		t.Errorf("%d of %d bytes are free, %v", free, total, err)
	}
	expect(m.Close(), "")
	_, err = m.Alloc(10)
	expect(err, "the device is closed")
}

// TestLaunches starts kernels with arguments and grids that do not fit, and one that uses memory that was freed.
func TestLaunches(t *testing.T) {
	m := New(Options{})
	module := must.Get(m.Load(violations))(t)
	in := must.Get(cuda.Upload(m, numbers(64)))(t)
	grid := cuda.Grid{Blocks: 1, Threads: 64}
	for _, c := range []struct {
		kernel    string
		grid      cuda.Grid
		arguments []any
		want      string
	}{
		{"none", grid, nil, `no kernel "none"`},
		{"good_count", grid, []any{in}, "1 arguments; it has 2 parameters"},
		{"good_count", grid, []any{in, uint32(1)}, "argument 1 has 4 bytes, the parameter good_count_param_1 has 8"},
		{"good_count", grid, []any{in, "x"}, "argument 1 is a string"},
		{"good_count", cuda.Grid{Blocks: 0, Threads: 64}, []any{in, in}, "0 blocks"},
		{"good_count", cuda.Grid{Blocks: 1, Threads: 33}, []any{in, in}, "a multiple of 32"},
	} {
		must.Fail(t, module.Launch(c.kernel, c.grid, c.arguments...), c.want)
	}
	must.Do(t, m.Free(in))
	if err := module.Launch("good_reverse", grid, in, in); err != nil {
		t.Fatal("an error of a kernel is reported by the next call, not by", err)
	}
	must.Fail(t, m.Sync(), "which was freed")
	if _, err := m.Alloc(10); err == nil {
		t.Error("the device works after an error of a kernel")
	}
}

// TestLostDevice fails each call in turn, and all that follow.
func TestLostDevice(t *testing.T) {
	calls := func(m *Machine) (errs []error) {
		_, err := m.Alloc(10)
		errs = append(errs, err)
		_, _, err = m.Memory()
		_, err2 := m.Load([]byte(empty))
		return append(errs, err, err2, m.Sync())
	}
	for n := range 5 {
		for i, err := range calls(New(Options{Fail: n})) {
			if lost := n > 0 && i+1 >= n; lost != errors.Is(err, ErrLost) || !lost && err != nil {
				t.Errorf("failing from call %d: call %d has error %v", n, i+1, err)
			}
		}
	}
}

// FuzzLoad loads texts, and runs kernels without parameters: errors are fine, panics and endless runs are not.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.ptx")
	if err != nil || len(files) == 0 {
		f.Fatal("no kernels", err)
	}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(f)
		f.Add(text[:min(len(text), 6000)])
	}
	for _, body := range []string{"@!%p1 bra $a; $a: shfl.sync.idx.b32 %r1, %r2, 3, 31, -1;",
		"ld.global.v2.u32 {%r1, %r2}, [%rd1+-8];", "bar.sync 1, 64;", "$a: bra $a;",
		".local .align 8 .b8 l[16]; st.local.v2.u32 [l+8], {%r1, 0f3F800000};"} {
		f.Add(snippet(body))
		f.Add([]byte(strings.Replace(string(snippet(body)), "(.param .u64 column)", "()", 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		const most = 2000 // instructions of a launch
		parsed, err := ptx.Parse(string(text))
		if err != nil {
			return
		}
		m := New(Options{Memory: 1 << 20, Instructions: most, Seed: 1})
		module, err := m.Load(text)
		if err != nil {
			return
		}
		for name := range parsed.Kernels {
			if err := module.Launch(name, cuda.Grid{Blocks: 2, Threads: 64}); err == nil {
				if err := m.Sync(); err != nil {
					break
				}
			}
		}
		if n := m.Executed(); n > most*int64(len(parsed.Kernels)) {
			t.Errorf("%d kernels executed %d instructions, want at most %d each", len(parsed.Kernels), n, most)
		}
	})
}
