package predictors

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/oracle/gbm"
	"github.com/cachesim/cachesim/internal/oracle/predict"
)

// autoFeatures means the features of the given model, or LLMFeatures if the replay trains one.
const autoFeatures = "auto"

// weakFeature is the only feature of gbm(weak=true).
const weakFeature = "interval_1"

// learning are the parameters of gbm for training.
var learning = []params.Param{
	{Name: "window", Default: 100_000, Min: 100, Max: 1 << 28, Doc: "samples to learn from, the newest ones"},
	{Name: "horizon", Default: 100_000, Min: 1, Max: 1 << 30,
		Doc: "requests after which an object that has not been requested again gives a sample, with twice that time"},
	{Name: "retrain", Default: 1000, Min: 1, Max: 1 << 30,
		Doc: "new samples, at least a tenth of all, after which a new model is trained, if budget allows"},
	{Name: "budget", Default: defaultBudget,
		Doc: "time per request for training and predicting, by a fixed table of costs and not by the clock; " +
			"training waits until it is within the budget"},
	{Name: "trees", Default: 32, Min: 1, Max: 10_000, Doc: "trees of a model"},
	{Name: "leaves", Default: 32, Min: 2, Max: gbm.MaxLeaves, Doc: "most leaves of a tree"},
	{Name: "rate", Default: 0.1, Min: 0.001, Max: 1, Doc: "learning rate"},
	{Name: "weak", Default: false, Doc: "one feature, the last interval, and one tree, as in LCR, figure 10"},
}

var gbmEntry = predict.Entry{
	Name: "gbm",
	Summary: "boosted trees that are trained during the replay on what has been requested so far, or a trained model " +
		"from a file",
	Source:  "LCR, sections 3.2, 4.1, 4.3 and 5.1; samples, trees and rate as in LRB (Song et al., NSDI 2020)",
	Random:  true,
	Trains:  true,
	Metrics: []metric.Metric{predict.TrainingsMetric, predict.WorkMetric},
	Params: append([]params.Param{
		{Name: "features", Default: autoFeatures, Choices: []string{autoFeatures, "4", "21", "29"}, Doc: "4: timestamp, " +
			"key, count, last interval ; 21: age, 9 intervals, 10 decayed counters, depth ; 29: these and 8 of the topic, " +
			"in a cache where entries answer similar queries ; auto: 29 in such a cache, 21 in others, or as many as the " +
			"model has"},
		{Name: topicParam, Default: gbmTopic, Min: -1, Max: 1, Doc: "similarity from which on a query belongs to the topic " +
			"of another, for the 29 features; no more than the similarity from which on entries answer"},
		{Name: "refresh", Default: 2.0, Min: 1, Max: 1e9, Doc: "factor by which an object's age must grow before the same " +
			"model predicts it again"},
		{Name: "model", Default: "", File: true, Doc: "file of a trained LightGBM model, as cachesim train writes it; " +
			"the replay then trains none"},
	}, learning...),
	Check:       checkBoosted,
	CheckCache:  checkBoostedIn,
	SimilarFrom: topicFrom,
	Time:        boostedTime,
	New:         newGBM,
}

// topicParam names the least similarity of queries that share a topic. gbmTopic is its default, RAC's: most queries of
// a topic are within it.
const (
	topicParam = "topic"
	gbmTopic   = 0.6
)

// topicFrom returns the least similarity that gbm needs where entries answer from hitFrom on.
func topicFrom(v params.Values, hitFrom float64) float64 {
	if setFor(v, true) != TopicFeatures {
		return hitFrom
	}
	return min(hitFrom, v.Float(topicParam))
}

// setFor returns the features of models that are trained during the replay.
func setFor(v params.Values, similar bool) FeatureSet {
	switch text := v.Text("features"); {
	case text == strconv.Itoa(int(DLRMFeatures)):
		return DLRMFeatures
	case text == strconv.Itoa(int(TopicFeatures)), text == autoFeatures && similar && !v.Bool("weak"):
		return TopicFeatures
	}
	return LLMFeatures
}

// checkBoostedIn rejects features of similar queries in caches where these do not answer each other, and models of such
// caches in others.
func checkBoostedIn(v params.Values, similar bool) error {
	topics := setFor(v, similar) == TopicFeatures
	switch set := v.Text("features"); {
	case similar && v.Text("model") != "":
		return errors.New("models in files are trained on requests to the same query, not to similar ones; remove model, " +
			"and it trains during the replay")
	case !similar && topics:
		return fmt.Errorf("features=%s needs a cache in which entries answer similar queries (semantic); write features=21",
			set)
	case !topics && v.Float(topicParam) != gbmTopic:
		return fmt.Errorf("%s=%v has no effect without the %d features of a cache in which entries answer similar queries "+
			"(semantic); leave it out", topicParam, v.Float(topicParam), TopicFeatures)
	}
	return nil
}

// boostedTime is the time to follow the requests, plus the budget. While a replay begins, trainings run ahead of the
// budget on credit, as long as there are samples to train on.
func boostedTime(v params.Values, requests int64) time.Duration {
	const following, early, earlyRequests = 2 * time.Microsecond, 15 * time.Microsecond, 300_000
	d := time.Duration(requests) * following
	if v.Text("model") != "" {
		return d
	}
	budget, err := time.ParseDuration(v.Text("budget"))
	if err != nil || v.Bool("weak") {
		return d
	}
	return d + time.Duration(requests)*budget + time.Duration(min(requests, earlyRequests))*early
}

func checkBoosted(v params.Values) error {
	if _, err := parseBudget(v.Text("budget")); err != nil {
		return err
	}
	if v.Text("model") == "" {
		if v.Bool("weak") && v.Int("trees") != params.Defaults(learning).Int("trees") {
			return errors.New("weak=true means one tree; leave out trees")
		}
		return nil
	}
	for _, p := range learning {
		if v[p.Name] != p.Default {
			return fmt.Errorf("%s only applies to training, and model names a trained model; leave out %s or model",
				p.Name, p.Name)
		}
	}
	_, _, err := readModel(v)
	return err
}

func readModel(v params.Values) (*gbm.Model, FeatureSet, error) {
	m, err := gbm.ReadFile(v.Text("model"))
	if err != nil {
		return nil, 0, err
	}
	set := LLMFeatures
	if v.Text("features") == "4" || v.Text("features") == autoFeatures && len(m.Names()) == int(DLRMFeatures) {
		set = DLRMFeatures
	}
	if err := m.Match(set.Names()); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", v.Text("model"), err)
	}
	return m, set, nil
}

// boosted predicts with boosted trees. It repeats its prediction for an object until the object is requested, its age
// has grown by a factor, or there is a new model. Before the first model it predicts never for all objects, so that
// ties decide.
//
// Memory: what Samples or Features need, 16 bytes per object, and 170 bytes per row of the window with 21 features. It
// implements Lasting, Learner, Sharer and Grouped.
type boosted struct {
	features *Features
	learner  *learner // nil if a model is given
	model    *gbm.Model
	version  uint32 // of the model; 0: none yet
	column   int    // the only feature of the model; -1: all
	refresh  float64

	answers []answer // per object
	stale   []int    // indices of objects to predict
	rows    []float64
	scores  []float64
}

type answer struct {
	next    float64
	version uint32 // of the model that predicted it; 0: none
	until   int32  // time of the clock at which it must be predicted again
}

// unkept is a boosted whose predictions are void at once: it does not implement Lasting.
type unkept struct {
	predict.Predictor
	predict.Learner
	predict.Sharer
	predict.Grouped
}

func newGBM(c predict.Config) (predict.Predictor, error) {
	p, err := newBoosted(c)
	if err == nil && p.refresh == 1 {
		return unkept{p, p, p, p}, nil
	}
	return p, err
}

// How long a prediction lasts at least, as a share of the predicted time to the next request. The larger share applies
// once predictions have used more than their part of the budget.
const (
	awayShare       = 0.05
	awayShareOfLate = 0.5
)

// batchRows is how many rows are evaluated at a time, so that they stay in the processor's cache.
const batchRows = 64

func newBoosted(c predict.Config) (*boosted, error) {
	if err := checkBoostedIn(c.Params, c.Similar != nil); err != nil {
		return nil, fmt.Errorf("predictor gbm: %w", err)
	}
	p := &boosted{column: -1, refresh: c.Params.Float("refresh"), answers: make([]answer, c.Count)}
	if c.Params.Text("model") != "" {
		m, set, err := readModel(c.Params)
		if err != nil {
			return nil, err
		}
		p.features, p.model, p.version = NewFeatures(set, c), m, 1
		p.allocate(int(set))
		return p, nil
	}
	set := setFor(c.Params, c.Similar != nil)
	if c.Params.Bool("weak") {
		p.column = columnOf(weakFeature, set)
	}
	l, err := newLearner(set, p.column, c)
	if err != nil {
		return nil, err
	}
	p.learner, p.features = l, l.samples.Features
	p.allocate(int(set))
	return p, nil
}

func columnOf(name string, set FeatureSet) int {
	for i, n := range set.Names() {
		if n == name {
			return i
		}
	}
	panic("predict: no feature is called " + name)
}

func (p *boosted) allocate(features int) {
	p.rows, p.scores = make([]float64, batchRows*features), make([]float64, batchRows)
}

func (p *boosted) Steady() bool { return false }

func (p *boosted) SharedRequests() *predict.Shared { return p.features.shared }

func (p *boosted) Observe(o predict.Object, pos int) {
	p.forget(o, pos)
	if p.learner == nil {
		p.features.Observe(o, p.features.clock.at(pos))
		return
	}
	if m := p.learner.observe(o, pos); m != nil {
		p.model = m
		// A new version voids all predictions at once, which is a burst. When predictions are over their budget,
		// predictions of the old model stay until each expires.
		if p.version == 0 || !p.learner.late() {
			p.version++
		}
	}
}

// forget ends the predictions for o and for all objects that share the request at pos.
func (p *boosted) forget(o predict.Object, pos int) {
	p.answers[o] = answer{}
	if p.features.shared == nil {
		return
	}
	query, others := p.features.shared.Requested(pos)
	p.answers[query] = answer{}
	for _, other := range others {
		p.answers[other] = answer{}
	}
}

func (p *boosted) Predict(objects []predict.Object, pos int, next []float64) {
	now := p.features.clock.at(pos)
	if p.version == 0 {
		for i := range objects {
			next[i] = predict.Never
		}
		return
	}
	// Victims are chosen among many objects, most of them with predictions that still hold; only the others cost an
	// evaluation of the trees.
	p.stale = p.stale[:0]
	for i, o := range objects {
		a := &p.answers[o]
		if a.version != p.version || int(a.until) <= now {
			p.stale = append(p.stale, i)
		}
		next[i] = a.next
	}
	for stale := p.stale; len(stale) > 0; {
		n := min(len(stale), batchRows)
		p.predict(objects, stale[:n], now, next)
		stale = stale[n:]
	}
}

// predict has the model predict objects[i] for each i of indices, at most batchRows of them.
func (p *boosted) predict(objects []predict.Object, indices []int, now int, next []float64) {
	width := int(p.features.set)
	for k, i := range indices {
		p.features.Row(objects[i], now, p.rows[k*width:(k+1)*width])
	}
	rows := p.rows[:len(indices)*width]
	if p.column >= 0 {
		// In place: the write at k never overtakes the read at k*width.
		for k := range indices {
			rows[k] = rows[k*width+p.column]
		}
		rows = rows[:len(indices)]
	}
	scores := p.scores[:len(indices)]
	p.model.PredictRows(rows, scores)
	if p.learner != nil {
		p.learner.charge(len(indices))
	}
	for k, i := range indices {
		next[i] = p.keep(objects[i], now, scores[k])
	}
}

// awayShare returns the least share of the predicted time for which a prediction lasts.
func (p *boosted) awayShare() float64 {
	if p.learner != nil && p.learner.late() {
		return awayShareOfLate
	}
	return awayShare
}

// keep turns the score of an object into a time and keeps it until it is stale. That is when the object's age has grown
// by a factor, and by at least a share of the predicted time to the next request.
func (p *boosted) keep(o predict.Object, now int, score float64) float64 {
	last := int(p.features.last[o])
	a := answer{version: p.version, until: math.MaxInt32}
	if p.features.set.ages() {
		a.next = float64(now) + math.Expm1(score)
		lasts := max(float64(now-last)*(p.refresh-1), 1, p.awayShare()*math.Expm1(score))
		a.until = int32(min(float64(now)+lasts, math.MaxInt32))
	} else {
		a.next = float64(last) + math.Expm1(score)
	}
	if p.refresh == 1 {
		a.until = int32(now)
	}
	p.answers[o] = a
	return a.next
}

func (p *boosted) Now(pos int) int { return p.features.clock.at(pos) }

func (p *boosted) Until(o predict.Object) int32 {
	if p.version == 0 {
		return predict.Forever
	}
	return p.answers[o].until
}

func (p *boosted) Generation() uint32 { return p.version }

func (p *boosted) CountsGroups() bool { return p.features.clock.groups != nil }

func (p *boosted) Training() predict.Training {
	if p.learner == nil {
		return predict.Training{}
	}
	return p.learner.training
}
