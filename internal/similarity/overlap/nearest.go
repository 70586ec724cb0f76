package overlap

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
)

// Rank has quantiles, over all queries, of the similarity to the other query of a rank.
type Rank struct {
	Trace
	Rank    int     `json:"rank"` // 1: the nearest
	Mean    float64 `json:"mean_similarity"`
	Least   float32 `json:"least_similarity"`
	Lower   float32 `json:"p10_similarity"` // of a tenth of the queries it is at most this
	Median  float32 `json:"p50_similarity"`
	Upper   float32 `json:"p90_similarity"`
	Highest float32 `json:"p99_similarity"`
	Most    float32 `json:"most_similarity"`
}

// CheckNearest rejects a number of nearest queries, the value of a flag, for which there is no search.
func CheckNearest(flag string, k int) error {
	if k < 1 || k > similarity.MostNearest {
		return fmt.Errorf("%s %d: want a number of queries from 1 to %d", flag, k, similarity.MostNearest)
	}
	return nil
}

// MeasureNearest returns rows for the ranks 1, 2, 5, 10, 20, 50 and so on, and the last one; took is the time that
// finding the lists took. It fails if there are fewer than two queries.
func MeasureNearest(t *traces.Trace, nearest *similarity.Nearest, took time.Duration) (rows []Rank, err error) {
	if nearest.K() == 0 {
		return nil, fmt.Errorf("%s has too few distinct queries (%d): want two or more, so that each has a nearest other",
			t.Name, nearest.Len())
	}
	at := make([]float32, nearest.Len())
	for _, rank := range ranks(nearest.K()) {
		r, sum := Rank{Trace: describe(t, nearest.Bytes(), took), Rank: rank}, 0.0
		for i := range at {
			_, at[i] = nearest.At(i, rank-1)
			sum += float64(at[i])
		}
		slices.Sort(at)
		quantile := func(q float64) float32 { return at[max(0, int(math.Ceil(q*float64(len(at))))-1)] }
		r.Mean, r.Least, r.Lower, r.Median = sum/float64(len(at)), at[0], quantile(0.1), quantile(0.5)
		r.Upper, r.Highest, r.Most = quantile(0.9), quantile(0.99), at[len(at)-1]
		rows = append(rows, r)
	}
	return rows, nil
}

// ranks returns 1, 2, 5, 10, 20, 50 and so on below k, and k.
func ranks(k int) (list []int) {
	for power := 1; power < k; power *= 10 {
		for _, digit := range []int{1, 2, 5} {
			if digit*power < k {
				list = append(list, digit*power)
			}
		}
	}
	if k > 0 {
		list = append(list, k)
	}
	return list
}

// PrintNearest writes the rows of a trace, one or more, as table, csv, json (one line per row) or markdown.
func PrintNearest(w io.Writer, rows []Rank, format string) error {
	return tabular.Printed{
		Table: func(w io.Writer, format string) error { return printNearest(w, rows, format) },
		CSV:   func(w io.Writer) error { return encodeNearestCSV(w, rows) },
		JSON:  func(w io.Writer) error { return jsonlines.Write(w, rows) },
	}.Print(w, format)
}

func printNearest(w io.Writer, rows []Rank, format string) error {
	t := tabular.Grid{Heads: []tabular.Head{
		{Name: "rank"},
		{Name: "mean", Weight: 5},
		{Name: "least", Weight: 1},
		{Name: "P10", Weight: 3},
		{Name: "P50", Weight: 6},
		{Name: "P90", Weight: 4},
		{Name: "P99", Weight: 2},
		{Name: "most", Weight: 1},
	}}
	for _, r := range rows {
		cells := []string{show.Count(int64(r.Rank)), fmt.Sprintf("%.4f", r.Mean)}
		for _, x := range r.quantiles() {
			cells = append(cells, fmt.Sprintf("%.4f", x))
		}
		t.Rows = append(t.Rows, cells)
	}
	return printGrid(w, rows[0].Trace, t, format, "similarity of each query to the nearest other (rank 1), the second, "+
		"and so on:\nwith the threshold P90 of rank 1, at least a tenth of the queries have a similar one")
}

func encodeNearestCSV(w io.Writer, rows []Rank) error {
	out := csv.NewWriter(w)
	_ = out.Write(append(slices.Clone(traceColumns), "rank", "mean_similarity", "least_similarity", "p10_similarity",
		"p50_similarity", "p90_similarity", "p99_similarity", "most_similarity"))
	for _, r := range rows {
		cells := append(r.cells(), strconv.Itoa(r.Rank), number(r.Mean))
		for _, x := range r.quantiles() {
			cells = append(cells, similarityText(x))
		}
		_ = out.Write(cells)
	}
	out.Flush()
	return out.Error()
}

func (r Rank) quantiles() []float32 {
	return []float32{r.Least, r.Lower, r.Median, r.Upper, r.Highest, r.Most}
}

// similarityText formats a similarity with the fewest digits that read back as the same float32.
func similarityText(x float32) string { return strconv.FormatFloat(float64(x), 'g', -1, 32) }

// WriteNearest writes the lists as CSV, starting with the list of the first query: its id, the rank, the id of the
// other query, and their similarity. The trace must have its keys.
func WriteNearest(w io.Writer, t *traces.Trace, nearest *similarity.Nearest) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"query", "rank", "nearest", "similarity"})
	for i := range nearest.Len() {
		for rank := range nearest.K() {
			id, similarity := nearest.At(i, rank)
			if err := out.Write([]string{t.Keys[i].String(), strconv.Itoa(rank + 1), t.Keys[id].String(),
				similarityText(similarity)}); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}
