package accuracy

import (
	"encoding/csv"
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/results/plots"
	"github.com/cachesim/cachesim/internal/results/plots/axes"
	"github.com/cachesim/cachesim/internal/results/plots/canvas"
	"github.com/cachesim/cachesim/internal/results/plots/look"
)

// Print writes the results to w as table, csv (one row per predictor and horizon), json (one line per predictor) or
// markdown.
func Print(w io.Writer, results []*Result, format string) error {
	return tabular.Printed{
		Table: func(w io.Writer, format string) error { return printTables(w, results, format) },
		CSV:   func(w io.Writer) error { return encodeCSV(w, results) },
		JSON:  tabular.EachJSON(results),
	}.Print(w, format)
}

func printTables(w io.Writer, results []*Result, format string) error {
	first := results[0]
	title := fmt.Sprintf("%s: %s questions at %s moments about the %s objects that a cache with LRU holds", first.Trace,
		show.Count(int64(first.Questions)), show.Count(int64(first.Moments)), show.Count(first.Capacity))
	return tabular.PrintTables(w, format, title, summaryTable(results), horizonTable(results))
}

// Columns that identify rows.
var (
	predictorHead = tabular.Head{Name: "predictor", IsText: true, Weight: tabular.Key, Wrap: 16}
	horizonHead   = tabular.Head{Name: "next request in", IsText: true, Weight: tabular.Key, Wrap: 16}
)

func summaryTable(results []*Result) tabular.Grid {
	t := tabular.Grid{Heads: []tabular.Head{
		predictorHead,
		{Name: "victims of opt", Weight: 9},
		{Name: "by chance", Weight: 8},
		{Name: "rank correlation", Weight: 7},
		{Name: "RMSE of log time", Weight: 6},
		{Name: "said never", Weight: 4},
		{Name: "of these right", Weight: 5},
		{Name: "trainings", Weight: 2},
		{Name: "ns/object", Weight: 3},
	}}
	for _, r := range results {
		t.Rows = append(t.Rows, []string{
			r.Predictor, show.Share(r.Agreement), show.Share(r.Chance), known(r.All.Spearman, decimals),
			known(r.All.RMSE, decimals), show.Share(r.All.SaidNever), known(r.NeverRight, show.Share),
			show.Count(r.Trainings), fmt.Sprintf("%.0f", r.PredictionNs),
		})
	}
	return t
}

func horizonTable(results []*Result) tabular.Grid {
	t := tabular.Grid{Heads: []tabular.Head{
		horizonHead,
		predictorHead,
		{Name: "questions", Weight: 2},
		{Name: "predicted (median)", Weight: 5},
		{Name: "rank correlation", Weight: 4},
		{Name: "RMSE of log time", Weight: 3},
		{Name: "said never", Weight: 1},
	}}
	for i := range results[0].Horizons { // the questions are the same for all
		for _, r := range results {
			h := r.Horizons[i]
			t.Rows = append(t.Rows, []string{
				h.name(), r.Predictor, show.Count(int64(h.Questions)),
				show.Count(int64(math.Round(h.Median))) + " " + r.Clock, known(h.Spearman, decimals), known(h.RMSE, decimals),
				show.Share(h.SaidNever),
			})
		}
	}
	return t
}

// name says how far away the next request is.
func (h Horizon) name() string {
	if h.Never {
		return "never"
	}
	return show.Count(int64(h.From)) + " to " + show.Count(int64(h.To)-1) + " requests"
}

// known writes a figure that may not exist.
func known(x *float64, write func(float64) string) string {
	if x == nil {
		return "-"
	}
	return write(*x)
}

func decimals(x float64) string { return fmt.Sprintf("%.3f", x) }

// encodeCSV writes one row per predictor and horizon; the row of all questions has no horizon.
func encodeCSV(w io.Writer, results []*Result) error {
	lines := [][]string{{
		"trace", "predictor", "seed", "capacity", "clock", "moments", "agreement", "chance", "never_right", "trainings",
		"from", "to", "never", "questions", "median", "spearman", "rmse_log", "said_never",
	}}
	for _, r := range results {
		of := []string{
			r.Trace, r.Predictor, fmt.Sprint(r.Seed), fmt.Sprint(r.Capacity), r.Clock, strconv.Itoa(r.Moments),
			exact(&r.Agreement), exact(&r.Chance), exact(r.NeverRight), fmt.Sprint(r.Trainings),
		}
		for i, h := range append([]Horizon{r.All}, r.Horizons...) {
			from, to := exact(&h.From), exact(&h.To)
			if i == 0 || h.Never {
				from, to = "", ""
			}
			lines = append(lines, append(of[:len(of):len(of)], from, to, strconv.FormatBool(h.Never),
				strconv.Itoa(h.Questions), exact(&h.Median), exact(h.Spearman), exact(h.RMSE), exact(&h.SaidNever)))
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// exact writes every digit of x, or nothing if x is nil.
func exact(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'f', -1, 64)
}

// Write writes accuracy.json (lines), accuracy.csv and the figure calibration (SVG and PNG) into dir, which is created
// if missing.
func Write(dir string, results []*Result, o look.Options) error {
	d, err := calibrationFigure(results).Draw("calibration", o, canvas.SVG, canvas.PNG)
	if err != nil {
		return err
	}
	outputs := append(plots.Outputs([]plots.Drawing{d}),
		atomicfile.Output{Name: "accuracy.json", Write: tabular.EachJSON(results)},
		atomicfile.Output{Name: "accuracy.csv", Write: func(w io.Writer) error { return encodeCSV(w, results) }})
	return atomicfile.WriteAllIn(dir, outputs...)
}

// calibrationFigure draws the median true time of each decile over the predicted one, with the range that holds eight
// of ten.
func calibrationFigure(results []*Result) *plots.Figure {
	f := plots.New(results[0].Trace+": calibration", "predicted time until the next request ("+clocks(results)+")",
		"true time: median, and the middle 80%")
	f.SetX(axes.Log, axes.Number)
	f.SetY(axes.Log, axes.Number)
	low, high := math.Inf(1), 0.0
	for i, r := range results {
		line := plots.Line{Label: r.Predictor, Bars: true, Shift: vg.Length(3 * i), Style: plots.SeriesStyle(i)}
		for _, d := range r.Calibration {
			if n := len(line.X); n > 0 && line.X[n-1] == onLog(d.Predicted) {
				continue // a predictor with the same prediction for many objects has no deciles
			}
			line.X, line.Y = append(line.X, onLog(d.Predicted)), append(line.Y, onLog(d.True))
			line.Low, line.High = append(line.Low, onLog(d.Low)), append(line.High, onLog(d.High))
			low, high = min(low, onLog(d.Predicted)), max(high, onLog(d.Predicted))
		}
		f.AddLine(line)
	}
	f.AddLine(plots.Line{
		Label: "as predicted", X: []float64{low, high}, Y: []float64{low, high},
		Style: plots.Style{Color: color.NRGBA{0x70, 0x70, 0x70, 0xff}, Dashes: []vg.Length{1.5, 3}, Width: 1},
	})
	return f
}

// onLog moves 0, which has no place on a logarithmic axis, to 1: an object that is due by now is due at the next
// request.
func onLog(x float64) float64 { return max(x, 1) }

// clocks names the unit of time of the results.
func clocks(results []*Result) string {
	for _, r := range results[1:] {
		if r.Clock != results[0].Clock {
			return "requests or prompts, as the predictor counts"
		}
	}
	return results[0].Clock
}
