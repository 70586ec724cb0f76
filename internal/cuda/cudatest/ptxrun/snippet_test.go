package ptxrun

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cuda"
)

// snippet returns a module with the kernel "snippet", which has the address of a column in %rd0, the number of its
// thread in %r0, and registers of all kinds.
func snippet(body string) []byte {
	return []byte(`.version 7.0
.target sm_80
.address_size 64
.visible .entry snippet(.param .u64 column) {
.reg .pred %p<16>; .reg .b16 %rs<16>; .reg .b32 %r<32>; .reg .f32 %f<16>; .reg .b64 %rd<32>; .reg .f64 %fd<16>;
ld.param.u64 %rd0, [column];
mov.u32 %r0, %tid.x;
` + body + "\nret;\n}\n")
}

// runSnippet runs a snippet in one block on a copy of a column of words, and returns the column.
func runSnippet(o Options, body string, threads int, column []uint32) ([]uint32, error) {
	m := New(o)
	module, err := m.Load(snippet(body))
	if err != nil {
		return nil, err
	}
	p, err := cuda.Upload(m, column)
	if err != nil {
		return nil, err
	}
	if err := module.Launch("snippet", cuda.Grid{Blocks: 1, Threads: threads}, p); err != nil {
		return nil, err
	}
	out := make([]uint32, len(column))
	return out, cuda.Download(m, out, p)
}

// TestSums adds up the numbers of 3 warps by shuffles, shared memory and a barrier.
func TestSums(t *testing.T) {
	var column []uint32
	want := uint32(0)
	for i := range uint32(96) {
		column = append(column, i*i)
		want += i * i
	}
	body := `
.shared .align 4 .b32 sums[4];
mul.wide.u32 %rd1, %r0, 4;
add.s64 %rd2, %rd0, %rd1;
ld.u32 %r1, [%rd2];
`
	for by := 16; by > 0; by /= 2 {
		body += fmt.Sprintf("shfl.sync.bfly.b32 %%r2, %%r1, %d, 31, -1;\nadd.s32 %%r1, %%r1, %%r2;\n", by)
	}
	body += `
and.b32 %r3, %r0, 31;
shr.u32 %r4, %r0, 5;
shl.b32 %r4, %r4, 2;
mov.u32 %r5, sums;
add.u32 %r5, %r5, %r4;
setp.ne.u32 %p1, %r3, 0;
@%p1 bra $write;
st.shared.u32 [%r5], %r1;
$write:
bar.sync 0;
setp.ne.u32 %p1, %r0, 0;
@%p1 ret;
ld.shared.u32 %r6, [sums];
ld.shared.u32 %r7, [sums+4];
ld.shared.u32 %r8, [sums+8];
add.u32 %r6, %r6, %r7;
add.u32 %r6, %r6, %r8;
st.global.u32 [%rd0], %r6;
`
	for seed := range uint64(4) {
		got := must.Get(runSnippet(Options{Seed: seed}, body, 96, column))(t)
		if got[0] != want || got[1] != 1 {
			t.Errorf("the sum is %d and the next number %d, want %d and 1", got[0], got[1], want)
		}
	}
	_, err := runSnippet(Options{}, strings.Replace(body, "bar.sync 0;", "", 1), 96, column)
	must.Fail(t, err, "nobody wrote", "without the barrier")
}
