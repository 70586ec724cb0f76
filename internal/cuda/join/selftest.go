package join

import (
	"context"
	_ "embed"

	"github.com/cachesim/cachesim/internal/cuda"
	"github.com/cachesim/cachesim/internal/similarity"
)

//go:embed selftest.txt
var sums string

// SelfTest compares vectors whose numbers, products and sums are exact in half precision, so that tensor cores propose
// the same pairs in whatever order they add. All are in one tile: nothing is written twice.
var SelfTest = &cuda.SelfTest{Name: cuda.SimilarityJoin.Name, Sums: sums, AnyOrder: true, Run: selfTest}

func selfTest(d cuda.Device) error {
	const n, dim, length = 100, 40, 16
	strides := [...]int{3, 7, 9, 11, 13} // none has a divisor of dim
	v := similarity.Vectors{Dim: dim, Data: make([]float32, n*dim)}
	for i := range n {
		row := v.At(i)
		if i%3 == 2 { // similar to the previous one
			copy(row, v.At(i-1))
			for k := range row {
				if row[k] != 0 {
					row[k] = -row[k]
					break
				}
			}
			continue
		}
		for k := range length { // 1/4 or -1/4 each, so that the length is 1
			row[(7*i+k*strides[i%len(strides)])%dim] = float32(int32(uint32(i*length+k)*0x9e3779b9)>>31|1) / 4
		}
	}
	one := backend{device: cuda.Share(d), limits: limits{group: 1, rows: 1, room: 1 << 20, bytes: 1 << 62}}
	options := similarity.Options{Jobs: 1, Backend: one}
	if _, err := similarity.Join(context.Background(), v, 0.5, options); err != nil {
		return err
	}
	_, err := similarity.FindNearest(context.Background(), v, 3, options)
	return err
}
