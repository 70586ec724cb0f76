// Package trees trains a model on a whole trace, which predictor gbm then uses in replays of other traces.
// It learns from the same samples, at the same ages, as gbm does while it replays.
package trees

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/oracle/predictors"
	"github.com/cachesim/cachesim/internal/traces"
)

// Options say which samples to learn from, and how.
type Options struct {
	Features predictors.FeatureSet
	Rows     int // samples to learn from, the newest ones
	Horizon  int // requests after which an object that has not been requested again gives a sample
	Boosting gbm.Options
}

// maxHorizon is the largest horizon, which uses 4 bytes of memory per request.
const maxHorizon = 1 << 30

// Check rejects options that nothing can be trained with. It names them as the flags of the command.
func (o Options) Check() error {
	switch {
	case o.Features == predictors.TopicFeatures:
		return fmt.Errorf("--features %d: features of topics are trained only during a replay (--cache semantic "+
			"--predictor gbm): want %d or %d", o.Features,
			predictors.DLRMFeatures, predictors.LLMFeatures)
	case o.Features != predictors.DLRMFeatures && o.Features != predictors.LLMFeatures:
		return fmt.Errorf("--features %d: want %d or %d", o.Features, predictors.DLRMFeatures, predictors.LLMFeatures)
	case o.Rows < 1 || o.Rows > gbm.MaxRows:
		return fmt.Errorf("--rows %d: want a number of samples from 1 to %d", o.Rows, gbm.MaxRows)
	case o.Horizon < 1 || o.Horizon > maxHorizon:
		return fmt.Errorf("--horizon %d: want a number of requests from 1 to %d", o.Horizon, maxHorizon)
	}
	if err := o.Boosting.Check(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

// labelNote says in a model's file what the model predicts.
const labelNote = "log(1 + requests until the object is requested again); finished prompts in place of requests " +
	"where the trace has prompts"

// Summary describes a training.
type Summary struct {
	Trace      string    `json:"trace"`
	Requests   int64     `json:"requests"`
	Samples    int64     `json:"samples"` // that the trace gave
	Trees      int       `json:"trees"`   // that were kept
	Grown      int       `json:"grown"`   // trees, with those after the smallest validation error
	Trained    Fit       `json:"trained"`
	Validation *Fit      `json:"validation"` // nil where no rows were held back
	Features   []Feature `json:"features"`
}

// Fit is the error of predictions of the logarithm of times.
type Fit struct {
	Rows     int     `json:"rows"`
	RMSE     float64 `json:"rmse"`
	MeanRMSE float64 `json:"rmse_of_mean"` // of predicting the mean of the rows trained on
}

// Feature is what a feature of the model is worth.
type Feature struct {
	Name      string  `json:"name"`
	Splits    int     `json:"splits"`
	GainShare float64 `json:"gain_share"` // of the reduction of the squared error by all splits
}

// Train trains a model on the samples of a trace. Progress is called with the number of trees.
func Train(t *traces.Trace, o Options, progress func(trees int)) (*gbm.Model, *Summary, error) {
	trainer, err := gbm.NewTrainer(o.Boosting)
	if err != nil {
		return nil, nil, err
	}
	s := &Summary{Trace: t.Name, Requests: int64(len(t.Objects))}
	data, err := s.sample(t, o)
	if err != nil {
		return nil, nil, err
	}
	trainer.Progress = func(trees int) {
		s.Grown = trees
		progress(trees)
	}
	m, err := trainer.Train(data)
	if err != nil {
		return nil, nil, err
	}
	m.AddNote("label", labelNote)
	s.describe(m)
	trained, held := trainer.Fit(data, m)
	s.Trained = Fit(trained)
	if held.Rows > 0 {
		s.Validation = new(Fit(held))
	}
	return m, s, nil
}

func (s *Summary) sample(t *traces.Trace, o Options) (*gbm.Data, error) {
	data, err := gbm.NewData(o.Features.Names(), o.Rows)
	if err != nil {
		return nil, err
	}
	samples := predictors.NewSamples(o.Features, o.Horizon, predict.Config{
		Objects: t.Objects, Count: t.NumObjects, Groups: t.Groups, Depth: t.Depths(), Seed: o.Boosting.Seed,
	})
	add := func(row []float64, label float64) {
		s.Samples++
		if e := data.Add(row, label); e != nil && err == nil {
			err = e
		}
	}
	for pos, object := range t.Objects {
		samples.Observe(object, pos, add)
	}
	if err != nil {
		return nil, err
	}
	if data.Len() == 0 {
		return nil, fmt.Errorf("trace %s has no samples to learn from: none of its %s requests repeats an object or is "+
			"older than the horizon of %s",
			t.Name, show.Count(s.Requests), show.Count(int64(o.Horizon)))
	}
	return data, nil
}

func (s *Summary) describe(m *gbm.Model) {
	s.Trees = m.Trees()
	splits, gain := m.Importance()
	total := 0.0
	for _, g := range gain {
		total += g
	}
	for f, name := range m.Names() {
		feature := Feature{Name: name, Splits: splits[f]}
		if total > 0 {
			feature.GainShare = gain[f] / total
		}
		s.Features = append(s.Features, feature)
	}
}

// Print writes s to w as table, csv (metric,value), json (one line) or markdown.
func (s *Summary) Print(w io.Writer, format string) error {
	return tabular.Printed{Table: s.printTable, CSV: s.encodeCSV, JSON: tabular.OneJSON(s)}.Print(w, format)
}

func (s *Summary) printTable(w io.Writer, format string) error {
	title := fmt.Sprintf("%s: %s requests, %s samples, %d of %d trees kept", s.Trace, show.Count(s.Requests),
		show.Count(s.Samples), s.Trees, s.Grown)
	return tabular.PrintTables(w, format, title, s.fitTable(), s.featureTable())
}

func (s *Summary) fitTable() tabular.Grid {
	t := tabular.Grid{Heads: []tabular.Head{{Name: "samples", IsText: true}, {Name: "number", Weight: 1},
		{Name: "RMSE of log time", Weight: 3}, {Name: "of the mean", Weight: 2}}}
	add := func(name string, f Fit) {
		t.Rows = append(t.Rows, []string{name, show.Count(int64(f.Rows)), fmt.Sprintf("%.3f", f.RMSE),
			fmt.Sprintf("%.3f", f.MeanRMSE)})
	}
	add("trained on", s.Trained)
	if s.Validation != nil {
		add("held back", *s.Validation)
	}
	return t
}

// featureTable lists the features, the most useful first.
func (s *Summary) featureTable() tabular.Grid {
	t := tabular.Grid{Heads: []tabular.Head{{Name: "feature", IsText: true, Wrap: 16}, {Name: "splits", Weight: 1},
		{Name: "gain", Weight: 2}}}
	order := slices.Clone(s.Features)
	slices.SortStableFunc(order, func(a, b Feature) int { return cmp.Compare(b.GainShare, a.GainShare) })
	for _, f := range order {
		t.Rows = append(t.Rows, []string{f.Name, fmt.Sprint(f.Splits), fmt.Sprintf("%.2f%%", 100*f.GainShare)})
	}
	return t
}

func (s *Summary) encodeCSV(w io.Writer) error {
	lines := [][]string{{"metric", "value"}}
	write := func(metric string, value any) { lines = append(lines, []string{metric, fmt.Sprint(value)}) }
	write("requests", s.Requests)
	write("samples", s.Samples)
	write("trees", s.Trees)
	write("grown", s.Grown)
	fit := func(name string, f Fit) {
		write(name+".rows", f.Rows)
		write(name+".rmse", exact(f.RMSE))
		write(name+".rmse_of_mean", exact(f.MeanRMSE))
	}
	fit("trained", s.Trained)
	if s.Validation != nil {
		fit("validation", *s.Validation)
	}
	for _, f := range s.Features {
		write("splits."+f.Name, f.Splits)
		write("gain_share."+f.Name, exact(f.GainShare))
	}
	return csv.NewWriter(w).WriteAll(lines)
}

func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
