package sweep

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/best"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim"
)

// timingsName is the file next to the records with the time of each replay. It is separate because times depend on the
// machine.
const timingsName = "timings.csv"

type Timing struct {
	Cell    experiment.Cell
	Times   sim.Times
	Seconds float64
	Device  string // as in experiment.Result
}

type Collection struct {
	Records []records.Record // in the order of the plan, without auxiliary cells
	Series  []series.Row     // of the records, if cells keep series
	Timings []Timing         // of all cells
}

// ReplayTime returns how long the replays took together, counting each once.
func (c *Collection) ReplayTime() time.Duration {
	seconds := map[string]float64{}
	for _, t := range c.Timings {
		seconds[t.Cell.Hash] = t.Seconds
	}
	total := 0.0
	for _, s := range seconds {
		total += s
	}
	return time.Duration(total * float64(time.Second)).Round(10 * time.Millisecond)
}

// Collect turns the results of a plan, which must be complete, into records. Each is compared with the optimum of its
// cell, and the best of those that compete are marked. The records do not depend on who ran the cells, nor on the
// order.
func Collect(cells []experiment.Cell, finished *Finished) (*Collection, error) {
	if missing := finished.Missing(cells); len(missing) > 0 {
		return nil, &MissingCellsError{missing, len(experiment.WithoutRepetitions(cells)), finished.Damaged}
	}
	recs, err := finished.results.Records(cells, PlanDigest(cells))
	if err != nil {
		return nil, err
	}
	best.MarkAll(recs)
	c := &Collection{Records: recs, Series: finished.results.Series(cells)}
	for _, cell := range cells {
		result := finished.results[cell.Hash]
		c.Timings = append(c.Timings, Timing{cell, result.Times, result.Seconds, result.Device})
	}
	return c, nil
}

// Timed returns the records with the times that their replays took here. Unlike Records, they depend on the machine.
func (c *Collection) Timed() []records.Record {
	timed := slices.Clone(c.Records)
	at := 0
	for _, t := range c.Timings {
		if !t.Cell.Auxiliary {
			t.Times.AddTo(&timed[at])
			at++
		}
	}
	return timed
}

// Write writes records.jsonl, records.csv, records.parquet and timings.csv into a folder, and series.jsonl and
// series.parquet if there are series.
func (c *Collection) Write(dir string) error {
	if err := records.Write(dir, c.Records); err != nil {
		return err
	}
	if err := series.Write(dir, c.Series); err != nil {
		return err
	}
	return atomicfile.WriteIn(dir, timingsName, func(w io.Writer) error { return writeTimings(w, c.Timings) })
}

func writeTimings(w io.Writer, timings []Timing) error {
	rows := [][]string{{"cell", "trace", "policy", "capacity", "seed", "axes", "auxiliary", "ns_per_request",
		"prediction_ns_per_request", "seconds", "device"}}
	for _, t := range timings {
		c := t.Cell
		rows = append(rows, []string{
			c.Hash, c.TraceName(), c.Name(), c.Capacity.String(), strconv.FormatUint(c.Seed, 10), c.Axes,
			strconv.FormatBool(c.Auxiliary), nanoseconds(t.Times, metric.NsPerRequest),
			nanoseconds(t.Times, predict.NsMetric), strconv.FormatFloat(t.Seconds, 'f', 6, 64), cmp.Or(t.Device, "cpu"),
		})
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func nanoseconds(times sim.Times, m metric.Metric) string {
	ns, ok := times[m.Name]
	if !ok {
		return ""
	}
	return strconv.FormatFloat(ns, 'f', 2, 64)
}

type MissingCellsError struct {
	Cells []experiment.Cell
	Of    int // cells in the plan

	Damaged []string // damaged files of results, whose cells count as missing
}

const maxListed = 20

func (e *MissingCellsError) Error() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%d of %d cells are not finished:", len(e.Cells), e.Of)
	for _, c := range e.Cells[:min(maxListed, len(e.Cells))] {
		fmt.Fprintf(b, "\n  %d  %s", c.Number, c)
	}
	if more := len(e.Cells) - maxListed; more > 0 {
		fmt.Fprintf(b, "\n  and %d more", more)
	}
	for _, path := range e.Damaged[:min(maxListed, len(e.Damaged))] {
		fmt.Fprintf(b, "\n%s is damaged; its cell must run again", path)
	}
	return b.String()
}
