//go:build !amd64

package dot

const assembly, wide = false, false

func sumOf(a, b *float32, n int, s *sums)          { panic("there is no assembly for this processor") }
func sumOfFour(at *[8]*float32, n int, s *[4]sums) { panic("there is no assembly for this processor") }

func multiplyWide(rows, panel *float32, dim int, t *Tile, from float32) (any bool) {
	panic("there is no assembly for this processor")
}

func multiplyHalf(rows, panel *float32, dim int, t *float32, from float32) (any bool) {
	panic("there is no assembly for this processor")
}
