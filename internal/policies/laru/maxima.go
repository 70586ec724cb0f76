package laru

// Nodes of maxima have fanout children. With 16, removing the largest of a group takes few steps, and the tree over a
// million slots has five levels.
const (
	fanoutBits = 4
	fanout     = 1 << fanoutBits
)

// maxima is a tree of maxima over a column of keys; 0 means no key. set, clear and largest visit at most fanout keys
// per level. Memory: 8.5 bytes per key.
type maxima struct {
	levels [][]uint64 // the keys, the maxima of their groups, and so on; the last level is at most one group
}

func newMaxima(n int) maxima {
	m := maxima{levels: [][]uint64{make([]uint64, n)}}
	for n > fanout {
		n = (n + fanout - 1) / fanout
		m.levels = append(m.levels, make([]uint64, n))
	}
	return m
}

// set gives a key to i, which has none.
func (m *maxima) set(i int, key uint64) {
	m.levels[0][i] = key
	for _, level := range m.levels[1:] {
		i >>= fanoutBits
		if level[i] >= key {
			return
		}
		level[i] = key
	}
}

func (m *maxima) clear(i int) {
	below := m.levels[0]
	key := below[i]
	below[i] = 0
	for _, level := range m.levels[1:] {
		i >>= fanoutBits
		if level[i] != key {
			return
		}
		level[i] = maximum(group(below, i))
		if level[i] == key {
			return
		}
		below = level
	}
}

// group returns the children of node i.
func group(below []uint64, i int) []uint64 {
	first := i << fanoutBits
	return below[first:min(first+fanout, len(below))]
}

func maximum(keys []uint64) (largest uint64) {
	for _, key := range keys {
		largest = max(largest, key)
	}
	return largest
}

// largest returns the index of the largest key before end; ties go to the first. There must be a key.
func (m *maxima) largest(end int) int {
	var best uint64
	at, height := 0, 0
	for h, level := range m.levels {
		first := end &^ (fanout - 1) // anything before it is left to the next level
		if h == len(m.levels)-1 {
			first = 0
		}
		for i := end - 1; i >= first; i-- {
			if level[i] >= best { // groups come from the last to the first
				best, at, height = level[i], i, h
			}
		}
		end = first >> fanoutBits
	}
	for h := height - 1; h >= 0; h-- {
		at <<= fanoutBits
		for m.levels[h][at] != best {
			at++
		}
	}
	return at
}

// rebuild computes all maxima from the keys before end; there are none after it.
func (m *maxima) rebuild(end int) {
	keys := m.levels[0]
	clear(keys[end:])
	for h, level := range m.levels[1:] {
		clear(level)
		end = (end + fanout - 1) / fanout
		for i := range end {
			level[i] = maximum(group(m.levels[h], i))
		}
	}
}
