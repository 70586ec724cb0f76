//go:build !amd64

package dot

const assembly = false

func sumOf(a, b *float32, n int, s *sums)          { panic("there is no assembly for this processor") }
func sumOfFour(at *[8]*float32, n int, s *[4]sums) { panic("there is no assembly for this processor") }

func multiply(rows, panel *float32, dim int, t *Tile, from float32) (any bool) {
	panic("there is no assembly for this processor")
}
