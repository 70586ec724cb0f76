//go:build !amd64

package softmax

const assembly = false

const none = "there is no assembly for this processor"

func products1(products, queries, keys *float32, n, dim, stride int, mask *int32, ahead int, scale float32) {
	panic(none)
}

var products2, products3 = products1, products1

func lanesOf(a, b *float32, n int, s *[width]float32) { panic(none) }
func greatestOf(x *float32, n int) float32            { panic(none) }
func multiplyMany(x *float32, n int, by float32)      { panic(none) }
func addMany(dst, x *float32, n int)                  { panic(none) }

func expOfMany(dst, x *float32, n int, shift float32, sums *lanes, table *[constants][width]float32) {
	panic(none)
}

func addRows(dst, weights *float32, rows *int32, n int, values *float32, dim int, mask *int32) {
	panic(none)
}

func addRowsOfFour(dst, weights *[4]*float32, rows *int32, n, ahead int, values *float32, dim int, mask *int32) {
	panic(none)
}

func collectMany(positions, keys *int32, numbers *float32, n int, least int32, moves *[256][width]uint8) int {
	panic(none)
}
