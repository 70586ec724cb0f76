package ptxrun

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
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
		{"mad.wide.u32 %rd9, %r1, %r2, %rd3;", 1 << 31, 2, 1 << 40, 0, 1<<32 + 1<<40},
		{"div.s32 %r9, %r1, %r2;", 0xfffffff9, 2, 0, 0, 0xfffffffd},
		{"rem.s32 %r9, %r1, %r2;", 0xfffffff9, 2, 0, 0, 0xffffffff},
		{"div.u64 %rd9, %rd1, 10;", math.MaxUint64, 0, 0, 0, math.MaxUint64 / 10},
		{"sad.s32 %r9, %r1, %r2, %r3;", 0xffffffff, 4, 100, 0, 105},
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
		{"bfind.u32 %r9, %r1;", 0, 0, 0, 0, 0xffffffff},
		{"bfind.s32 %r9, %r1;", 0xfffffff0, 0, 0, 0, 3},
		{"bfind.shiftamt.u32 %r9, %r1;", 1 << 20, 0, 0, 0, 11},
		{"brev.b32 %r9, %r1;", 1, 0, 0, 0, 1 << 31},
		{"bfe.u32 %r9, %r1, 4, 8;", 0xabcdef, 0, 0, 0, 0xde},
		{"bfe.s32 %r9, %r1, 4, 8;", 0xabcdef, 0, 0, 0, 0xffffffde},
		{"bfe.u32 %r9, %r1, 28, 8;", 0xf0000000, 0, 0, 0, 15},
		{"bfe.s64 %rd9, %rd1, 60, 4;", 9 << 60, 0, 0, 0, math.MaxUint64 - 6},
		{"bfi.b32 %r9, %r1, %r2, 8, 4;", 0xff, 0x12345678, 0, 0, 0x12345f78},
		{"bfi.b64 %rd9, %rd1, %rd2, %r3, %r4;", 1, 0, 63, 1, 1 << 63},
		{"prmt.b32 %r9, %r1, %r2, 0x3715;", 0x33221100, 0x77665544, 0, 0, 0x33771155},
		{"prmt.b32 %r9, %r1, %r2, 0x8;", 0x80, 0, 0, 0, 0x808080ff},
		{"shf.l.wrap.b32 %r9, %r1, %r2, 36;", 0xf0000000, 1, 0, 0, 0x1f},
		{"shf.r.clamp.b32 %r9, %r1, %r2, 40;", 5, 7, 0, 0, 7},
		{"lop3.b32 %r9, %r1, %r2, %r3, 0x96;", 0xff00, 0xf0f0, 0xcccc, 0, 0xff00 ^ 0xf0f0 ^ 0xcccc},
		{"lop3.b32 %r9, %r1, %r2, %r3, 0xe8;", 12, 10, 6, 0, 14},
		{"not.b16 %rs9, %rs1;", 1, 0, 0, 0, 0xfffe},
		{"cnot.b32 %r9, %r1;", 0, 0, 0, 0, 1},
		{"selp.b32 %r9, %r1, %r2, %p3;", 5, 6, 1, 0, 5},
		// comparisons and predicates
		{"setp.lt.s32 %p9, %r1, %r2;", 0xffffffff, 0, 0, 0, 1},
		{"setp.lt.u32 %p9, %r1, %r2;", 0xffffffff, 0, 0, 0, 0},
		{"setp.hs.u32 %p9, %r1, -1;", 0xffffffff, 0, 0, 0, 1},
		{"setp.eq.and.u32 %p9, %r1, %r2, !%p3;", 5, 5, 0, 0, 1},
		{"setp.ne.xor.u32 %p9, %r1, %r2, %p3;", 5, 5, 1, 0, 1},
		{"setp.gt.or.s64 %p8|%p9, %rd1, %rd2, %p3;", 5, 5, 0, 0, 1},
		{"and.pred %p9, %p1, %p2;", 1, 1, 0, 0, 1},
		{"not.pred %p9, %p1;", 1, 0, 0, 0, 0},
		{"mov.pred %p9, -1;", 0, 0, 0, 0, 1},
		{"mov.u32 %r9, 1; @%p1 mov.u32 %r9, 2;", 1, 0, 0, 0, 2},
		{"mov.u32 %r9, 1; @!%p1 mov.u32 %r9, 2;", 1, 0, 0, 0, 1},
		// floating point
		{"add.rn.f32 %f9, %f1, %f2;", f32(0.1), f32(0.2), 0, 0, uint64(math.Float32bits(float32(0.1) + float32(0.2)))},
		{"div.rn.f64 %fd9, %fd1, %fd2;", f64(1), f64(3), 0, 0, f64(1.0 / 3)},
		{"fma.rn.f32 %f9, %f1, %f2, %f3;", 0x3f800001, 0x3f800001, f32(-1), 0, 0x34800000},
		{"sqrt.rn.f32 %f9, %f1;", f32(2), 0, 0, 0, f32(math.Sqrt2)},
		{"rcp.rn.f64 %fd9, %fd1;", f64(3), 0, 0, 0, f64(1.0 / 3)},
		{"min.f32 %f9, %f1, %f2;", 0x7fc00000, f32(2), 0, 0, f32(2)},
		{"max.f64 %fd9, %fd1, %fd2;", f64(math.Copysign(0, -1)), 0, 0, 0, 0},
		{"neg.f32 %f9, %f1;", f32(2), 0, 0, 0, f32(-2)},
		{"abs.f64 %fd9, %fd1;", f64(-2), 0, 0, 0, f64(2)},
		{"mul.rn.f32 %f9, %f1, %f2;", 0x7f800000, 0, 0, 0, 0x7fffffff},
		{"setp.equ.f32 %p9, %f1, %f2;", 0x7fc00000, 0, 0, 0, 1},
		{"setp.ne.f32 %p9, %f1, %f2;", 0x7fc00000, 0, 0, 0, 0},
		{"setp.nan.f64 %p9, %fd1, %fd2;", f64(math.NaN()), 0, 0, 0, 1},
		{"testp.infinite.f32 %p9, %f1;", 0xff800000, 0, 0, 0, 1},
		{"copysign.f32 %f9, %f1, %f2;", f32(-1), f32(5), 0, 0, f32(-5)},
		// conversions
		{"cvt.s32.s8 %r9, %r1;", 0x1ff, 0, 0, 0, 0xffffffff},
		{"cvt.u32.u8 %r9, %r1;", 0x1ff, 0, 0, 0, 0xff},
		{"cvt.s64.s32 %rd9, %r1;", 0x80000000, 0, 0, 0, 0xffffffff80000000},
		{"cvt.sat.u8.s32 %r9, %r1;", 0xfffffff0, 0, 0, 0, 0},
		{"cvt.sat.s16.u32 %rs9, %r1;", 70000, 0, 0, 0, 32767},
		{"cvt.rni.s32.f32 %r9, %f1;", f32(2.5), 0, 0, 0, 2},
		{"cvt.rzi.s32.f32 %r9, %f1;", f32(-2.9), 0, 0, 0, 0xfffffffe},
		{"cvt.rmi.s32.f64 %r9, %fd1;", f64(-2.1), 0, 0, 0, 0xfffffffd},
		{"cvt.rpi.u64.f64 %rd9, %fd1;", f64(2.1), 0, 0, 0, 3},
		{"cvt.rzi.u32.f32 %r9, %f1;", f32(-7), 0, 0, 0, 0},
		{"cvt.rzi.s32.f32 %r9, %f1;", f32(1e20), 0, 0, 0, 0x7fffffff},
		{"cvt.rzi.s32.f32 %r9, %f1;", 0x7fc00000, 0, 0, 0, 0},
		{"cvt.rzi.s32.f64 %r9, %fd1;", f64(math.NaN()), 0, 0, 0, 0x80000000},
		{"cvt.rzi.u32.f64 %r9, %fd1;", f64(math.NaN()), 0, 0, 0, 0x80000000},
		{"cvt.rzi.s64.f32 %rd9, %f1;", 0x7fc00000, 0, 0, 0, 1 << 63},
		{"cvt.rmi.f32.f32 %f9, %f1;", f32(-2.1), 0, 0, 0, f32(-3)},
		{"cvt.rn.f32.f64 %f9, %fd1;", f64(0.1), 0, 0, 0, f32(0.1)},
		{"cvt.rz.f32.f64 %f9, %fd1;", f64(0.1), 0, 0, 0, f32(0.1) - 1},
		{"cvt.rp.f32.f64 %f9, %fd1;", f64(-0.1), 0, 0, 0, f32(-0.1) - 1},
		{"cvt.f64.f32 %fd9, %f1;", f32(0.1), 0, 0, 0, f64(float64(float32(0.1)))},
		{"cvt.rn.f32.u64 %f9, %rd1;", 1<<40 + 1<<16 + 1, 0, 0, 0, f32(1<<40 + 1<<17)},
		{"cvt.rn.f16.f32 %rs9, %f1;", f32(1.0009765625 + 0.00048828125), 0, 0, 0, 0x3c02},
		{"cvt.rz.f16.f32 %rs9, %f1;", f32(-65519), 0, 0, 0, 0xfbff},
		{"cvt.rn.f16.f32 %rs9, %f1;", f32(65520), 0, 0, 0, 0x7c00},
		{"cvt.rn.f16.f32 %rs9, %f1;", f32(0x1p-24 * 1.5), 0, 0, 0, 2},
		{"cvt.rn.f16.f64 %rs9, %fd1;", f64(-0x1p-25), 0, 0, 0, 0x8000},
		{"cvt.f32.f16 %f9, %rs1;", 0x0001, 0, 0, 0, f32(0x1p-24)},
		{"cvt.f32.f16 %f9, %rs1;", 0xc248, 0, 0, 0, f32(-3.140625)},
		{"cvt.rn.f16x2.f32 %r9, %f1, %f2;", f32(1), f32(-2), 0, 0, 0x3c00c000},
		// moves and memory
		{"mov.b64 %rd9, {%r1, %r2};", 1, 2, 0, 0, 2<<32 + 1},
		{"mov.b64 {_, %r9}, %rd1;", 7 << 32, 0, 0, 0, 7},
		{"mov.b32 {%rs9, _}, %r1;", 0x12345678, 0, 0, 0, 0x5678},
		{"mov.b32 %r9, {%rs1, %rs2};", 0x1234, 0x5678, 0, 0, 0x56781234},
		{"mov.u32 %r9, %laneid;", 0, 0, 0, 0, 0},
		{"mov.u32 %r9, %lanemask_gt;", 0, 0, 0, 0, 0xfffffffe},
		{"mov.u32 %r9, WARP_SZ;", 0, 0, 0, 0, 32},
		{"ld.global.s8 %r9, [%rd20];", 0x80, 0, 0, 0, 0xffffff80},
		{"ld.global.u8 %rs9, [%rd20+1];", 0x8123, 0, 0, 0, 0x81},
		{"ld.global.v2.u32 {%r8, %r9}, [%rd20];", 5 << 32, 0, 0, 0, 5},
		{"ld.global.v4.u32 {_, _, _, %r9}, [%rd20];", 0, 6 << 32, 0, 0, 6},
		{"ld.global.nc.v2.f64 {%fd8, %fd9}, [%rd20];", 0, 77, 0, 0, 77},
		{"ld.u64 %rd9, [%rd20+8];", 0, 78, 0, 0, 78},
		{"add.u64 %rd8, %rd20, 32; ld.volatile.global.u64 %rd9, [%rd8+-32];", 79, 0, 0, 0, 79},
		{"st.local.v2.u32 [l+8], {%r1, %r2}; ld.local.u64 %rd9, [l+8];", 1, 2, 0, 0, 2<<32 + 1},
		{"mov.u64 %rd8, l; cvta.local.u64 %rd8, %rd8; st.u16 [%rd8+2], %rs1; ld.local.u16 %rs9, [l+2];", 5, 0, 0, 0, 5},
		{"mov.u64 %rd8, s; cvta.shared.u64 %rd8, %rd8; add.u64 %rd8, %rd8, %rd24; st.u64 [%rd8], %rd1; " +
			"cvta.to.shared.u64 %rd8, %rd8; cvt.u32.u64 %r8, %rd8; ld.shared.u64 %rd9, [%r8];", 1 << 50, 0, 0, 0, 1 << 50},
		{"mov.u64 %rd8, s; cvta.shared.u64 %rd8, %rd8; isspacep.shared %p9, %rd8;", 0, 0, 0, 0, 1},
		// control
		{"mov.u32 %r9, 7; bra $a; mov.u32 %r9, 8; $a:", 0, 0, 0, 0, 7},
		{"mov.u32 %r9, 0; $a: add.u32 %r9, %r9, %r2; sub.u32 %r1, %r1, 1; setp.ne.u32 %p8, %r1, 0; @%p8 bra.uni $a;",
			5, 3, 0, 0, 15},
		{"$t: .branchtargets $x, $y, $z; brx.idx %r1, $t; $x: mov.u32 %r9, 10; bra $e; $y: mov.u32 %r9, 11; bra $e;\n" +
			"$z: mov.u32 %r9, 12; $e:", 2, 0, 0, 0, 12},
		{"{ .reg .b32 %inner; add.u32 %inner, %r1, 1; mov.u32 %r9, %inner; }", 5, 0, 0, 0, 6},
		// atomic operations
		{"atom.global.add.u64 %rd9, [%rd20], 5;", 7, 0, 0, 0, 7},
		{"red.global.max.s32 [%rd20], 5; ld.global.u32 %r9, [%rd20];", 0xffffffff, 0, 0, 0, 5},
		{"atom.cas.b32 %r8, [%rd20], 7, 9; ld.global.u32 %r9, [%rd20];", 7, 0, 0, 0, 9},
		{"atom.inc.u32 %r8, [%rd20], 7; ld.global.u32 %r9, [%rd20];", 7, 0, 0, 0, 0},
		{"atom.dec.u32 %r8, [%rd20], 7; ld.global.u32 %r9, [%rd20];", 0, 0, 0, 0, 7},
		{"atom.exch.b64 %rd9, [%rd20], %rd2;", 7, 8, 0, 0, 7},
		{"atom.global.min.u64 %rd8, [%rd20], %rd2; ld.global.u64 %rd9, [%rd20];", math.MaxUint64, 8, 0, 0, 8},
		{"atom.global.add.f32 %f8, [%rd20], %f2; ld.global.f32 %f9, [%rd20];", 77, 0x00800000, 0, 0, 0x00800000},
		{"atom.global.add.f32 %f8, [%rd20], %f2; ld.global.f32 %f9, [%rd20];", 0x00800001, 0x80800000, 0, 0, 0},
		{"mov.u64 %rd8, s; add.u64 %rd8, %rd8, %rd24; st.shared.f32 [%rd8], %f1; atom.shared.add.f32 %f8, [%rd8], %f2; " +
			"ld.shared.f32 %f9, [%rd8];", 77, 0x00800000, 0, 0, 0x0080004d},
		{"red.relaxed.gpu.global.add.f64 [%rd20], %fd2; ld.global.f64 %fd9, [%rd20];", f64(1.5), f64(2), 0, 0, f64(3.5)},
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
	lanes := func(p func(l int) bool) (mask uint64) {
		for l := range 32 {
			mask |= truth(p(l)) << l
		}
		return mask
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
		{"shfl.sync.down.b32 %r8|%p9, %r3, 3, 31, -1;", func(l int) uint64 { return truth(l+3 <= 31) }},
		{"shfl.sync.bfly.b32 %r9, %r3, %r4, 31, -1;", func(l int) uint64 { return 100 + uint64(l^l%5) }},
		{"vote.sync.ballot.b32 %r9, %p1, -1;", func(int) uint64 { return 0xaaaaaaaa }},
		{"vote.sync.ballot.b32 %r9, !%p1, -1;", func(int) uint64 { return 0x55555555 }},
		{"vote.sync.any.pred %p9, %p1, -1;", func(int) uint64 { return 1 }},
		{"vote.sync.all.pred %p9, %p1, -1;", func(int) uint64 { return 0 }},
		{"vote.sync.uni.pred %p9, %p1, -1;", func(int) uint64 { return 0 }},
		{"match.any.sync.b32 %r9, %r4, -1;", func(l int) uint64 { return lanes(func(m int) bool { return m%5 == l%5 }) }},
		{"match.all.sync.b64 %r8|%p9, %rd4, -1;", func(int) uint64 { return 0 }},
		{"redux.sync.add.u32 %r9, %r3, -1;", func(int) uint64 { return 3200 + 31*16 }},
		{"redux.sync.min.s32 %r9, %r3, -1;", func(int) uint64 { return 100 }},
		{"redux.sync.xor.b32 %r9, %r1, -1;", func(int) uint64 { return 0 }},
		{"activemask.b32 %r9;", func(int) uint64 { return 0xffffffff }},
		// odd and even lanes vote on their own
		{"mov.u32 %r7, 0x55555555; @%p1 mov.u32 %r7, 0xaaaaaaaa; redux.sync.max.u32 %r9, %r1, %r7;",
			func(l int) uint64 { return uint64(30 + l%2) }},
		// the same in two branches, each with its mask; they come together before the vote of all
		{"@%p1 bra $odd; redux.sync.min.u32 %r8, %r3, 0x55555555; bra $end;\n" +
			"$odd: redux.sync.min.u32 %r8, %r3, 0xaaaaaaaa; $end: redux.sync.add.u32 %r9, %r8, -1;",
			func(int) uint64 { return 16*100 + 16*101 }},
		// lanes leave a loop one after the other
		{"mov.u32 %r8, 0; $a: add.u32 %r8, %r8, 1; setp.lt.u32 %p8, %r8, %r1; @%p8 bra $a; activemask.b32 %r9;",
			func(int) uint64 { return 0xffffffff }},
		{"$t: .branchtargets $x, $y, $z, $x, $y; brx.idx %r4, $t; $x: mov.u32 %r8, 10; bra $e;\n" +
			"$y: mov.u32 %r8, 11; bra $e; $z: mov.u32 %r8, 12; $e: vote.sync.ballot.b32 %r7, %p1, -1; mov.u32 %r9, %r8;",
			func(l int) uint64 { return []uint64{10, 11, 12, 10, 11}[l%5] }},
		{"bar.red.popc.u32 %r9, 0, %p1;", func(int) uint64 { return 16 }},
		{"barrier.sync.aligned 1, 32; bar.red.and.pred %p9, 2, !%p1;", func(int) uint64 { return 0 }},
	} {
		for seed := range uint64(3) {
			if strings.Contains(c.body, "activemask") && seed > 0 {
				break // lanes may come together later
			}
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

// TestCalls runs functions that are called, twice, one from the other, with results.
func TestCalls(t *testing.T) {
	const ptx = `.version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 table[4] = {10, 20, 30, 40};
.func (.param .b32 result) twice(.param .b32 x);
.func (.param .b32 result) thrice(.param .b32 x) {
	.reg .b32 %r<4>;
	ld.param.u32 %r1, [x];
	{
	.param .b32 p; st.param.b32 [p+0], %r1;
	.param .b32 q;
	call.uni (q), twice, (p);
	ld.param.b32 %r2, [q+0];
	}
	add.u32 %r3, %r1, %r2;
	st.param.b32 [result+0], %r3;
	ret;
}
.func (.param .b32 result) twice(.param .b32 x) {
	.reg .b32 %r<4>; .reg .pred %p<2>;
	ld.param.u32 %r1, [x];
	setp.eq.u32 %p1, %r1, 3;
	@%p1 bra $three;
	shl.b32 %r2, %r1, 1;
	st.param.b32 [result+0], %r2;
	ret;
$three:
	mov.u32 %r2, 6;
	st.param.b32 [result+0], %r2;
	ret;
}
.visible .entry k(.param .u64 out) {
	.reg .b32 %r<8>; .reg .b64 %rd<8>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r0, %tid.x;
	{
	.param .b32 p; st.param.b32 [p+0], %r0;
	.param .b32 q;
	call.uni (q), thrice, (p);
	ld.param.b32 %r1, [q+0];
	}
	{
	.param .b32 p; st.param.b32 [p+0], %r1;
	.param .b32 q;
	call.uni (q), twice, (p);
	ld.param.b32 %r2, [q+0];
	}
	ld.global.u32 %r3, [table+8];
	add.u32 %r2, %r2, %r3;
	mul.wide.u32 %rd2, %r0, 4; add.u64 %rd1, %rd1, %rd2;
	st.global.u32 [%rd1], %r2;
	ret;
}`
	m := New(Options{})
	module := must.Get(m.Load([]byte(ptx)))(t)
	p := must.Get(m.Alloc(128))(t)
	must.Do(t, module.Launch("k", cuda.Grid{Blocks: 1, Threads: 32}, p))
	got := make([]uint32, 32)
	must.Do(t, cuda.Download(m, got, p))
	for i, v := range got {
		if want := uint32(6*i + 30); v != want {
			t.Errorf("thread %d has %d, want %d", i, v, want)
		}
	}
	again := strings.Replace(ptx, "shl.b32 %r2, %r1, 1;", "{ .param .b32 p; st.param.b32 [p+0], %r1; .param .b32 q;\n"+
		"call.uni (q), twice, (p); ld.param.b32 %r2, [q+0]; }", 1)
	must.NotGet(New(Options{}).Load([]byte(again)))(t, "twice calls itself", "a function that calls itself")
}
