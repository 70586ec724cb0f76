package overlap

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/cachesim/cachesim/internal/jsonlines"
	"github.com/cachesim/cachesim/internal/records"
)

// Print writes the rows of a trace, one or more, as table, csv, json (one line per row) or markdown.
func Print(w io.Writer, rows []Row, format string) error {
	switch format {
	case "csv":
		return encodeCSV(w, rows)
	case "json":
		return encodeJSON(w, rows)
	}
	t := records.NewTable()
	records.SetHeader(t, table.Row{"tau", "similar pairs", "neighbours, mean", "most", "lone queries",
		"answerable"}, func(int) bool { return false })
	for _, r := range rows {
		t.AppendRow(table.Row{
			strconv.FormatFloat(
				r.Tau,
				'g',
				-1,
				64,
			),
			records.Count(r.Pairs),
			fmt.Sprintf("%.2f", r.Mean),
			records.Count(int64(r.Most)),
			records.Share(r.LoneShare()),
			records.Share(r.AnswerableShare()),
		})
	}
	render := table.Writer.Render
	if format == "markdown" {
		render = table.Writer.RenderMarkdown
	}
	r := rows[0]
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Millisecond)
	_, err := fmt.Fprintf(w, "%s: %s requests to %s queries, %d dimensions; %s, %s\nembeddings: %s\n\n%s\n\n%s\n", r.Trace,
		records.Count(int64(r.Requests)), records.Count(int64(r.Queries)), r.Dimension, took, records.Capacity(r.Bytes,
			records.Bytes), r.Embeddings, render(t),
		"answerable: share of requests that come after one to a similar query or the same;\nno policy of a semantic cache "+
			"has a higher hit ratio")
	return err
}

func encodeJSON(w io.Writer, rows []Row) error {
	return jsonlines.Write(w, rows)
}

func encodeCSV(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{
		"trace",
		"requests",
		"queries",
		"dimension",
		"embeddings",
		"bytes",
		"seconds",
		"tau",
		"pairs",
		"mean_neighbours",
		"most_neighbours",
		"lone_queries",
		"answerable_requests",
	})
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, r := range rows {
		_ = out.Write([]string{
			r.Trace,
			strconv.Itoa(r.Requests),
			strconv.Itoa(r.Queries),
			strconv.Itoa(r.Dimension),
			r.Embeddings,
			strconv.FormatInt(r.Bytes, 10),
			number(r.Seconds),
			number(r.Tau),
			strconv.FormatInt(
				r.Pairs,
				10,
			),
			number(r.Mean),
			strconv.Itoa(r.Most),
			strconv.Itoa(r.Lone),
			strconv.Itoa(r.Answerable),
		})
	}
	out.Flush()
	return out.Error()
}
