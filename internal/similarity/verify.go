package similarity

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cachesim/cachesim/internal/base/parallel"
)

// verifiedRows is how many lists of a device are compared with the CPU's. For a million vectors of 384 dimensions that
// takes a core a few seconds; all lists would take hours.
const verifiedRows = 8

// verify compares the lists of some vectors, drawn at random, with the CPU's: a device may return anything, and its
// lists are stored for later runs. row returns the entries of a device's list in order, and keep the entries that
// belong to it, also in order, out of all.
func verify(ctx context.Context, v Vectors, jobs int, row func(i int) []uint64,
	keep func(sorted []uint64) []uint64) error {
	n := v.Len()
	drawn := rand.New(rand.NewPCG(uint64(n), uint64(v.Dim))).Perm(n)
	return parallel.For(ctx, jobs, min(verifiedRows, n), func(ctx context.Context, _, k int) error {
		i := drawn[k]
		all := make([]uint64, 0, n-1)
		for other := range n {
			if other%(1<<16) == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if other != i {
				all = append(all, entryOf(uint32(other), v.Similarity(i, other)))
			}
		}
		slices.Sort(all)
		slices.Reverse(all)
		want, got := keep(all), row(i)
		if slices.Equal(want, got) {
			return nil
		}
		return fmt.Errorf("it lists %d vectors as similar to vector %d, but the CPU %d, or others; the GPU or its driver "+
			"is faulty: use --device cpu", len(got), i, len(want))
	})
}

// verifyNeighbours compares some lists of neighbours with lists of the CPU.
func verifyNeighbours(ctx context.Context, v Vectors, jobs int, found *Neighbours) error {
	return verify(ctx, v, jobs, func(i int) (row []uint64) {
		ids, similarities := found.Of(uint32(i))
		for k, id := range ids {
			row = append(row, entryOf(id, similarities[k]))
		}
		return row
	}, func(sorted []uint64) []uint64 {
		end, _ := slices.BinarySearchFunc(sorted, found.From, func(e uint64, from float32) int {
			if fromRank(uint32(e>>32)) >= from {
				return -1
			}
			return 1
		})
		return sorted[:end]
	})
}

// trusted reports whether a backend is the CPU, with which others are compared.
func trusted(b Backend) bool {
	_, is := b.(cpu)
	return is
}
