package dot

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// guarded returns a copy of numbers with memory before and behind it that must not be read: the process ends there. It
// begins or ends at the border.
func guarded(t *testing.T, numbers []float32, ends bool) []float32 {
	t.Helper()
	page := os.Getpagesize()
	inner := (4*len(numbers) + page - 1) / page * page
	memory := must.Get(syscall.Mmap(-1, 0, inner+2*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE))(t)
	t.Cleanup(func() { _ = syscall.Munmap(memory) })
	for _, guard := range [][]byte{memory[:page], memory[page+inner:]} {
		must.Do(t, syscall.Mprotect(guard, syscall.PROT_NONE))
	}
	at := page
	if ends {
		at += inner - 4*len(numbers)
	}
	all := unsafe.Slice((*float32)(unsafe.Pointer(&memory[at])), len(numbers))
	copy(all, numbers)
	return all
}

// Nothing is read outside of vectors, whatever their length and alignment, and sums of all dimensions have the bits
// that their definition says.
func TestNothingIsReadOutside(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	withAndWithout(t, func(t *testing.T) {
		for _, dim := range []int{1, 2, 3, 4, 5, 7, 8, 31, 383, 384, 385, 4096} {
			for _, ends := range []bool{false, true} {
				a, b := guarded(t, anyNumbers(random, dim), ends), guarded(t, anyNumbers(random, dim), ends)
				want := math.Float64bits(naiveSum(a, b))
				four := Four(&[4]Pair{{a, b}, {b, a}, {a, b}, {b, a}})
				for _, got := range append(slices.Clone(four[:]), Sum(a, b)) {
					if math.Float64bits(got) != want {
						t.Errorf("a sum of %d is %x, want %x", dim, math.Float64bits(got), want)
					}
				}
				rows, panel := make([]float32, Rows*dim), NewPanel(dim)
				for i := range rows {
					rows[i] = 1
				}
				for i := range panel {
					panel[i] = float32(i % Columns)
				}
				var tile Tile
				tile.Multiply(guarded(t, rows, ends), guarded(t, panel, ends), 0)
				for i, got := range tile {
					if want := float32(i % Columns * dim); got != want {
						t.Fatalf("product %d of dimension %d is %v, want %v", i, dim, got, want)
					}
				}
			}
		}
	})
}
