package softmax

import (
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// guarded returns a copy of numbers with memory before and behind it that must not be touched: the process ends there.
// It begins or ends at the border.
func guarded[T float32 | int32](t *testing.T, numbers []T, ends bool) []T {
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
	all := unsafe.Slice((*T)(unsafe.Pointer(&memory[at])), len(numbers))
	copy(all, numbers)
	return all
}

// TestNothingOutsideIsTouched calls all functions with slices at the border of what may be read and written. Results
// are compared elsewhere.
func TestNothingOutsideIsTouched(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for _, dim := range []int{1, 2, 7, 8, 9, 15, 16, 31, 64, 65, 127, 128, 135, 300} {
		for _, n := range []int{1, 3, 4, 5, 7, 8, 9, 31, 65, 71} {
			for _, ends := range []bool{false, true} {
				group := 1 + dim%7
				room := func(n int) []float32 { return guarded(t, make([]float32, n), ends) }
				queries, keys := guarded(t, normal(random, group*dim), ends), guarded(t, normal(random, n*dim), ends)
				p, dst, sums := room(group*n), room(dim), room(group*dim)
				Probabilities(p, queries, keys, dim, 1)
				Dot(queries[:dim], keys[:dim])
				Exp(room(len(p)), p)
				SumQueries(room(n), p)
				weights := guarded(t, p[:n], ends)
				Weighted(dst, weights, keys, dim)
				rows := guarded(t, firstRows[:n], ends)
				slices.Reverse(rows)
				WeightedRows(dst, weights, rows, keys, dim)
				Weighted(sums, p, keys, dim)
				WeightedRows(sums, p, rows, keys, dim)
				for _, steps := range []int{2, 3} {
					if group%steps == 0 && n >= steps {
						p := room(stepsOf(group, n, steps).before(steps))
						StepProbabilities(p, queries, keys, dim, 1, steps)
						StepWeighted(sums, p, keys, dim, steps)
					}
				}
				selector := Selector{positions: guarded(t, make([]int32, n), ends), keys: guarded(t, make([]int32, n), ends)}
				selector.Top(nil, weights, (n+1)/2)
			}
		}
	}
}
