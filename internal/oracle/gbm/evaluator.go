package gbm

import (
	"math"
	"math/bits"
	"slices"
)

// evaluator sums trees for a row with bit masks, after QuickScorer (Lucchese et al., SIGIR 2015): each tree has a word
// with a bit per leaf, from left to right. A node that sends the row right clears the bits of the leaves on its left.
// Such nodes are visited feature by feature, in the order of their thresholds; then the lowest remaining bit is the
// leaf. If no tree of a block has more than 32 leaves, two trees share a word. Trees with more than 64 leaves are
// walked from the root. The sum is taken in the order of the trees, so that it is the same to the last bit.
type evaluator struct {
	blocks []block
}

// blockTrees is how many trees a block has at most; their words are on the stack.
const blockTrees = 128

// sumWords is how many words the sums of a block have at most, so that they stay in the processor's second cache. The
// sums of 32 trees of 32 leaves fit for every effect.
const sumWords = 1 << 14

// block evaluates some consecutive trees, or is one large tree.
type block struct {
	large    *tree
	lane     int // bits of a word that a tree has: 32 or 64
	features []conditions
	first    []int32   // per tree, of its leaves in values
	values   []float64 // of the leaves of all trees, each from left to right
}

// conditions are the nodes of a block that look at one feature.
type conditions struct {
	feature    int
	thresholds []uint64 // their keys, ascending; a value above one goes right
	effects    []effect // of a value above the threshold, in the same order
	// sums are all words after no effect, after 1<<shift of them, after twice as many, and so on.
	sums    []uint64
	words   int
	shift   int
	missing []uint64 // all words after a NaN; nil: it changes none
	// nodes that must be evaluated one by one: nodes of categories, and all others if 0 counts as missing for some and the
	// value is 0.
	categories    []numbered
	zeros         []numbered
	zeroIsMissing bool
}

// effect is what a node that sends a row right does to the word of its tree.
type effect struct {
	keep uint64
	word int32
}

func newEvaluator(trees []tree) (e evaluator) {
	for len(trees) > 0 {
		n := 0
		for n < min(len(trees), blockTrees) && len(trees[n].leaves) <= 64 {
			n++
		}
		if n == 0 {
			e.blocks = append(e.blocks, block{large: &trees[0]})
			n = 1
		} else {
			e.blocks = append(e.blocks, newBlock(trees[:n]))
		}
		trees = trees[n:]
	}
	return e
}

// numbered is a node with its effect.
type numbered struct {
	*treeNode
	effect
}

func newBlock(trees []tree) (b block) {
	b.lane = 32
	for i := range trees {
		if len(trees[i].leaves) > 32 {
			b.lane = 64
		}
	}
	var nodes []numbered
	for i := range trees {
		b.first = append(b.first, int32(len(b.values)))
		nodes = b.number(&trees[i], int32(i), nodes)
	}
	slices.SortStableFunc(nodes, func(a, b numbered) int {
		switch {
		case a.feature != b.feature:
			return int(a.feature - b.feature)
		case a.threshold < b.threshold:
			return -1
		case a.threshold > b.threshold:
			return 1
		}
		return 0
	})
	words := b.words()
	shift := bits.Len(uint(len(nodes) * words / sumWords))
	for len(nodes) > 0 {
		n := 1
		for n < len(nodes) && nodes[n].feature == nodes[0].feature {
			n++
		}
		b.features = append(b.features, newConditions(nodes[:n], words, shift))
		nodes = nodes[n:]
	}
	return b
}

// number appends the leaves of a tree from left to right to the block's values, and its nodes to nodes.
func (b *block) number(t *tree, index int32, nodes []numbered) []numbered {
	if len(t.nodes) == 0 {
		b.values = append(b.values, t.leaves[0].value)
		return nodes
	}
	start := len(b.values)
	var visit func(child int32)
	visit = func(child int32) {
		if child < 0 {
			b.values = append(b.values, t.leaves[^child].value)
			return
		}
		n := &t.nodes[child]
		first := len(b.values) - start
		visit(n.left)
		cleared := uint64(1)<<(len(b.values)-start) - uint64(1)<<first
		at := int(index) * b.lane
		nodes = append(nodes, numbered{n, effect{keep: ^(cleared << (at & 63)), word: int32(at / 64)}})
		visit(n.right)
	}
	visit(0)
	return nodes
}

// newConditions takes the nodes of one feature in the order of their thresholds.
func newConditions(nodes []numbered, words, shift int) conditions {
	c := conditions{feature: int(nodes[0].feature), words: words, shift: shift}
	for _, n := range nodes {
		if n.categories != nil {
			c.categories = append(c.categories, n)
			continue
		}
		c.thresholds = append(c.thresholds, keyOf(n.threshold))
		c.effects = append(c.effects, n.effect)
		if !n.goesLeft(math.NaN()) {
			if c.missing == nil {
				c.missing = c.unchanged()
			}
			c.missing[n.word] &= n.keep
		}
		c.zeros = append(c.zeros, n)
		c.zeroIsMissing = c.zeroIsMissing || n.missing == missingZero
	}
	c.sumUp()
	return c
}

// unchanged returns all words without an effect.
func (c *conditions) unchanged() []uint64 { return slices.Repeat([]uint64{^uint64(0)}, c.words) }

func (c *conditions) sumUp() {
	words := c.unchanged()
	c.sums = append(c.sums, words...)
	for i, e := range c.effects {
		words[e.word] &= e.keep
		if (i+1)&(1<<c.shift-1) == 0 {
			c.sums = append(c.sums, words...)
		}
	}
}

func (e *evaluator) sum(row []float64) (sum float64) {
	for i := range e.blocks {
		b := &e.blocks[i]
		if b.large != nil {
			sum += b.large.predict(row)
		} else {
			sum = b.addTo(sum, row)
		}
	}
	return sum
}

// words returns how many words the trees of the block have.
func (b *block) words() int { return (len(b.first)*b.lane + 63) / 64 }

// addTo adds the trees of the block to sum, in their order: additions of floating-point numbers are not associative.
func (b *block) addTo(sum float64, row []float64) float64 {
	var array [blockTrees]uint64
	words := array[:b.words()]
	setAll(words)
	for i := range b.features {
		c := &b.features[i]
		c.apply(row[c.feature], words)
	}
	return b.addLeaves(sum, words)
}

// addLeaves adds the leaf that the words leave of each tree.
func (b *block) addLeaves(sum float64, words []uint64) float64 {
	if b.lane == 32 {
		for t, first := range b.first {
			sum += b.values[int(first)+bits.TrailingZeros32(uint32(words[t>>1]>>(t&1<<5)))]
		}
		return sum
	}
	for t, first := range b.first {
		sum += b.values[int(first)+bits.TrailingZeros64(words[t])]
	}
	return sum
}

// apply clears in the words what a value of the feature clears.
func (c *conditions) apply(value float64, words []uint64) {
	if len(c.categories) > 0 {
		ask(c.categories, value, words)
	}
	switch {
	case value != value:
		if c.missing != nil {
			and(words, c.missing)
		}
	case c.zeroIsMissing && isZero(value):
		ask(c.zeros, value, words)
	default:
		n := c.below(value)
		// The stored words replace whole runs of effects; at most 1<<shift-1 effects remain to be applied one by one.
		sums := n >> (c.shift & 63)
		and(words, c.sums[sums*c.words:])
		for _, e := range c.effects[sums<<(c.shift&63) : n] {
			words[e.word] &= e.keep
		}
	}
}

// and clears in words what is not in by, which is as long or longer. Eight at a time, it has no bounds to check.
func and(words, by []uint64) {
	for len(words) >= 8 && len(by) >= 8 {
		w, b := (*[8]uint64)(words), (*[8]uint64)(by)
		w[0] &= b[0]
		w[1] &= b[1]
		w[2] &= b[2]
		w[3] &= b[3]
		w[4] &= b[4]
		w[5] &= b[5]
		w[6] &= b[6]
		w[7] &= b[7]
		words, by = words[8:], by[8:]
	}
	for i := range words {
		words[i] &= by[i]
	}
}

func setAll(words []uint64) {
	for i := range words {
		words[i] = ^uint64(0)
	}
}

// below returns the number of thresholds below a value. It halves the range without a branch to predict: a comparison
// of integers compiles to a borrow, one of floating-point numbers to a jump.
func (c *conditions) below(value float64) int {
	key := keyOf(value)
	first, n := 0, len(c.thresholds)
	for n > 1 {
		half := n / 2
		_, isBelow := bits.Sub64(c.thresholds[first+half-1], key, 0)
		first += half & -int(isBelow)
		n -= half
	}
	if n == 1 {
		_, isBelow := bits.Sub64(c.thresholds[first], key, 0)
		first += int(isBelow)
	}
	return first
}

// keyOf maps values other than NaN to integers in the same order: negative numbers have all bits inverted, others the
// sign bit.
func keyOf(value float64) uint64 {
	const sign = 1 << 63
	key := math.Float64bits(value + 0) // -0 becomes 0
	return key ^ (uint64(int64(key)>>63) | sign)
}

func ask(nodes []numbered, value float64, words []uint64) {
	for i := range nodes {
		if n := &nodes[i]; !n.goesLeft(value) {
			words[n.word] &= n.keep
		}
	}
}
