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

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
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
	out := newPrinter(w, o.Format, t, cache.HasStreams(cell.Replayed().Cache))
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
	Refused  bool     `json:"refused,omitempty"` // by the admission
	Evicted  []string `json:"evicted,omitempty"`
	Removed  []string `json:"removed,omitempty"` // before the request
	// Prefetched is what was loaded ahead of its request afterwards.
	Prefetched []string `json:"prefetched,omitempty"`
}

// printer prints decisions: a table when all are there, everything else line by line.
type printer struct {
	trace  *traces.Trace
	out    io.Writer
	table  *tabular.Grid // nil if rows are printed one by one
	format string
	csv    *csv.Writer
	json   *json.Encoder
	ahead  bool // the cache prefetches
}

func newPrinter(out io.Writer, format string, t *traces.Trace, ahead bool) *printer {
	p := &printer{trace: t, out: out, format: format, ahead: ahead}
	switch format {
	case "json":
		p.json = jsonlines.NewEncoder(out)
	case "csv":
		p.csv = csv.NewWriter(out)
		head := []string{"position", "request", "hit", "entry", "loaded", "evicted"}
		if len(t.Removals) > 0 {
			head = append(head, "removed")
		}
		if ahead {
			head = append(head, "prefetched")
		}
		_ = p.csv.Write(head) // Flush tells of errors
	default:
		p.table = &tabular.Grid{Heads: []tabular.Head{
			{Name: "position"},
			{Name: "request", IsText: true, Weight: tabular.Key, Wrap: 20},
			{Name: "outcome", IsText: true, Weight: tabular.Key, Wrap: 20},
			{Name: "evicted", IsText: true, Weight: tabular.Key, Wrap: 20},
		}}
		if len(t.Removals) > 0 {
			p.table.Heads = append(p.table.Heads, tabular.Head{Name: "removed before", IsText: true, Weight: tabular.Key,
				Wrap: 20})
		}
		if ahead {
			p.table.Heads = append(p.table.Heads, tabular.Head{Name: "prefetched", IsText: true, Weight: tabular.Key, Wrap: 20})
		}
	}
	return p
}

func (p *printer) print(d sim.Decision) error {
	row := decision{Position: d.Pos, Request: p.trace.Keys[d.Query].String(), Hit: d.Hit, Loaded: d.Loaded,
		Refused: d.Refused,
		Evicted: p.namesOf(d, d.Evicted), Removed: p.namesOf(d, d.Removed), Prefetched: p.names(d, d.Prefetched)}
	if d.Hit {
		row.Entry = p.trace.Keys[d.Entry].String()
	}
	if p.json != nil {
		return p.json.Encode(row)
	}
	last := []string{strings.Join(row.Evicted, " ")}
	if len(p.trace.Removals) > 0 {
		last = append(last, strings.Join(row.Removed, " "))
	}
	if p.ahead {
		last = append(last, strings.Join(row.Prefetched, " "))
	}
	if p.csv != nil {
		return p.csv.Write(append([]string{
			strconv.Itoa(row.Position), row.Request, strconv.FormatBool(row.Hit), row.Entry, strconv.FormatBool(row.Loaded),
		}, last...))
	}
	p.table.Rows = append(p.table.Rows, append([]string{strconv.Itoa(row.Position), row.Request, row.outcome()}, last...))
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
	case d.Refused:
		return "miss, not admitted"
	}
	return "miss, not loaded"
}

func (p *printer) namesOf(d sim.Decision, left []sim.Left) []string {
	objects := make([]policies.Object, len(left))
	for i, l := range left {
		objects[i] = l.Object
	}
	return p.names(d, objects)
}

// names returns objects of a decision as the trace calls them, or would call them.
func (p *printer) names(d sim.Decision, objects []policies.Object) (names []string) {
	for _, o := range objects {
		if known := len(p.trace.Keys); int(o) >= known {
			names = append(names, d.Strangers[int(o)-known].String())
		} else {
			names = append(names, p.trace.Keys[o].String())
		}
	}
	return names
}

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
