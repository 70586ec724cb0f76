package kv

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// published are the 0%, 5%, ..., 100% quantiles of the importances of the 256 KV heads of Llama-3-8B-1048k, as
// DuoAttention (mit-han-lab/duo-attention) has measured them: many heads are at either end.
var published = []float64{0, 0, 0, 0.244, 0.52, 0.717, 0.799, 0.86, 0.91, 0.938, 0.961, 0.974, 0.988, 0.996, 1, 1, 1, 1,
	1, 1, 1}

// importanceBits tells the draws of importances apart from others with the same seed.
const importanceBits = 0x71736163

// importances are per head of a trace.
type importances struct {
	of      []float64   // from 0 to 1
	effects []float64   // as in the file: what a loss in the head weighs; nil without a file
	queries [][]float64 // of the query heads of each head, from 0 to 1; nil without a file of them
}

// readImportances returns the importances of the heads of a trace, and of their query heads.
func readImportances(o *options, trace *attention.Columns, seed uint64) (importances, error) {
	all, err := readOfHeads(o, trace, seed)
	if err == nil && o.queryImportance != "" {
		all.queries, err = readOfQueries(o.queryImportance, trace.Shape)
	}
	return all, err
}

func readOfHeads(o *options, trace *attention.Columns, seed uint64) (importances, error) {
	distribution := published
	if o.ranks != "" {
		var err error
		if distribution, err = readNumbers(o.ranks); err != nil {
			return importances{}, err
		}
	}
	path := cmp.Or(o.importance, trace.Importances)
	if path == "" {
		return drawImportances(trace.Shape.Heads(), distribution, seed), nil
	}
	effects, err := readEffects(path, trace.Shape)
	if err != nil {
		return importances{}, err
	}
	of := slices.Clone(effects)
	if o.ranks != "" || o.importance == "" {
		rank(of, distribution)
	}
	return importances{of: cut(of), effects: effects}, nil
}

func drawImportances(heads int, distribution []float64, seed uint64) importances {
	bits := random.Stream(seed, importanceBits)
	of := make([]float64, heads)
	for i := range of {
		of[i] = quantileOf(distribution, random.Unit(bits))
	}
	return importances{of: cut(of)}
}

// cut returns the numbers, cut to 0 to 1.
func cut(numbers []float64) []float64 {
	for i, x := range numbers {
		numbers[i] = min(max(x, 0), 1)
	}
	return numbers
}

// readOfQueries reads lines of layer, KV head, query head of the layer and importance, for all query heads.
func readOfQueries(path string, shape *attention.Shape) ([][]float64, error) {
	rows, err := readRows(path)
	if err != nil {
		return nil, err
	}
	known := map[[2]int]float64{} // by layer and query head
	for i, row := range rows {
		if len(row) != 4 {
			return nil, fmt.Errorf("%s: row %d has %d numbers; want a layer, a KV head, a query head and an importance", path,
				i+1, len(row))
		}
		kv, query := int(row[1]), int(row[2])
		if float64(query) != row[2] || float64(kv) != row[1] || query < 0 || query >= shape.QueryHeads ||
			query/shape.Group() != kv {
			return nil, fmt.Errorf("%s: row %d has query head %v of KV head %v; want query heads from 0 to %d, and a KV head "+
				"for each %d of them in order", path, i+1, row[2], row[1], shape.QueryHeads-1, shape.Group())
		}
		head := [2]int{int(row[0]), query}
		if _, twice := known[head]; twice {
			return nil, fmt.Errorf("%s: row %d is about query head %d of layer %d again; want one number for each head", path,
				i+1, head[1], head[0])
		}
		known[head] = min(max(row[3], 0), 1)
	}
	all := make([][]float64, shape.Heads())
	for place := range all {
		layer := shape.Layers[place/shape.KVHeads]
		for j := range shape.Group() {
			query := place%shape.KVHeads*shape.Group() + j
			x, ok := known[[2]int{layer, query}]
			if !ok {
				return nil, fmt.Errorf("%s: has nothing about query head %d of layer %d, which the trace has", path, query,
					layer)
			}
			all[place] = append(all[place], x)
		}
	}
	return all, nil
}

// readEffects reads a number for every head of the trace: from lines of layer, KV head and number, or from a row for
// each layer of the model with a number for each of its KV heads. Lines that begin with # are comments.
func readEffects(path string, shape *attention.Shape) ([]float64, error) {
	rows, err := readRows(path)
	if err != nil {
		return nil, err
	}
	triple := func(row []float64) bool {
		return len(row) == 3 && row[0] == math.Trunc(row[0]) && row[1] == math.Trunc(row[1])
	}
	known := map[[2]int]float64{}
	listed := !slices.ContainsFunc(rows, func(row []float64) bool { return !triple(row) })
	for layer, row := range rows {
		switch {
		case listed:
			head := [2]int{int(row[0]), int(row[1])}
			if _, twice := known[head]; twice {
				return nil, fmt.Errorf("%s: row %d is about KV head %d of layer %d again; want one number for each head", path,
					layer+1, head[1], head[0])
			}
			known[head] = row[2]
		case len(row) == shape.KVHeads:
			for kv, x := range row {
				known[[2]int{layer, kv}] = x
			}
		default:
			return nil, fmt.Errorf("%s: row %d has %d numbers; want a layer, a KV head and a number in all rows, or a number "+
				"for each of %d KV heads", path, layer+1, len(row), shape.KVHeads)
		}
	}
	effects := make([]float64, shape.Heads())
	for place := range effects {
		layer, kv := shape.Layers[place/shape.KVHeads], place%shape.KVHeads
		x, ok := known[[2]int{layer, kv}]
		if !ok {
			return nil, fmt.Errorf("%s: has nothing about KV head %d of layer %d, which the trace has", path, kv, layer)
		}
		effects[place] = x
	}
	return effects, nil
}

// mostRows bounds the numbers that a file of importances may have.
const mostRows = 1 << 16

func readRows(path string) (rows [][]float64, err error) {
	f, err := filestate.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		var row []float64
		for _, field := range strings.FieldsFunc(text, func(r rune) bool { return r == '\t' || r == ' ' || r == ',' }) {
			x, err := strconv.ParseFloat(field, 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("%s:%d: %.40q: want a number", path, n, field)
			}
			row = append(row, x)
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
		if len(rows) > mostRows {
			return nil, fmt.Errorf("%s: has more than %d rows; want importances of heads", path, mostRows)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w; want lines of numbers", path, err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s: has no numbers; want importances of heads", path)
	}
	return rows, nil
}

// readNumbers returns the numbers of a file in ascending order.
func readNumbers(path string) ([]float64, error) {
	rows, err := readRows(path)
	all := slices.Concat(rows...)
	slices.Sort(all)
	return all, err
}

// quantileOf returns a quantile of numbers in ascending order, between two of them on the line through both.
func quantileOf(sorted []float64, p float64) float64 {
	at := float64(p * float64(len(sorted)-1))
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((at-float64(i))*(sorted[i+1]-sorted[i]))
}

// rank replaces every number by the quantile of its rank in a distribution, given as ascending numbers. Equal numbers
// have the rank of the first of them.
func rank(numbers, distribution []float64) {
	sorted := slices.Clone(numbers)
	slices.SortFunc(sorted, cmp.Compare)
	for i, x := range numbers {
		at, _ := slices.BinarySearch(sorted, x)
		numbers[i] = quantileOf(distribution, float64(at)/float64(max(1, len(sorted)-1)))
	}
}
