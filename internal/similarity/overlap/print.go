package overlap

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/cachesim/cachesim/internal/jsonlines"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/terminal"
)

// Print writes the rows of a trace, one or more, as table, csv, json (one line per row) or markdown.
func Print(w io.Writer, rows []Row, format string) error {
	switch format {
	case "csv":
		return encodeCSV(w, rows)
	case "json":
		return encodeJSON(w, rows)
	}
	t := records.Grid{Heads: []records.Head{
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
			records.Count(r.Pairs),
			fmt.Sprintf("%.2f", r.Mean),
			records.Count(int64(r.Most)),
			records.Share(r.LoneShare()),
			records.Share(r.AnswerableShare()),
		})
	}
	width, r := terminal.Width(w), rows[0]
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Millisecond)
	title := fmt.Sprintf("%s: %s requests to %s queries, %d dimensions; %s, %s\nembeddings: %s", r.Trace,
		records.Count(int64(r.Requests)), records.Count(int64(r.Queries)), r.Dimension, took,
		records.Capacity(r.Bytes, records.Bytes), r.Embeddings)
	_, err := fmt.Fprintf(w, "%s\n\n%s\n\n%s\n", terminal.Wrapped(title, width), t.In(format, width),
		terminal.Wrapped("answerable: share of requests that come after one to a similar query or the same;\n"+
			"no policy of a semantic cache has a higher hit ratio", width))
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
