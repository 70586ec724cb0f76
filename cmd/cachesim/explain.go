package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
)

type explainFlags struct {
	trace    traceFlags
	capacity capacityFlags
	format   formatFlag
	policy   string
	parts    partFlags
	from, to int
}

func newExplainCommand() *cobra.Command {
	f := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "explain TRACE...",
		Short: "Tell request by request what a policy does: what hits, and what leaves for what",
		Long: `Replays the trace under one policy at one capacity and prints a row for each request: whether it hit, and on
which entry where another than its own answered it; whether what missed was loaded; and which objects left for it.

It is meant for examples of a paper, for a first look at a policy of one's own, and for the place at which two policies
part. --from and --to choose the requests to print; all before them are replayed too.`,
		Example: `  cachesim explain trace.csv --policy arc --capacity 10 --to 100
  cachesim explain rac-example --cache 'semantic(match=identity)' --policy rac --capacity 6
  cachesim explain trace.zst --policy s3fifo --format json | jq -c 'select(.loaded == false and .hit == false)'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.trace.register(cmd)
	f.trace.registerEmbeddings(cmd)
	f.capacity.register(cmd, "1%")
	f.format.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.policy, "policy", "lru", "the policy, with parameters as in 's3fifo(small=0.1)'")
	f.parts.registerSingle(cmd, sim.CacheKind, sim.PredictorKind)
	flags.IntVar(&f.from, "from", 0, "position of the first request to print; the first of the trace is 0")
	flags.IntVar(&f.to, "to", 0, "position before which to stop (0: the end of the trace)")
	completePolicies(cmd, "policy")
	return cmd
}

func (f *explainFlags) run(cmd *cobra.Command, args []string) error {
	cell, capacities, mode, err := f.cell()
	if err != nil {
		return err
	}
	w, err := f.trace.workload(cmd, args)
	if err != nil {
		return err
	}
	needs := sim.Needs([]sim.Parts{cell.Parts}, capacity.NeedBytes(capacities, mode))
	needs.Keys = true
	t, _, err := f.trace.load(cmd, w, traces.LoadOptions{Needs: needs}, false)
	if err != nil {
		return err
	}
	if f.from >= len(t.Objects) {
		return fmt.Errorf("--from %d: the trace has %d requests, the first of them 0", f.from, len(t.Objects))
	}
	resolved, err := capacity.Resolve(capacities, mode, t)
	if err != nil {
		return err
	}
	cell.Capacity = resolved[0]
	out := newExplainPrinter(cmd.OutOrStdout(), string(f.format), t)
	options := sim.ReplayerOptions{Note: func(text string) { note(cmd, f.trace.quiet, text) }}
	err = sim.NewReplayer(t, options).Explain(cmd.Context(), cell, func(d sim.Decision) error {
		switch {
		case f.to > 0 && d.Pos >= f.to:
			return errExplained
		case d.Pos < f.from:
			return nil
		}
		return out.print(d)
	})
	if err != nil && err != errExplained {
		return err
	}
	return out.end()
}

// errExplained ends the replay where nothing more is to be printed.
var errExplained = errors.New("explained")

// cell reads the flags, and leaves the capacity open until the trace is known.
func (f *explainFlags) cell() (c sim.Cell, capacities []capacity.Spec, mode capacity.Mode, err error) {
	c.Seed = f.trace.seed
	if c.Policy, err = policies.ParseSpec(f.policy); err != nil {
		return c, nil, mode, err
	}
	if err := f.parts.single(&c.Parts); err != nil {
		return c, nil, mode, err
	}
	capacities, mode, err = f.capacity.parse()
	switch {
	case err != nil:
	case len(capacities) != 1:
		err = fmt.Errorf("--capacity %s: want one capacity", f.capacity.list)
	case f.from < 0 || f.to < 0 || f.to > 0 && f.to <= f.from:
		err = fmt.Errorf("--from %d --to %d: want positions from 0 on, the first before the last", f.from, f.to)
	}
	return c, capacities, mode, err
}

// decision is a row of what is printed.
type decision struct {
	Position int      `json:"position"`
	Request  string   `json:"request"`
	Hit      bool     `json:"hit"`
	Entry    string   `json:"entry,omitempty"` // that answered
	Loaded   bool     `json:"loaded"`
	Evicted  []string `json:"evicted,omitempty"`
}

// explainPrinter prints decisions: a table when all are there, everything else line by line.
type explainPrinter struct {
	trace    *traces.Trace
	out      io.Writer
	table    table.Writer
	markdown bool
	csv      *csv.Writer
	json     *json.Encoder
}

func newExplainPrinter(out io.Writer, format string, t *traces.Trace) *explainPrinter {
	p := &explainPrinter{trace: t, out: out}
	switch format {
	case "json":
		p.json = json.NewEncoder(out)
		p.json.SetEscapeHTML(false)
	case "csv":
		p.csv = csv.NewWriter(out)
		_ = p.csv.Write([]string{"position", "request", "hit", "entry", "loaded", "evicted"}) // Flush tells of errors
	default:
		p.markdown = format == "markdown"
		p.table = records.NewTable()
		p.table.AppendHeader(table.Row{"position", "request", "outcome", "evicted"})
	}
	return p
}

func (p *explainPrinter) print(d sim.Decision) error {
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
			strconv.Itoa(
				row.Position,
			),
			row.Request,
			strconv.FormatBool(row.Hit),
			row.Entry,
			strconv.FormatBool(row.Loaded),
			evicted,
		})
	}
	p.table.AppendRow(table.Row{row.Position, row.Request, row.outcome(), evicted})
	return nil
}

// outcome says in words what became of a request.
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
func (p *explainPrinter) name(o policies.Object) string { return p.trace.Keys[o].String() }

func (p *explainPrinter) end() error {
	switch {
	case p.csv != nil:
		p.csv.Flush()
		return p.csv.Error()
	case p.table == nil:
		return nil
	}
	text := p.table.Render()
	if p.markdown {
		text = p.table.RenderMarkdown()
	}
	_, err := fmt.Fprintln(p.out, text)
	return err
}
