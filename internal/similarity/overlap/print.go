package overlap

import (
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
)

// Printable is a Row or a Rank.
type Printable interface {
	compared() Trace
	layout() layout
	shown() []string // in a table
	values() []string
}

// layout is how rows are printed.
type layout struct {
	heads   []tabular.Head
	note    string   // below the table
	columns []string // of values, in CSV
}

func (t Trace) compared() Trace { return t }

func (r Row) layout() layout {
	return layout{[]tabular.Head{
		{Name: "tau"},
		{Name: "similar pairs", Weight: 4},
		{Name: "neighbours, mean", Weight: 3},
		{Name: "most", Weight: 1},
		{Name: "lone queries", Weight: 2},
		{Name: "answerable", Weight: 5},
	}, "answerable: share of requests that come after one to a similar query or the same;\nno policy of a semantic " +
		"cache has a higher hit ratio", []string{"tau", "pairs", "mean_neighbours", "most_neighbours", "lone_queries",
		"answerable_requests"}}
}

func (r Row) shown() []string {
	return []string{number(r.Tau), show.Count(r.Pairs), fmt.Sprintf("%.2f", r.Mean), show.Count(int64(r.Most)),
		show.Share(r.LoneShare()), show.Share(r.AnswerableShare())}
}

func (r Row) values() []string {
	return []string{number(r.Tau), strconv.FormatInt(r.Pairs, 10), number(r.Mean), strconv.Itoa(r.Most),
		strconv.Itoa(r.Lone), strconv.Itoa(r.Answerable)}
}

func (r Rank) layout() layout {
	return layout{[]tabular.Head{
		{Name: "rank"},
		{Name: "mean", Weight: 5},
		{Name: "least", Weight: 1},
		{Name: "P10", Weight: 3},
		{Name: "P50", Weight: 6},
		{Name: "P90", Weight: 4},
		{Name: "P99", Weight: 2},
		{Name: "most", Weight: 1},
	}, "similarity of each query to the nearest other (rank 1), the second, and so on:\nwith the threshold P90 of " +
		"rank 1, at least a tenth of the queries have a similar one", []string{"rank", "mean_similarity", "least_similarity",
		"p10_similarity", "p50_similarity", "p90_similarity", "p99_similarity", "most_similarity"}}
}

func (r Rank) quantiles() []float32 {
	return []float32{r.Least, r.Lower, r.Median, r.Upper, r.Highest, r.Most}
}

func (r Rank) shown() []string {
	cells := []string{show.Count(int64(r.Rank)), fmt.Sprintf("%.4f", r.Mean)}
	for _, x := range r.quantiles() {
		cells = append(cells, fmt.Sprintf("%.4f", x))
	}
	return cells
}

func (r Rank) values() []string {
	cells := []string{strconv.Itoa(r.Rank), number(r.Mean)}
	for _, x := range r.quantiles() {
		cells = append(cells, similarityText(x))
	}
	return cells
}

// Print writes the rows of a trace, one or more, as table, csv, json (one line per row) or markdown.
func Print[R Printable](w io.Writer, rows []R, format string) error {
	layout := rows[0].layout()
	return tabular.Printed{
		Table: func(w io.Writer, format string) error {
			t := tabular.Grid{Heads: layout.heads}
			for _, r := range rows {
				t.Rows = append(t.Rows, r.shown())
			}
			width := terminal.Width(w)
			_, err := fmt.Fprintf(w, "%s\n\n%s\n\n%s\n", terminal.Wrapped(rows[0].compared().title(), width),
				t.In(format, width), terminal.Wrapped(layout.note, width))
			return err
		},
		CSV: func(w io.Writer) error {
			return writeCSV(w, slices.Concat(traceColumns, layout.columns), func(yield func([]string) bool) {
				for _, r := range rows {
					if !yield(append(r.compared().cells(), r.values()...)) {
						return
					}
				}
			})
		},
		JSON: func(w io.Writer) error { return jsonlines.Write(w, rows) },
	}.Print(w, format)
}

// title says in words what was compared.
func (t Trace) title() string {
	took := time.Duration(t.Seconds * float64(time.Second)).Round(time.Millisecond)
	return fmt.Sprintf("%s: %s requests to %s queries, %d dimensions; %s, %s\nembeddings: %s", t.Trace,
		show.Count(int64(t.Requests)), show.Count(int64(t.Queries)), t.Dimension, took, show.Size(t.Bytes, 4), t.Embeddings)
}

var traceColumns = []string{"trace", "requests", "queries", "dimension", "embeddings", "bytes", "seconds"}

// cells returns the values of traceColumns.
func (t Trace) cells() []string {
	return []string{t.Trace, strconv.Itoa(t.Requests), strconv.Itoa(t.Queries), strconv.Itoa(t.Dimension), t.Embeddings,
		strconv.FormatInt(t.Bytes, 10), number(t.Seconds)}
}

// number formats a number with the fewest digits that read back as the same float64.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// similarityText formats a similarity with the fewest digits that read back as the same float32.
func similarityText(x float32) string { return strconv.FormatFloat(float64(x), 'g', -1, 32) }

func writeCSV(w io.Writer, columns []string, rows iter.Seq[[]string]) error {
	out := csv.NewWriter(w)
	_ = out.Write(columns)
	for row := range rows {
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// WritePairs writes the pairs with a similarity of at least from as CSV: the ids of both queries, the earlier one
// first, and their similarity. They are in the order of the later query in the trace, the most similar first. The trace
// must have its keys.
func WritePairs(w io.Writer, t *traces.Trace, neighbours *similarity.Neighbours, from float32) error {
	return writeCSV(w, []string{"first", "second", "similarity"}, func(yield func([]string) bool) {
		for o := range neighbours.Len() {
			ids, similarities := neighbours.Of(uint32(o))
			for k, id := range ids {
				if similarities[k] < from {
					break
				}
				if int(id) <= o && !yield([]string{t.Keys[id].String(), t.Keys[o].String(), similarityText(similarities[k])}) {
					return
				}
			}
		}
	})
}

// WriteNearest writes the lists as CSV, starting with the list of the first query: its id, the rank, the id of the
// other query, and their similarity. The trace must have its keys.
func WriteNearest(w io.Writer, t *traces.Trace, nearest *similarity.Nearest) error {
	return writeCSV(w, []string{"query", "rank", "nearest", "similarity"}, func(yield func([]string) bool) {
		for i := range nearest.Len() {
			for rank := range nearest.K() {
				id, similarity := nearest.At(i, rank)
				if !yield([]string{t.Keys[i].String(), strconv.Itoa(rank + 1), t.Keys[id].String(), similarityText(similarity)}) {
					return
				}
			}
		}
	})
}
