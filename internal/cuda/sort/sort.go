// Package sort has operations on columns of numbers in the memory of a GPU that kernels of other packages build on: a
// stable radix sort of keys with values, exclusive prefix sums, and the starts of runs.
//
// The sort is least significant digit first, 8 bits a pass: the digits of each tile are counted, prefix sums of the
// counts say where the tile's keys of a digit go, and keys and values move there. For each pair, a pass reads 12 bytes
// and writes 8; with keys of 64 bits it reads 20 and writes 12.
package sort

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/cuda/kernels"
)

// Sizes that the kernels are written for.
const (
	threads   = 256
	tile      = 2048
	digitBits = 8
	digits    = 1 << digitBits
)

// Longest is the largest number of elements of a column.
const Longest = math.MaxInt32

// Operations are the kernels, loaded to a device. Launches are asynchronous: an error of a kernel is reported by the
// next read or by Sync of the device.
type Operations struct{ module cuda.Module }

func Load(d cuda.Device) (*Operations, error) {
	module, err := d.Load(kernels.Sort())
	if err != nil {
		return nil, err
	}
	return &Operations{module}, nil
}

// blocks returns how many blocks n elements need, each elements in a block; at least one.
func blocks(n, each int) int { return max(1, (n+each-1)/each) }

// Iota writes 0, 1, ... n-1 to a column of uint32.
func (o *Operations) Iota(column cuda.Pointer, n int) error {
	if err := check(n); err != nil {
		return err
	}
	return o.module.Launch("sort_iota", cuda.Grid{Blocks: blocks(n, threads), Threads: threads}, column, uint32(n))
}

func check(n int) error {
	if n < 0 || n > Longest {
		return fmt.Errorf("a column of %d elements: at most %d are supported", n, Longest)
	}
	return nil
}

// Sums is scratch space for prefix sums of columns of up to some length.
type Sums struct{ levels []level }

// level has the sums of the tiles of the level below, or of the column. It has a place more than tiles, for the total.
type level struct {
	at    cuda.Pointer
	tiles int
}

// SumsBytes returns the memory of Sums for columns of up to n elements, about n/512 bytes.
func SumsBytes(n int) (bytes int64) {
	for tiles := blocks(n+1, tile); ; tiles = blocks(tiles+1, tile) {
		bytes += int64(tiles+1) * 4
		if tiles == 1 {
			return bytes
		}
	}
}

// NewSums allocates scratch space for prefix sums of up to n elements.
func NewSums(s *cuda.Scope, n int) (*Sums, error) {
	if err := check(n); err != nil {
		return nil, err
	}
	sums := &Sums{}
	for tiles := blocks(n+1, tile); ; tiles = blocks(tiles+1, tile) {
		at, err := s.Alloc(int64(tiles+1) * 4)
		if err != nil {
			return nil, err
		}
		sums.levels = append(sums.levels, level{at, tiles})
		if tiles == 1 {
			return sums, nil
		}
	}
}

// PrefixSum replaces each of the n elements of a column of uint32 by the sum of those before it, and writes the sum of
// all to the element after the last: the column has n+1 elements. Sums are modulo 2^32.
func (o *Operations) PrefixSum(column cuda.Pointer, n int, scratch *Sums) error {
	return o.prefixSum(column, n, scratch.levels)
}

func (o *Operations) prefixSum(column cuda.Pointer, n int, levels []level) error {
	tiles := blocks(n+1, tile)
	if len(levels) == 0 || tiles > levels[0].tiles {
		return fmt.Errorf("prefix sums of %d elements need more scratch space", n)
	}
	grid, before := cuda.Grid{Blocks: tiles, Threads: threads}, cuda.Pointer(0) // nothing is before a single tile
	if tiles > 1 {
		before = levels[0].at
		if err := o.module.Launch("sort_sums", grid, column, uint32(n), before); err != nil {
			return err
		}
		if err := o.prefixSum(before, tiles, levels[1:]); err != nil {
			return err
		}
	}
	return o.module.Launch("sort_prefix", grid, column, uint32(n), before)
}

// Starts writes, for each number b from 0 to count, how many of n sorted keys of uint32 are smaller. That is where
// bucket b begins and, at count, the number of keys, if all are smaller than count. starts has count+1 elements.
func (o *Operations) Starts(keys cuda.Pointer, n int, starts cuda.Pointer, count int) error {
	if err := check(n); err != nil {
		return err
	}
	if err := check(count); err != nil {
		return err
	}
	return o.module.Launch("sort_starts", cuda.Grid{Blocks: blocks(count+1, threads), Threads: threads},
		keys, uint32(n), uint32(count), starts)
}

// Pairs are keys and values that are sorted together, with the memory that this needs. Callers write Keys and Values
// before they sort; a sort exchanges them with the other columns.
type Pairs struct {
	Keys, Values           cuda.Pointer // uint32, or uint64 keys if wide
	otherKeys, otherValues cuda.Pointer
	counts                 cuda.Pointer
	sums                   *Sums
	room                   int
	wide                   bool
}

func keyBytes(wide bool) int64 {
	if wide {
		return 8
	}
	return 4
}

// PairsBytes returns the memory of n pairs in bytes: 16 bytes each, 24 with keys of 64 bits, and about half a byte for
// counts.
func PairsBytes(n int, wide bool) int64 {
	counts := digits * blocks(n, tile)
	return 2*int64(n)*(keyBytes(wide)+4) + int64(counts+1)*4 + SumsBytes(counts)
}

// NewPairs allocates up to n pairs, with keys of 64 bits if wide.
func NewPairs(s *cuda.Scope, n int, wide bool) (*Pairs, error) {
	if err := check(n); err != nil {
		return nil, err
	}
	p := &Pairs{room: n, wide: wide}
	counts, keys, values := digits*blocks(n, tile), int64(n)*keyBytes(wide), int64(n)*4
	err := s.AllocAll(cuda.Undefined(&p.Keys, keys), cuda.Undefined(&p.otherKeys, keys),
		cuda.Undefined(&p.Values, values), cuda.Undefined(&p.otherValues, values),
		cuda.Undefined(&p.counts, int64(counts+1)*4))
	if err != nil {
		return nil, err
	}
	p.sums, err = NewSums(s, counts)
	return p, err
}

// Sort sorts the first n pairs by the lowest bits of their keys; pairs with the same bits stay in order. Higher bits
// up to the next multiple of 8 must be equal in all keys, as they are in keys below 2^bits.
func (o *Operations) Sort(p *Pairs, n, bits int) error {
	if n < 0 || n > p.room {
		return fmt.Errorf("sort of %d pairs with room for %d", n, p.room)
	}
	grid := cuda.Grid{Blocks: blocks(n, tile), Threads: threads}
	count, scatter := "sort_count32", "sort_scatter32"
	if p.wide {
		count, scatter = "sort_count64", "sort_scatter64"
	}
	for shift := 0; shift < bits; shift += digitBits {
		if err := o.module.Launch(count, grid, p.Keys, uint32(n), uint32(shift), p.counts); err != nil {
			return err
		}
		if err := o.PrefixSum(p.counts, digits*grid.Blocks, p.sums); err != nil {
			return err
		}
		if err := o.module.Launch(scatter, grid, p.Keys, p.Values, uint32(n), uint32(shift), p.counts,
			p.otherKeys, p.otherValues); err != nil {
			return err
		}
		p.Keys, p.otherKeys = p.otherKeys, p.Keys
		p.Values, p.otherValues = p.otherValues, p.Values
	}
	return nil
}
