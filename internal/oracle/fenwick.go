package oracle

// fenwick holds prefix sums of counters that change one at a time. Counters are numbered from 0: element i sums the
// counters from i&(i+1) to i (Fenwick, A new data structure for cumulative frequency tables, Software: Practice and
// Experience 1994).
type fenwick []int64

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

// build turns counters, written as they are, into sums in linear time.
func (f fenwick) build() {
	for i := range f {
		if next := i | (i + 1); next < len(f) {
			f[next] += f[i]
		}
	}
}
