package source

import (
	"slices"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// guessedRows are looked at for a column that may be the key.
const guessedRows = 1000

// columnGuess is what the first rows have in a column.
type columnGuess struct {
	index         int
	distinct      map[string]struct{}
	times, wholes int // values that are points in time, and other whole numbers
	other         int // values that are neither text nor whole: fractions, nothing
	ops           int // words that name operations
	rows          int
}

// guess returns the options that read a table without a known name for the key; "" if no column can be it. The key is
// the column that repeats and has most values.
func (r *Rows) guess() string {
	columns := r.firstColumns()
	keys := slices.DeleteFunc(slices.Clone(columns), func(c columnGuess) bool {
		return c.other > 0 || c.times == c.rows || c.ops == c.rows || len(c.distinct) < 2 ||
			r.Header != nil && isNoKey(r.Header[c.index])
	})
	if len(keys) == 0 {
		return ""
	}
	slices.SortStableFunc(keys, func(a, b columnGuess) int {
		one, other := a.rank(), b.rank()
		return slices.Compare(one[:], other[:])
	})
	guess := "key=" + r.choiceOf(keys[0].index)
	add := func(option string, known []string, is func(columnGuess) bool) {
		if at := slices.IndexFunc(columns, is); at >= 0 && r.Known(known) < 0 {
			guess += "," + option + "=" + r.choiceOf(columns[at].index)
		}
	}
	add("time", timeNames, func(c columnGuess) bool { return c.times == c.rows })
	add("op", opNames, func(c columnGuess) bool { return c.ops == c.rows && len(c.distinct) > 1 })
	return guess
}

// rank orders columns that may be keys: first those that repeat, then texts, as a number may be a size, then those with
// more values.
func (c columnGuess) rank() (rank [3]int) {
	if len(c.distinct) == c.rows {
		rank[0] = 1
	}
	if c.wholes == c.rows {
		rank[1] = 1
	}
	rank[2] = -len(c.distinct)
	return rank
}

// firstColumns looks at the rows at hand, without consuming them.
func (r *Rows) firstColumns() []columnGuess {
	if r.Delimiter == 0 { // no text
		return nil
	}
	head, err := r.Src.Head()
	if err != nil {
		return nil
	}
	columns := make([]columnGuess, r.Columns)
	for i := range columns {
		columns[i] = columnGuess{index: i, distinct: map[string]struct{}{}}
	}
	rows := head.Lines[:min(len(head.Lines), guessedRows)]
	var cells [][]byte
	if r.Header == nil && len(r.FirstRow) == len(columns) {
		see(columns, r.FirstRow) // which was read already
	}
	for _, line := range WithoutBlankEnd(rows) {
		if cells = CutLoosely(cells[:0], line, r.Delimiter); len(cells) == len(columns) {
			see(columns, cells)
		}
	}
	return columns
}

// see takes the values of a row.
func see(columns []columnGuess, cells [][]byte) {
	for i := range columns {
		c, cell := &columns[i], TrimBlanks(cells[i])
		c.rows++
		c.distinct[string(cell)] = struct{}{}
		_, whole := stream.ParseFloatNumber(cell)
		if _, ok := ParseOp(cell); ok && len(cell) > 1 && !whole { // a letter may be a key
			c.ops++
		}
		switch {
		case IsMoment(cell):
			c.times++
		case whole:
			c.wholes++
		case len(cell) == 0 || IsNumber(cell):
			c.other++
		}
	}
}
