package gbm

import (
	"math"
	"math/bits"
)

// A cell of a histogram counts the rows of a bin in its low countBits and sums their gradients, as integers, in the
// rest: one addition per row and feature, exact and hence the same in any order, and the histogram of a child is
// exactly its parent's minus its sibling's.
const (
	countBits = 24
	countMask = 1<<countBits - 1
	// sumBits is how large the magnitude of a sum of gradients may become.
	sumBits = 63 - countBits
)

// MaxRows is how many rows a model can be trained on.
const MaxRows = countMask

type histogram [groupSize][256]int64

// grower grows one tree, leaf by leaf, always splitting the leaf that gains most (LightGBM, NeurIPS 2017).
type grower struct {
	data    *Data
	options Options
	usable  []int
	groups  []int // that hold a usable feature

	packed []int64 // per row of the data: the quantised gradient above a count of 1
	unit   float64 // of the quantised gradients
	rows   []int32 // of the tree; the rows of a leaf are contiguous
	spare  []int32
	leaves []leaf
	nodes  []node // of the tree; thresholds are bins
	values []float64

	histograms []histogram // per slot len(data.bins) of them
}

// leaf is a leaf of the tree while it grows.
type leaf struct {
	first, last int // rows[first:last]
	total       int64
	slot        int // of its histograms
	depth       int
	parent      int // node whose child it is, -1 at the root
	isRight     bool
	best        split
}

// split is the best way to split a leaf.
type split struct {
	gain        float64 // 0: no split gains anything
	feature     int
	bin         uint8 // rows up to this bin go left
	missingLeft bool
	left        int64 // cell of the rows that go left
}

// node is a split of the growing tree. Children below 0 are leaves: ^child.
type node struct {
	split
	left, right int
	total       int64 // cell of its rows
}

// start makes the tree one leaf with the given rows of d. gradients has one for every row of d, in the tree or not.
func (g *grower) start(d *Data, o Options, usable []int, rows []int32, gradients []float64) {
	g.data, g.options, g.usable = d, o, usable
	g.groups = g.groups[:0]
	for _, f := range usable {
		if group := f / groupSize; len(g.groups) == 0 || g.groups[len(g.groups)-1] != group {
			g.groups = append(g.groups, group)
		}
	}
	g.rows = append(g.rows[:0], rows...)
	g.spare = resize(g.spare, len(rows))
	g.quantise(gradients)
	g.nodes, g.values = g.nodes[:0], g.values[:0]
	g.histograms = resize(g.histograms, o.Leaves*len(d.bins))
	g.leaves = append(g.leaves[:0], leaf{last: len(rows), parent: -1})
	for _, r := range rows {
		g.leaves[0].total += g.packed[r]
	}
}

// quantise rounds gradients to integers small enough that no sum overflows.
func (g *grower) quantise(gradients []float64) {
	largest := 0.0
	for _, r := range g.rows {
		largest = max(largest, math.Abs(gradients[r]))
	}
	g.unit = largest / float64(int64(1)<<(sumBits-bits.Len(uint(len(g.rows)))))
	perUnit := 0.0
	if g.unit > 0 {
		perUnit = 1 / g.unit
	}
	g.packed = resize(g.packed, g.data.Len())
	for _, r := range g.rows {
		g.packed[r] = int64(math.RoundToEven(gradients[r]*perUnit))<<countBits + 1
	}
}

// grow splits leaves until there are enough, or no split gains anything, and reports whether there was any split.
func (g *grower) grow() bool {
	g.fill(0)
	g.leaves[0].best = g.bestSplit(0)
	for len(g.leaves) < g.options.Leaves {
		best := 0
		for l := range g.leaves {
			if g.leaves[l].best.gain > g.leaves[best].best.gain {
				best = l
			}
		}
		if g.leaves[best].best.gain <= 0 {
			break
		}
		g.apply(best)
	}
	for _, l := range g.leaves {
		g.values = append(g.values, g.options.LearningRate*g.mean(l.total))
	}
	return len(g.nodes) > 0
}

// apply splits a leaf: it stays the left child, the right child is new.
func (g *grower) apply(l int) {
	s, n, r := g.leaves[l].best, len(g.nodes), len(g.leaves)
	g.nodes = append(g.nodes, node{split: s, left: ^l, right: ^r, total: g.leaves[l].total})
	if p := g.leaves[l].parent; p >= 0 && g.leaves[l].isRight {
		g.nodes[p].right = n
	} else if p >= 0 {
		g.nodes[p].left = n
	}
	middle := g.partition(g.leaves[l].first, g.leaves[l].last, s)
	right := leaf{first: middle, last: g.leaves[l].last, total: g.leaves[l].total - s.left, depth: g.leaves[l].depth + 1,
		parent: n, isRight: true, slot: r}
	left := leaf{first: g.leaves[l].first, last: middle, total: s.left, depth: right.depth, parent: n,
		slot: g.leaves[l].slot}
	g.leaves[l] = left
	g.leaves = append(g.leaves, right)
	// The tree is complete: nothing will split these leaves, so their histograms are not needed.
	if len(g.leaves) == g.options.Leaves {
		return
	}
	g.share(l, r)
	g.leaves[l].best = g.bestSplit(l)
	g.leaves[r].best = g.bestSplit(r)
}

// partition moves the rows of a leaf that go left before those that go right and returns where the latter begin. A
// processor predicts such branches badly, so the direction is looked up and added.
func (g *grower) partition(first, last int, s split) int {
	var isLeft [256]uint8
	for bin := range g.data.binsOf(s.feature) {
		if s.goesLeft(uint8(bin)) {
			isLeft[uint8(bin)] = 1
		}
	}
	words, shift := g.data.bins[s.feature/groupSize], 8*(s.feature%groupSize)&63
	rows, spare := g.rows[first:last], g.spare[:last-first]
	left := 0
	for i, r := range rows {
		// Both are written and the unneeded one is overwritten. rows is safe, as left never exceeds i.
		rows[left], spare[i-left] = r, r
		left += int(isLeft[uint8(words[r]>>shift)])
	}
	copy(rows[left:], spare)
	return first + left
}

func (s split) goesLeft(bin uint8) bool {
	if bin == nanBin {
		return s.missingLeft
	}
	return bin <= s.bin
}

// share makes the histograms of two children from their parent's, which l has. Only the smaller child is counted.
func (g *grower) share(l, r int) {
	small, large := r, l
	if g.leaves[l].last-g.leaves[l].first < g.leaves[r].last-g.leaves[r].first {
		small, large = l, r
		g.leaves[l].slot, g.leaves[r].slot = g.leaves[r].slot, g.leaves[l].slot
	}
	if !g.splittable(large) {
		return
	}
	g.fill(small)
	for _, f := range g.usable {
		// The parent's histogram minus the smaller child's is exactly the larger child's, since cells are
		// integers.
		n := g.data.binsOf(f)
		whole, part := g.histogram(large, f/groupSize)[f%groupSize][:n], g.histogram(small, f/groupSize)[f%groupSize][:n]
		for b, cell := range part {
			whole[b] -= cell
		}
	}
}

// splittable reports whether a leaf is large and high enough to be split.
func (g *grower) splittable(l int) bool {
	leaf := &g.leaves[l]
	return leaf.last-leaf.first >= 2*g.options.MinLeafRows && (g.options.MaxDepth == 0 || leaf.depth < g.options.MaxDepth)
}

func (g *grower) histogram(leaf, group int) *histogram {
	return &g.histograms[g.leaves[leaf].slot*len(g.data.bins)+group]
}

// binsOf returns the number of bins of a feature, including the bin of missing values.
func (d *Data) binsOf(feature int) int { return len(d.edges[feature]) + 1 }

// fill counts the rows of a leaf.
func (g *grower) fill(l int) {
	rows := g.rows[g.leaves[l].first:g.leaves[l].last]
	for _, group := range g.groups {
		h := g.histogram(l, group)
		features := min(len(g.data.names)-group*groupSize, groupSize)
		clear(h[:features])
		if features <= groupSize/2 {
			h.addHalf(g.data.bins[group], g.packed, rows)
		} else {
			h.add(g.data.bins[group], g.packed, rows)
		}
	}
}

func (h *histogram) add(words []uint64, packed []int64, rows []int32) {
	for _, r := range rows {
		w, p := words[r], packed[r]
		h[0][uint8(w)] += p
		h[1][uint8(w>>8)] += p
		h[2][uint8(w>>16)] += p
		h[3][uint8(w>>24)] += p
		h[4][uint8(w>>32)] += p
		h[5][uint8(w>>40)] += p
		h[6][uint8(w>>48)] += p
		h[7][uint8(w>>56)] += p
	}
}

// addHalf is add for a group of at most four features.
func (h *histogram) addHalf(words []uint64, packed []int64, rows []int32) {
	for _, r := range rows {
		w, p := words[r], packed[r]
		h[0][uint8(w)] += p
		h[1][uint8(w>>8)] += p
		h[2][uint8(w>>16)] += p
		h[3][uint8(w>>24)] += p
	}
}

// bestSplit returns the split of a leaf that gains most; ties go to the first.
func (g *grower) bestSplit(l int) (best split) {
	if !g.splittable(l) {
		return best
	}
	total := g.leaves[l].total
	floor := float64(g.score(total) * (1 + 1e-10)) // below it a gain is rounding
	least := floor
	for _, f := range g.usable {
		cells := g.histogram(l, f/groupSize)[f%groupSize][:g.data.binsOf(f)]
		s := g.scan(cells, total, 0, least)
		if cells[nanBin] != 0 {
			if missingLeft := g.scan(cells, total, cells[nanBin], max(least, s.gain)); missingLeft.gain > 0 {
				s = missingLeft
				s.missingLeft = true
			}
		} else {
			// Without missing values in training, a missing value follows the larger part.
			s.missingLeft = 2*(s.left&countMask) >= total&countMask
		}
		if s.gain > 0 {
			best, least = s, s.gain
			best.feature = f
		}
	}
	best.gain = max(0, best.gain-floor)
	return best
}

// scan returns the split of one feature that scores best, with missing values where left says, if it scores more than
// least. Its gain is that score.
func (g *grower) scan(cells []int64, total, left int64, least float64) (best split) {
	low := int64(g.options.MinLeafRows)
	high := total&countMask - low
	all := float64(total >> countBits)
	rows := float64(total & countMask)
	for b := 1; b < len(cells); b++ {
		if cells[b] == 0 {
			continue
		}
		left += cells[b]
		n := left & countMask
		if n < low {
			continue
		}
		if n > high {
			break
		}
		// The sum of the scores of both sides, as a fraction that is divided only where it is a new best.
		sumLeft, weightLeft := float64(left>>countBits), float64(n)+g.options.Lambda
		sumRight, weightRight := all-sumLeft, rows-float64(n)+g.options.Lambda
		above := float64(sumLeft*sumLeft*weightRight) + float64(sumRight*sumRight*weightLeft)
		below := weightLeft * weightRight
		if above > least*below {
			least = above / below
			best = split{gain: least, bin: uint8(b), left: left}
		}
	}
	return best
}

// score is the reduction of the squared error by a leaf with this cell, in quantised units.
func (g *grower) score(cell int64) float64 {
	sum := float64(cell >> countBits)
	return sum * sum / (float64(cell&countMask) + g.options.Lambda)
}

// mean is the value of a leaf with this cell before shrinkage.
func (g *grower) mean(cell int64) float64 {
	return float64(cell>>countBits) * g.unit / (float64(cell&countMask) + g.options.Lambda)
}

func (g *grower) eachLeaf(visit func(leaf int, rows []int32)) {
	for i, l := range g.leaves {
		visit(i, g.rows[l.first:l.last])
	}
}

// leafOf returns the leaf of any row of the data.
func (g *grower) leafOf(row int32) int {
	at := 0
	for at >= 0 {
		n := &g.nodes[at]
		if n.goesLeft(uint8(g.data.bins[n.feature/groupSize][row] >> (8 * (n.feature % groupSize)))) {
			at = n.left
		} else {
			at = n.right
		}
	}
	return ^at
}

// tree returns the tree with thresholds in place of bins.
func (g *grower) tree() tree {
	t := tree{nodes: make([]treeNode, len(g.nodes)), leaves: make([]treeLeaf, len(g.leaves)),
		shrinkage: g.options.LearningRate}
	for i, n := range g.nodes {
		t.nodes[i] = treeNode{
			feature: int32(n.feature), threshold: g.data.edges[n.feature][n.bin-1],
			missing: missingNaN, defaultLeft: n.missingLeft, left: int32(n.left), right: int32(n.right),
			gain: n.gain * g.unit * g.unit, rows: int(n.total & countMask),
			value: g.options.LearningRate * g.mean(n.total),
		}
	}
	for i, l := range g.leaves {
		t.leaves[i] = treeLeaf{value: g.values[i], rows: l.last - l.first}
	}
	return t
}
