package gbm

import (
	"math/bits"
	"slices"
)

// Many rows are evaluated feature by feature, not row by row: the thresholds and words of a feature then stay in the
// processor's first cache, every search has the same length, and the searches of several rows overlap. The sums are
// those of single rows to the last bit.

// batchRows is how many rows are evaluated at once; their words are on the stack.
const batchRows = 8

// PredictRows sets out[i] to the prediction for the i-th of the rows, which are stored one after another.
func (m *Model) PredictRows(rows, out []float64) {
	width := len(m.names)
	for len(out) > 0 {
		n := min(batchRows, len(out))
		m.evaluator.sumRows(rows[:n*width], width, out[:n])
		for i, sum := range out[:n] {
			out[i] = m.objective.transform(m.overTrees(sum))
		}
		rows, out = rows[n*width:], out[n:]
	}
}

// sumRows sets sums to the sums of at most batchRows rows.
func (e *evaluator) sumRows(rows []float64, width int, sums []float64) {
	clear(sums)
	for i := range e.blocks {
		b := &e.blocks[i]
		if b.large != nil {
			for r := range sums {
				sums[r] += b.large.predict(rows[r*width:][:width])
			}
			continue
		}
		var array [batchRows * blockTrees]uint64
		words := array[:len(sums)*b.words()]
		setAll(words)
		for f := range b.features {
			c := &b.features[f]
			c.applyRows(len(sums), rows[c.feature:], width, words, b.words())
		}
		b.addLeavesOfRows(words, b.words(), sums)
	}
}

// applyRows applies the values of a column to the words of n rows. values[0] is the first of them; they are stride
// apart, the words of two rows are step apart.
func (c *conditions) applyRows(n int, values []float64, stride int, words []uint64, step int) {
	plain := len(c.categories) == 0 && !c.zeroIsMissing && c.shift == 0
	for r := range n {
		value, own := values[r*stride], words[r*step:][:c.words]
		if !plain || value != value {
			c.apply(value, own)
			continue
		}
		and(own, c.sums[c.below(value)*c.words:])
	}
}

// addLeavesOfRows adds the leaves of each row to its sum. The words of two rows are step apart.
func (b *block) addLeavesOfRows(words []uint64, step int, sums []float64) {
	r := 0
	for ; b.lane == 32 && r+4 <= len(sums); r += 4 {
		b.addLeavesOfFour(words[r*step:], step, (*[4]float64)(sums[r:]))
	}
	for ; r < len(sums); r++ {
		sums[r] = b.addLeaves(sums[r], words[r*step:])
	}
}

// addLeavesOfFour is addLeaves for four rows, whose additions do not wait for each other.
func (b *block) addLeavesOfFour(words []uint64, step int, sums *[4]float64) {
	n := (len(b.first) + 1) / 2
	w0, w1, w2, w3 := words[:n], words[step:][:n], words[2*step:][:n], words[3*step:][:n]
	s0, s1, s2, s3 := sums[0], sums[1], sums[2], sums[3]
	for t, first := range b.first {
		at, shift, values := t>>1, t&1<<5, b.values[first:]
		s0 += values[bits.TrailingZeros32(uint32(w0[at]>>shift))]
		s1 += values[bits.TrailingZeros32(uint32(w1[at]>>shift))]
		s2 += values[bits.TrailingZeros32(uint32(w2[at]>>shift))]
		s3 += values[bits.TrailingZeros32(uint32(w3[at]>>shift))]
	}
	sums[0], sums[1], sums[2], sums[3] = s0, s1, s2, s3
}

// Partial evaluates a model for rows of which only some features change from one prediction to the next. What the
// others clear, their effect, is computed once, kept by the caller, and used until one of them changes.
type Partial struct {
	model    *Model
	parts    []part
	words    int // of an effect
	changing int // features
}

// part is a block with the conditions of either kind. columns has where the values of a changing feature are.
type part struct {
	*block
	fixed, changing []*conditions
	columns         []int
}

// Partial returns an evaluator with the features that change. It is nil if the effect of a row would have more than
// limit words, or if the model has a tree that is too large to be evaluated so.
func (m *Model) Partial(changing []int, limit int) *Partial {
	p := &Partial{model: m, changing: len(changing)}
	for i := range m.evaluator.blocks {
		b := &m.evaluator.blocks[i]
		if b.large != nil {
			return nil
		}
		p.words += b.words()
		own := part{block: b}
		for f := range b.features {
			c := &b.features[f]
			if column := slices.Index(changing, c.feature); column >= 0 {
				own.changing, own.columns = append(own.changing, c), append(own.columns, column)
			} else {
				own.fixed = append(own.fixed, c)
			}
		}
		p.parts = append(p.parts, own)
	}
	if p.words > limit {
		return nil
	}
	return p
}

// Words returns the length of an effect.
func (p *Partial) Words() int { return p.words }

// Fix sets effect to what the features of a row that do not change clear.
func (p *Partial) Fix(row []float64, effect []uint64) {
	setAll(effect[:p.words])
	for i := range p.parts {
		own := effect[:p.parts[i].words()]
		for _, c := range p.parts[i].fixed {
			c.apply(row[c.feature], own)
		}
		effect = effect[len(own):]
	}
}

// PredictRows sets out to the predictions for rows with these effects, one after another, which it overwrites. values
// has the features that change, row by row, in the order in which Partial received them.
func (p *Partial) PredictRows(values []float64, effects []uint64, out []float64) {
	clear(out)
	effects = effects[:len(out)*p.words]
	for i := range p.parts {
		b := &p.parts[i]
		for j, c := range b.changing {
			c.applyRows(len(out), values[b.columns[j]:], p.changing, effects, p.words)
		}
		b.addLeavesOfRows(effects, p.words, out)
		effects = effects[b.words():]
	}
	for i, sum := range out {
		out[i] = p.model.objective.transform(p.model.overTrees(sum))
	}
}
