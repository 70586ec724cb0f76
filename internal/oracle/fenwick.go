package oracle

// fenwick holds the sums of a column of counters that change one at a time (Fenwick, A new data structure for
// cumulative frequency tables, Software: Practice and Experience 1994).
type fenwick []int64

// add raises counter i.
func (f fenwick) add(i int, by int64) {
	for ; i < len(f); i |= i + 1 {
		f[i] += by
	}
}

// sum returns the sum of the counters before i.
func (f fenwick) sum(i int) (total int64) {
	for ; i > 0; i &= i - 1 {
		total += f[i-1]
	}
	return total
}

// build makes sums of counters that were written in order.
func (f fenwick) build() {
	for i := range f {
		if next := i | (i + 1); next < len(f) {
			f[next] += f[i]
		}
	}
}
