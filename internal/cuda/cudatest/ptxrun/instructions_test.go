package ptxrun

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/cuda"
)

// single returns a kernel that executes some instructions with the words a, b, c and d of each thread, which are in
// registers of all types with the numbers 1 to 4, and writes the register of the result, which has the number 9.
func single(body string) string {
	load := ""
	for i := 1; i <= 4; i++ {
		load += fmt.Sprintf(`ld.global.u64 %%rd%[1]d, [%%rd20+%[2]d];
cvt.u32.u64 %%r%[1]d, %%rd%[1]d; cvt.u16.u64 %%rs%[1]d, %%rd%[1]d;
mov.b32 %%f%[1]d, %%r%[1]d; mov.b64 %%fd%[1]d, %%rd%[1]d;
and.b64 %%rd21, %%rd%[1]d, 1; setp.ne.u64 %%p%[1]d, %%rd21, 0;
`, i, 8*(i-1))
	}
	store := map[string]string{"%rd9": "mov.b64 %rd22, %rd9;", "%r9": "cvt.u64.u32 %rd22, %r9;",
		"%rs9": "cvt.u64.u16 %rd22, %rs9;", "%f9": "mov.b32 %r22, %f9; cvt.u64.u32 %rd22, %r22;",
		"%fd9": "mov.b64 %rd22, %fd9;", "%p9": "selp.u64 %rd22, 1, 0, %p9;"}
	result := regexp.MustCompile(`%(rd|rs|r|fd|f|p)9\b`).FindString(body)
	return `.version 7.0
.target sm_80
.address_size 64
.visible .entry single(.param .u64 in, .param .u64 out) {
.reg .pred %p<16>; .reg .b16 %rs<16>; .reg .b32 %r<32>; .reg .f32 %f<16>; .reg .b64 %rd<32>; .reg .f64 %fd<16>;
.shared .align 8 .b64 s[64]; .local .align 16 .b8 l[64];
ld.param.u64 %rd20, [in]; ld.param.u64 %rd30, [out];
mov.u32 %r20, %tid.x; mul.wide.u32 %rd23, %r20, 32; add.u64 %rd20, %rd20, %rd23;
mul.wide.u32 %rd24, %r20, 8; add.u64 %rd30, %rd30, %rd24;
` + load + body + "\n" + store[result] + "\nst.global.u64 [%rd30], %rd22;\nret;\n}\n"
}

// compute runs the kernel single.
func compute(o Options, body string, in []uint64) ([]uint64, error) {
	m := New(o)
	module, err := m.Load([]byte(single(body)))
	if err != nil {
		return nil, err
	}
	from, err := cuda.Upload(m, in)
	if err != nil {
		return nil, err
	}
	to, err := m.Alloc(int64(2 * len(in)))
	if err != nil {
		return nil, err
	}
	if err := module.Launch("single", cuda.Grid{Blocks: 1, Threads: len(in) / 4}, from, to); err != nil {
		return nil, err
	}
	out := make([]uint64, len(in)/4)
	return out, cuda.Download(m, out, to)
}

func f32(x float64) uint64 { return uint64(math.Float32bits(float32(x))) }
func f64(x float64) uint64 { return math.Float64bits(x) }

// TestInstructions runs instructions with numbers for which the PTX ISA says what comes out.
func TestInstructions(t *testing.T) {
	for _, c := range []struct {
		body       string
		a, b, c, d uint64
		want       uint64
	}{
		// whole numbers
		{"add.u16 %rs9, %rs1, %rs2;", 0xffff, 2, 0, 0, 1},
		{"sub.s32 %r9, %r1, %r2;", 1, 2, 0, 0, 0xffffffff},
		{"mul.hi.s32 %r9, %r1, %r2;", 0xffffffff, 5, 0, 0, 0xffffffff},
		{"mul.hi.u16 %rs9, %rs1, %rs2;", 0xffff, 0xffff, 0, 0, 0xfffe},
		{"mul.hi.s64 %rd9, %rd1, %rd2;", math.MaxUint64, 3, 0, 0, math.MaxUint64},
		{"mul.wide.s16 %r9, %rs1, %rs2;", 0xffff, 5, 0, 0, 0xfffffffb},
		{"mul.wide.s32 %rd9, %r1, -3;", 7, 0, 0, 0, math.MaxUint64 - 20},
		{"mad.lo.u32 %r9, %r1, %r2, %r3;", 1 << 31, 2, 9, 0, 9},
		{"mad.hi.u32 %r9, %r1, %r2, %r3;", 1 << 31, 2, 9, 0, 10},
		{"div.s32 %r9, %r1, %r2;", 0xfffffff9, 2, 0, 0, 0xfffffffd},
		{"rem.s32 %r9, %r1, %r2;", 0xfffffff9, 2, 0, 0, 0xffffffff},
		{"div.u64 %rd9, %rd1, 10;", math.MaxUint64, 0, 0, 0, math.MaxUint64 / 10},
		{"abs.s32 %r9, %r1;", 0x80000000, 0, 0, 0, 0x80000000},
		{"neg.s64 %rd9, %rd1;", 1, 0, 0, 0, math.MaxUint64},
		{"min.s32 %r9, %r1, %r2;", 0xffffffff, 4, 0, 0, 0xffffffff},
		{"max.u32 %r9, %r1, %r2;", 0xffffffff, 4, 0, 0, 0xffffffff},
		{"shl.b32 %r9, %r1, %r2;", 3, 32, 0, 0, 0},
		{"shl.b64 %rd9, %rd1, %r2;", 3, 63, 0, 0, 1 << 63},
		{"shr.u32 %r9, %r1, %r2;", 1 << 31, 40, 0, 0, 0},
		{"shr.s32 %r9, %r1, %r2;", 1 << 31, 40, 0, 0, 0xffffffff},
		{"shr.s16 %rs9, %rs1, %r2;", 0x8000, 3, 0, 0, 0xf000},
		{"popc.b64 %r9, %rd1;", 0xf0f0, 0, 0, 0, 8},
		{"clz.b32 %r9, %r1;", 0, 0, 0, 0, 32},
		{"clz.b64 %r9, %rd1;", 1, 0, 0, 0, 63},
		{"bfe.u32 %r9, %r1, 4, 8;", 0xabcdef, 0, 0, 0, 0xde},
		{"bfe.s32 %r9, %r1, 4, 8;", 0xabcdef, 0, 0, 0, 0xffffffde},
		{"bfe.u32 %r9, %r1, 28, 8;", 0xf0000000, 0, 0, 0, 15},
		{"bfe.s64 %rd9, %rd1, 60, 4;", 9 << 60, 0, 0, 0, math.MaxUint64 - 6},
		{"shf.l.wrap.b32 %r9, %r1, %r2, 36;", 0xf0000000, 1, 0, 0, 0x1f},
		{"not.b16 %rs9, %rs1;", 1, 0, 0, 0, 0xfffe},
		{"selp.b32 %r9, %r1, %r2, %p3;", 5, 6, 1, 0, 5},
		// comparisons and predicates
		{"setp.lt.s32 %p9, %r1, %r2;", 0xffffffff, 0, 0, 0, 1},
		{"setp.lt.u32 %p9, %r1, %r2;", 0xffffffff, 0, 0, 0, 0},
		{"and.pred %p9, %p1, %p2;", 1, 1, 0, 0, 1},
		{"not.pred %p9, %p1;", 1, 0, 0, 0, 0},
		{"mov.pred %p9, -1;", 0, 0, 0, 0, 1},
		{"mov.u32 %r9, 1; @%p1 mov.u32 %r9, 2;", 1, 0, 0, 0, 2},
		{"mov.u32 %r9, 1; @!%p1 mov.u32 %r9, 2;", 1, 0, 0, 0, 1},
		// floating point
		{"add.rn.f32 %f9, %f1, %f2;", f32(0.1), f32(0.2), 0, 0, uint64(math.Float32bits(float32(0.1) + float32(0.2)))},
		{"div.rn.f64 %fd9, %fd1, %fd2;", f64(1), f64(3), 0, 0, f64(1.0 / 3)},
		{"fma.rn.f32 %f9, %f1, %f2, %f3;", 0x3f800001, 0x3f800001, f32(-1), 0, 0x34800000},
		{"rcp.rn.f64 %fd9, %fd1;", f64(3), 0, 0, 0, f64(1.0 / 3)},
		{"min.f32 %f9, %f1, %f2;", 0x7fc00000, f32(2), 0, 0, f32(2)},
		{"max.f64 %fd9, %fd1, %fd2;", f64(math.Copysign(0, -1)), 0, 0, 0, 0},
		{"neg.f32 %f9, %f1;", f32(2), 0, 0, 0, f32(-2)},
		{"abs.f64 %fd9, %fd1;", f64(-2), 0, 0, 0, f64(2)},
		{"mul.rn.f32 %f9, %f1, %f2;", 0x7f800000, 0, 0, 0, 0x7fffffff},
		{"setp.equ.f32 %p9, %f1, %f2;", 0x7fc00000, 0, 0, 0, 1},
		{"setp.ne.f32 %p9, %f1, %f2;", 0x7fc00000, 0, 0, 0, 0},
		{"setp.nan.f64 %p9, %fd1, %fd2;", f64(math.NaN()), 0, 0, 0, 1},
		// conversions
		{"cvt.s32.s8 %r9, %r1;", 0x1ff, 0, 0, 0, 0xffffffff},
		{"cvt.u32.u8 %r9, %r1;", 0x1ff, 0, 0, 0, 0xff},
		{"cvt.s64.s32 %rd9, %r1;", 0x80000000, 0, 0, 0, 0xffffffff80000000},
		{"cvt.rzi.s32.f32 %r9, %f1;", f32(-2.9), 0, 0, 0, 0xfffffffe},
		{"cvt.rzi.u32.f32 %r9, %f1;", f32(-7), 0, 0, 0, 0},
		{"cvt.rzi.s32.f32 %r9, %f1;", f32(1e20), 0, 0, 0, 0x7fffffff},
		{"cvt.rzi.s32.f32 %r9, %f1;", 0x7fc00000, 0, 0, 0, 0},
		{"cvt.rzi.s32.f64 %r9, %fd1;", f64(math.NaN()), 0, 0, 0, 0x80000000},
		{"cvt.rzi.u32.f64 %r9, %fd1;", f64(math.NaN()), 0, 0, 0, 0x80000000},
		{"cvt.rzi.s64.f32 %rd9, %f1;", 0x7fc00000, 0, 0, 0, 1 << 63},
		{"cvt.rn.f32.f64 %f9, %fd1;", f64(0.1), 0, 0, 0, f32(0.1)},
		{"cvt.f64.f32 %fd9, %f1;", f32(0.1), 0, 0, 0, f64(float64(float32(0.1)))},
		{"cvt.rn.f32.u64 %f9, %rd1;", 1<<40 + 1<<16 + 1, 0, 0, 0, f32(1<<40 + 1<<17)},
		{"cvt.rn.f16x2.f32 %r9, %f1, %f2;", f32(1), f32(-2), 0, 0, 0x3c00c000},
		// moves and memory
		{"ld.global.s8 %r9, [%rd20];", 0x80, 0, 0, 0, 0xffffff80},
		{"ld.global.u8 %rs9, [%rd20+1];", 0x8123, 0, 0, 0, 0x81},
		{"ld.global.v2.u32 {%r8, %r9}, [%rd20];", 5 << 32, 0, 0, 0, 5},
		{"ld.global.nc.v2.f64 {%fd8, %fd9}, [%rd20];", 0, 77, 0, 0, 77},
		{"ld.u64 %rd9, [%rd20+8];", 0, 78, 0, 0, 78},
		{"add.u64 %rd8, %rd20, 32; ld.volatile.global.u64 %rd9, [%rd8+-32];", 79, 0, 0, 0, 79},
		{"st.local.v2.u32 [l+8], {%r1, %r2}; ld.local.u64 %rd9, [l+8];", 1, 2, 0, 0, 2<<32 + 1},
		// control
		{"mov.u32 %r9, 7; bra $a; mov.u32 %r9, 8; $a:", 0, 0, 0, 0, 7},
		{"mov.u32 %r9, 0; $a: add.u32 %r9, %r9, %r2; sub.u32 %r1, %r1, 1; setp.ne.u32 %p8, %r1, 0; @%p8 bra.uni $a;",
			5, 3, 0, 0, 15},
		{"{ .reg .b32 %inner; add.u32 %inner, %r1, 1; mov.u32 %r9, %inner; }", 5, 0, 0, 0, 6},
		// atomic operations
		{"atom.global.add.u64 %rd9, [%rd20], 5;", 7, 0, 0, 0, 7},
		{"atom.global.min.u64 %rd8, [%rd20], %rd2; ld.global.u64 %rd9, [%rd20];", math.MaxUint64, 8, 0, 0, 8},
	} {
		in := make([]uint64, 4*32)
		for l := range 32 {
			copy(in[4*l:], []uint64{c.a, c.b, c.c, c.d})
		}
		got, err := compute(Options{}, c.body, in)
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		if got[0] != c.want {
			t.Errorf("%s: %#x, want %#x", c.body, got[0], c.want)
		}
	}
}

// TestUnwrittenRegisters reads a register that nothing was written to: the value depends on the seed, as PTX does not
// define it.
func TestUnwrittenRegisters(t *testing.T) {
	const body = "mov.u32 %r9, %r7;"
	one, err := compute(Options{Seed: 1}, body, make([]uint64, 4*32))
	other, failed := compute(Options{Seed: 2}, body, make([]uint64, 4*32))
	if err != nil || failed != nil || slices.Equal(one, other) || one[0] == one[1] {
		t.Errorf("%x and %x (%v, %v)", one, other, err, failed)
	}
}

// TestWarpInstructions runs what lanes do together; lane l has the words l, l/3, 100+l and l%5.
func TestWarpInstructions(t *testing.T) {
	in := make([]uint64, 4*32)
	for l := range uint64(32) {
		copy(in[4*l:], []uint64{l, l / 3, 100 + l, l % 5})
	}
	for _, c := range []struct {
		body string
		want func(l int) uint64
	}{
		{"shfl.sync.idx.b32 %r9, %r3, 5, 31, -1;", func(int) uint64 { return 105 }},
		{"shfl.sync.idx.b32 %r9, %r3, 9, 0x1807, -1;", func(l int) uint64 { return 100 + uint64(l&^7|1) }},
		{"shfl.sync.up.b32 %r9, %r3, 3, 0, -1;", func(l int) uint64 {
			if l < 3 {
				return uint64(100 + l)
			}
			return uint64(97 + l)
		}},
		{"shfl.sync.down.b32 %r9, %r3, 3, 31, -1;", func(l int) uint64 {
			if l > 28 {
				return uint64(100 + l)
			}
			return uint64(103 + l)
		}},
		{"shfl.sync.bfly.b32 %r9, %r3, %r4, 31, -1;", func(l int) uint64 { return 100 + uint64(l^l%5) }},
		{"vote.sync.ballot.b32 %r9, %p1, -1;", func(int) uint64 { return 0xaaaaaaaa }},
		// odd and even lanes vote on their own
		{"mov.u32 %r7, 0x55555555; @%p1 mov.u32 %r7, 0xaaaaaaaa; vote.sync.ballot.b32 %r9, %p1, %r7;",
			func(l int) uint64 { return 0xaaaaaaaa * uint64(l%2) }},
		// in two branches, each with its mask; they come together before the vote of all
		{"@%p1 bra $odd; shfl.sync.idx.b32 %r8, %r3, 4, 31, 0x55555555; bra $end;\n" +
			"$odd: shfl.sync.idx.b32 %r8, %r3, 5, 31, 0xaaaaaaaa; $end: shfl.sync.bfly.b32 %r9, %r8, 1, 31, -1;",
			func(l int) uint64 { return 105 - uint64(l%2) }},
		// lanes leave a loop one after the other
		{"mov.u32 %r8, 0; $a: add.u32 %r8, %r8, 1; setp.lt.u32 %p8, %r8, %r1; @%p8 bra $a;\n" +
			"vote.sync.ballot.b32 %r9, 1, -1;", func(int) uint64 { return 0xffffffff }},
	} {
		for seed := range uint64(3) {
			got, err := compute(Options{Seed: seed}, c.body, in)
			if err != nil {
				t.Errorf("%s: %v", c.body, err)
				break
			}
			for l, v := range got {
				if v != c.want(l) {
					t.Errorf("%s: lane %d has %#x, want %#x", c.body, l, v, c.want(l))
					break
				}
			}
		}
	}
}
