package overlap

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
)

// Print writes the rows of a trace, one or more, as table, csv, json (one line per row) or markdown.
func Print(w io.Writer, rows []Row, format string) error {
	return tabular.Printed{
		Table: func(w io.Writer, format string) error { return printTable(w, rows, format) },
		CSV:   func(w io.Writer) error { return encodeCSV(w, rows) },
		JSON:  func(w io.Writer) error { return jsonlines.Write(w, rows) },
	}.Print(w, format)
}

func printTable(w io.Writer, rows []Row, format string) error {
	t := tabular.Grid{Heads: []tabular.Head{
		{Name: "tau"},
		{Name: "similar pairs", Weight: 4},
		{Name: "neighbours, mean", Weight: 3},
		{Name: "most", Weight: 1},
		{Name: "lone queries", Weight: 2},
		{Name: "answerable", Weight: 5},
	}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{
			strconv.FormatFloat(r.Tau, 'g', -1, 64),
			show.Count(r.Pairs),
			fmt.Sprintf("%.2f", r.Mean),
			show.Count(int64(r.Most)),
			show.Share(r.LoneShare()),
			show.Share(r.AnswerableShare()),
		})
	}
	return printGrid(w, rows[0].Trace, t, format, "answerable: share of requests that come after one to a similar query "+
		"or the same;\nno policy of a semantic cache has a higher hit ratio")
}

// printGrid writes a table or markdown below what was compared, with a note.
func printGrid(w io.Writer, trace Trace, t tabular.Grid, format, note string) error {
	width := terminal.Width(w)
	took := time.Duration(trace.Seconds * float64(time.Second)).Round(time.Millisecond)
	title := fmt.Sprintf("%s: %s requests to %s queries, %d dimensions; %s, %s\nembeddings: %s", trace.Trace,
		show.Count(int64(trace.Requests)), show.Count(int64(trace.Queries)), trace.Dimension, took,
		show.Size(trace.Bytes, 4), trace.Embeddings)
	_, err := fmt.Fprintf(w, "%s\n\n%s\n\n%s\n", terminal.Wrapped(title, width), t.In(format, width),
		terminal.Wrapped(note, width))
	return err
}

// number formats a number with the fewest digits that read back as the same float64.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

var traceColumns = []string{"trace", "requests", "queries", "dimension", "embeddings", "bytes", "seconds"}

// cells returns the values of traceColumns.
func (t Trace) cells() []string {
	return []string{t.Trace, strconv.Itoa(t.Requests), strconv.Itoa(t.Queries), strconv.Itoa(t.Dimension), t.Embeddings,
		strconv.FormatInt(t.Bytes, 10), number(t.Seconds)}
}

func encodeCSV(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	_ = out.Write(append(slices.Clone(traceColumns), "tau", "pairs", "mean_neighbours", "most_neighbours", "lone_queries",
		"answerable_requests"))
	for _, r := range rows {
		_ = out.Write(append(r.cells(), number(r.Tau), strconv.FormatInt(r.Pairs, 10), number(r.Mean),
			strconv.Itoa(r.Most), strconv.Itoa(r.Lone), strconv.Itoa(r.Answerable)))
	}
	out.Flush()
	return out.Error()
}
