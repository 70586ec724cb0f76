package gbm

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Data is a table of training rows: the last Capacity ones that were added. It keeps rows binned from one training to
// the next, so that training again after a few more rows bins only those.
type Data struct {
	names    []string
	capacity int
	rows     []float64 // row-major, a ring once it is full
	labels   []float64
	added    int // rows since the beginning; row i is at i % capacity

	// per feature, ascending to infinity; bin b > 0 holds the values up to and including edges[b-1], bin 0 is NaN
	edges    [][]float64
	maxBins  int        // that edges were made for
	edgesAt  int        // value of added when edges were made
	binnedTo int        // value of added when rows were last binned
	bins     [][]uint64 // per group of 8 features one word per row, the first feature in the lowest byte
}

// groupSize is how many features share a word of bins.
const groupSize = 8

// nanBin is the bin of missing values, in every feature.
const nanBin = 0

// largest is the magnitude of labels up to which the sum of their squares is finite.
const largest = 1e150

// NewData returns an empty table with the named features that keeps the last capacity rows. Memory per row: 9 bytes per
// feature and 8 for the label; a Trainer needs about 40 more.
func NewData(names []string, capacity int) (*Data, error) {
	if len(names) == 0 || capacity < 1 || capacity > MaxRows {
		return nil, fmt.Errorf("training data of %d features and %d rows: want at least one of each, and at most %d rows",
			len(names), capacity, MaxRows)
	}
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, " \t\r\n=[]{}\":,") {
			return nil, fmt.Errorf("feature %q: want a name without blanks and =[]{}\":, because a LightGBM file could not "+
				"hold it", name)
		}
	}
	return &Data{names: slices.Clone(names), capacity: capacity,
		bins: make([][]uint64, (len(names)+groupSize-1)/groupSize)}, nil
}

func (d *Data) Len() int { return len(d.labels) }

// Reserve makes room for all rows that the table keeps, so that adding them copies nothing.
func (d *Data) Reserve() {
	d.rows = slices.Grow(d.rows, d.capacity*len(d.names)-len(d.rows))
	d.labels = slices.Grow(d.labels, d.capacity-len(d.labels))
}

// Row returns the features and the label of row i, below Len. They are valid until the next Add.
func (d *Data) Row(i int) (features []float64, label float64) {
	width := len(d.names)
	return d.rows[i*width : (i+1)*width], d.labels[i]
}

// Add adds a row, in place of the oldest one if the table is full. NaN is a missing value; infinite values are the
// smallest and largest. It fails if the label is NaN or above 1e150 in magnitude, and panics if the row has another
// number of features than the table.
func (d *Data) Add(row []float64, label float64) error {
	if len(row) != len(d.names) {
		panic(fmt.Sprintf("gbm: row of %d features added to a table of %d", len(row), len(d.names)))
	}
	if !(math.Abs(label) <= largest) {
		return fmt.Errorf("label is %v: want a number up to %v", label, largest)
	}
	at := d.added % d.capacity
	d.added++
	if at == len(d.labels) {
		d.rows = append(d.rows, row...)
		d.labels = append(d.labels, label)
		return nil
	}
	copy(d.rows[at*len(row):], row)
	d.labels[at] = label
	return nil
}

// bin fills d.bins for all rows with at most maxBins bins per feature. Edges are computed again once a quarter of the
// rows are newer.
func (d *Data) bin(maxBins int) {
	first := max(d.binnedTo, d.added-d.Len())
	if d.edges == nil || d.maxBins != maxBins || 4*(d.added-d.edgesAt) >= d.Len() {
		d.makeEdges(maxBins)
		first = d.added - d.Len()
	}
	for g := range d.bins {
		d.bins[g] = slices.Grow(d.bins[g], d.Len()-len(d.bins[g]))[:d.Len()]
		for i := first; i < d.added; i++ {
			at := i % d.capacity
			d.bins[g][at] = d.word(g, at)
		}
	}
	d.binnedTo = d.added
}

// word returns the bins of the features of group g in row at.
func (d *Data) word(g, at int) (word uint64) {
	row, _ := d.Row(at)
	for f := g * groupSize; f < min((g+1)*groupSize, len(row)); f++ {
		word |= uint64(binOf(d.edges[f], row[f])) << (8 * (f - g*groupSize))
	}
	return word
}

func binOf(edges []float64, value float64) uint8 {
	if math.IsNaN(value) {
		return nanBin
	}
	low, high := 0, len(edges)
	for low < high {
		if mid := (low + high) / 2; edges[mid] < value {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return uint8(low + 1)
}

// edgeSample is how many rows the edges of the bins are made from.
const edgeSample = 16384

// makeEdges cuts each feature into at most maxBins bins with about the same number of rows, including the bin of
// missing values.
func (d *Data) makeEdges(maxBins int) {
	d.maxBins, d.edgesAt = maxBins, d.added
	if d.edges == nil {
		d.edges = make([][]float64, len(d.names))
	}
	stride := (d.Len() + edgeSample - 1) / edgeSample
	values := make([]float64, 0, edgeSample)
	for f := range d.names {
		values = values[:0]
		for i := 0; i < d.Len(); i += stride {
			if row, _ := d.Row(i); !math.IsNaN(row[f]) {
				values = append(values, row[f])
			}
		}
		slices.Sort(values)
		d.edges[f] = append(edgesOf(values, maxBins-1, d.edges[f][:0]), math.Inf(1))
	}
}

// edgesOf cuts the sorted values into at most bins bins and appends the edges between them to edges. Each edge is
// half-way between two neighbouring values.
func edgesOf(sorted []float64, bins int, edges []float64) []float64 {
	distinct := 0
	for i, v := range sorted {
		if i == 0 || v != sorted[i-1] {
			distinct++
		}
	}
	filled := 0 // rows in the bin that is being filled
	left := bins
	for i, v := range sorted {
		filled++
		if i+1 == len(sorted) || sorted[i+1] == v {
			continue
		}
		// The remaining rows are shared among the remaining bins, so that a frequent value that overfills its bin does not
		// leave the last bins empty.
		remaining := len(sorted) - (i + 1 - filled)
		if distinct <= bins || filled*left >= remaining {
			edges = append(edges, between(v, sorted[i+1]))
			filled, left = 0, left-1
			if left == 1 {
				break
			}
		}
	}
	return edges
}

// between returns a number t with low <= t < high: half-way, or low if rounding, or an infinite value, leaves nothing
// in between.
func between(low, high float64) float64 {
	if mid := low + float64((high-low)/2); mid < high {
		return mid
	}
	return low
}

// infos describes each feature as LightGBM does: the range of its values.
func (d *Data) infos() []string {
	low, high := slices.Repeat([]float64{math.Inf(1)}, len(d.names)), slices.Repeat([]float64{math.Inf(-1)}, len(d.names))
	for i := range d.Len() {
		row, _ := d.Row(i)
		for f, v := range row {
			if v < low[f] {
				low[f] = v
			}
			if v > high[f] {
				high[f] = v
			}
		}
	}
	infos := slices.Repeat([]string{"none"}, len(d.names))
	for f := range infos {
		if low[f] <= high[f] {
			infos[f] = "[" + number(low[f]) + ":" + number(high[f]) + "]"
		}
	}
	return infos
}
