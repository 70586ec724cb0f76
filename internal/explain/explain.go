// Package explain shows request by request what a policy does. It replays one cell and prints hits, loads and
// evictions.
package explain

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/terminal"
	"github.com/cachesim/cachesim/internal/traces"
)

// Options say what to print, and how.
type Options struct {
	From, To int    // positions of the first request and of the one at which to stop; To 0 means the end of the trace
	Format   string // table, csv, json (a request per line) or markdown
}

// errEnough ends the replay when nothing more is to be printed.
var errEnough = errors.New("explained")

// Print replays the cell on the trace, which must have its keys, and prints a row for each of the requests wanted. It
// stops early with ctx's error.
func Print(ctx context.Context, w io.Writer, t *traces.Trace, cell sim.Cell, replayer sim.ReplayerOptions,
	o Options) error {
	out := newPrinter(w, o.Format, t)
	err := sim.NewReplayer(t, replayer).Explain(ctx, cell, func(d sim.Decision) error {
		switch {
		case o.To > 0 && d.Pos >= o.To:
			return errEnough
		case d.Pos < o.From:
			return nil
		}
		return out.print(d)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return out.end()
}

// decision is a row of the output.
type decision struct {
	Position int      `json:"position"`
	Request  string   `json:"request"`
	Hit      bool     `json:"hit"`
	Entry    string   `json:"entry,omitempty"` // that answered
	Loaded   bool     `json:"loaded"`
	Evicted  []string `json:"evicted,omitempty"`
}

// printer prints decisions: a table when all are there, everything else line by line.
type printer struct {
	trace  *traces.Trace
	out    io.Writer
	table  *records.Grid // nil if rows are printed one by one
	format string
	csv    *csv.Writer
	json   *json.Encoder
}

func newPrinter(out io.Writer, format string, t *traces.Trace) *printer {
	p := &printer{trace: t, out: out, format: format}
	switch format {
	case "json":
		p.json = json.NewEncoder(out)
		p.json.SetEscapeHTML(false)
	case "csv":
		p.csv = csv.NewWriter(out)
		_ = p.csv.Write([]string{"position", "request", "hit", "entry", "loaded", "evicted"}) // Flush tells of errors
	default:
		p.table = &records.Grid{Heads: []records.Head{
			{Name: "position"},
			{Name: "request", IsText: true, Weight: records.Key, Wrap: 20},
			{Name: "outcome", IsText: true, Weight: records.Key, Wrap: 20},
			{Name: "evicted", IsText: true, Weight: records.Key, Wrap: 20},
		}}
	}
	return p
}

func (p *printer) print(d sim.Decision) error {
	row := decision{Position: d.Pos, Request: p.name(d.Query), Hit: d.Hit, Loaded: d.Loaded}
	if d.Hit {
		row.Entry = p.name(d.Entry)
	}
	for _, o := range d.Evicted {
		row.Evicted = append(row.Evicted, p.name(o))
	}
	evicted := strings.Join(row.Evicted, " ")
	switch {
	case p.json != nil:
		return p.json.Encode(row)
	case p.csv != nil:
		return p.csv.Write([]string{
			strconv.Itoa(row.Position), row.Request, strconv.FormatBool(row.Hit), row.Entry,
			strconv.FormatBool(row.Loaded), evicted,
		})
	}
	p.table.Rows = append(p.table.Rows, []string{strconv.Itoa(row.Position), row.Request, row.outcome(), evicted})
	return nil
}

// outcome describes the result of a request.
func (d decision) outcome() string {
	switch {
	case d.Hit && d.Entry == d.Request:
		return "hit"
	case d.Hit:
		return "hit by " + d.Entry
	case d.Loaded:
		return "miss"
	}
	return "miss, not loaded"
}

// name returns an object as the trace calls it.
func (p *printer) name(o policies.Object) string { return p.trace.Keys[o].String() }

func (p *printer) end() error {
	switch {
	case p.csv != nil:
		p.csv.Flush()
		return p.csv.Error()
	case p.table == nil:
		return nil
	}
	_, err := fmt.Fprintln(p.out, p.table.In(p.format, terminal.Width(p.out)))
	return err
}
