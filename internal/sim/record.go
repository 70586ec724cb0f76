package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/cache/prefetch"
	"github.com/cachesim/cachesim/internal/clock/models"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/blocks"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

func (r *Replayer) result(c Cell, out outcome) Result {
	values, times := out.values.Split()
	rec := records.Record{
		Trace: r.trace.Name,
		Origin: records.Origin{
			InputFormat: r.trace.InputFormat(),
			ReadAs:      r.trace.ReadAs(),
			// the reader left them out, or they have size 0 and sizes count
			LeftOut:  r.trace.LeftOut() + int64(len(r.trace.Objects)-r.Requests(c.Capacity)),
			ReadsCut: r.trace.ReadsCut(),
			BadLines: r.trace.BadLines(),
		},
		Policy:            c.Policy.Entry.Name,
		Params:            c.Policy.ParamString(),
		Label:             c.Policy.String(),
		Kind:              c.Policy.Entry.Kind.String(),
		Capacity:          c.Capacity.Amount,
		CapacityUnit:      c.Capacity.Unit(),
		CapacityText:      c.Capacity.String(),
		SimulatedCapacity: c.Capacity.Simulated,
		PartChecksum:      c.Checksum,
		Seed:              c.Seed,
		SampleRate:        r.trace.SampleRate,
		Warmup:            int64(r.options.Warmup),
		Values:            values,
	}
	if !HasOwnCapacity(c.Cache) {
		rec.CapacityShare = new(r.share(c.Capacity))
	}
	if block := c.Capacity.Block; block > 0 {
		memory := prompts.Of(r.trace.Kind).Memory
		rec.KVSource, rec.TokenBytes, rec.BlockBytes = memory.Source, memory.TokenBytes, block
		rec.SetInt(metric.RequestedBytes, block*rec.Int(metric.Requests))
		rec.SetInt(metric.HitBytes, block*rec.Int(metric.Hits))
		out.blocks.OfBytes(block)
	}
	rec.Answers = cache.AnswersIn(c.Cache, r.trace)
	if r.trace.Written.Writes > 0 {
		rec.WriteMode = r.trace.Written.Mode.String()
	}
	if lookups := r.trace.Written.Lookups; lookups > 0 {
		rec.SetInt(metric.Lookups, int64(lookups))
	}
	if sizing := r.trace.Sizing; sizing != nil && c.Capacity.Bytes {
		rec.ObjectOverhead = strconv.FormatInt(sizing.Overhead, 10)
		rec.Sizes = sizing.Text()
		imputed := sizing.Imputed()
		rec.ImputedObjects, rec.ImputedRequests, rec.ImputedBytes = imputed.Objects, imputed.Requests, imputed.Bytes
	}
	c.Parts.Name(&rec)
	if c.Model != nil && c.Model.Entry.Resolve != nil {
		rec.Times = c.Model.Entry.Resolve(c.Model.Params, r.trace)
	}
	if prompts.IsLengthsOnly(r.trace.Kind) {
		rec.Values, rec.Contents = withoutHits(rec.Values), records.ContentsUnknown
		rec.CapacityShare = nil // what all prompts need is unknown
		times[metric.NsPerRequest.Name] = perRequest(out.elapsed, out.served)
		return Result{rec, times, out.series, out.blocks}
	}
	rec.Set(metric.HitRatio, r.hitRatio(out.values, 0))
	if r.trace.BytesFrom > 0 && rec.Has(metric.ByteHitRatio) { // likewise of a sample whose bytes are known
		rec.Set(metric.ByteHitRatio, r.trace.Estimate(r.trace.BytesFrom, r.view(c.Capacity).trace,
			rec.Int(metric.Requests), rec.Int(metric.RequestedBytes)-rec.Int(metric.HitBytes)))
	}
	for _, delayed := range []metric.Metric{models.DelayedHits, prefetch.LateProposals} { // a cell has one of them
		if out.values.Has(delayed) {
			rec.Set(metric.HitsInFlight, r.hitRatio(out.values, out.values.Int(delayed)))
			break
		}
	}
	r.view(c.Capacity).logged().AddTo(&rec.Values, c.Capacity.Bytes, c.Cache.Entry.ServesPrompts(r.trace))
	if cache.ServesQueries(c.Cache) {
		rec.Embeddings = queries.Of(r.trace.Kind).Embeddings
	}
	if c.Series.IsSet() {
		rec.Series, rec.SeriesDigest = c.Series.String(), series.Digest(out.series)
	}
	if c.Policy.Entry.Kind == policies.Bound {
		return Result{rec, times, out.series, out.blocks}
	}
	times[metric.NsPerRequest.Name] = perRequest(out.elapsed, out.served)
	known := !cache.AnswersSimilar(c.Cache) && !isAsynchronous(c.Model) && !cache.ServesHeads(c.Cache) && nodesOf(c) == 1
	if c.Policy.Entry.Unbounded && known {
		rec.Optimum = "compulsory"
		holdAgainstMisses(&rec, rec.Int(metric.Misses))
	}
	if c.Predictor != nil {
		times[predict.NsMetric.Name] = perRequest(out.predicting, out.served)
	}
	if rec.Has(prefetch.Prefetches) {
		loaded, used := rec.Float(prefetch.Prefetches), rec.Float(prefetch.UsefulPrefetches)
		rec.SetQuotient(prefetch.Accuracy, used, loaded)
		rec.SetQuotient(prefetch.Coverage, used, used+rec.Float(metric.Misses))
	}
	return Result{rec, times, out.series, out.blocks}
}

// withoutHits drops what depends on the unknown contents of prompts: hits, also those of nodes and bounds, and
// evictions.
func withoutHits(v metric.Values) metric.Values {
	for _, name := range slices.Collect(v.Names()) {
		switch {
		case strings.Contains(name, "hit"), slices.Contains([]string{metric.Misses.Name, metric.Evictions.Name,
			metric.Oversized.Name, "below_bound", "inner_victims", "blocks_lost"}, name):
			v.Delete(metric.Metric{Name: name})
		}
	}
	return v
}

// perRequest divides a time by the number of served requests, in nanoseconds.
func perRequest(elapsed time.Duration, served int64) float64 {
	return float64(elapsed.Nanoseconds()) / float64(max(1, served))
}

// hitRatio returns hits/requests, where some misses may count as hits. For a sample it returns the estimate for the
// whole trace. A sample may have too few or too many of the hottest objects, and nearly all of their requests hit; but
// it has its share of the misses (the adjustment of Waldspurger et al., FAST 2015). A sample of conversations lacks the
// misses of the others, so its own ratio is the estimate. Requests that do not count, because of a warm-up or of size
// 0, are assumed to be the same share of the whole.
func (r *Replayer) hitRatio(v metric.Values, delayed int64) float64 {
	return r.ratioOf(v.Int(metric.Requests), v.Int(metric.Hits)+delayed, v.Int(metric.Misses)-delayed)
}

// ratioOf is hitRatio for counts.
func (r *Replayer) ratioOf(requests, hits, misses int64) float64 {
	if r.trace.SampledFrom == 0 || prompts.Of(r.trace.Kind) != nil {
		return ratio(hits, requests)
	}
	return r.trace.Estimate(int64(r.trace.SampledFrom), r.trace, requests, misses)
}

// share returns a capacity as a share of the distinct objects, or of their total size. Blocks are those of the trace,
// even if the cache has larger ones.
func (r *Replayer) share(c capacity.Capacity) float64 {
	if c.Bytes {
		return float64(c.Simulated) / float64(max(1, r.sizedOnly().footprint))
	}
	objects := r.trace.NumObjects
	if p := prompts.Of(r.trace.Kind); p != nil && p.Unjoined != nil {
		objects = len(p.Unjoined.Parents)
		if c.Block > 0 {
			c.Block = p.Unjoined.Memory.BlockBytes
		}
		c, _ = c.OnSample(r.trace.SampleRate)
	}
	if c.Block > 0 {
		return float64(c.Amount) / float64(c.Block) / float64(objects) * r.trace.SampleRate
	}
	return float64(c.Simulated) / float64(objects)
}

func ratio(part, whole int64) float64 { return metric.Divide(float64(part), float64(whole)) }

// Result is the result of replaying a cell: its record, without times and without the fields that compare it with
// others, which HoldAgainst and MarkBest set.
type Result struct {
	records.Record
	Times  Times
	Series []series.Row   // if requested; the rows do not name their cell
	Blocks *blocks.Blocks // if requested; nil where there are none
}

// Times are the metrics of a replay that depend on the machine, by their names.
type Times map[string]float64

func (t Times) AddTo(rec *records.Record) {
	for name, x := range t {
		rec.SetNamed(name, x)
	}
}

// outcome is what a replay counted and how long it took.
type outcome struct {
	values     metric.Values
	served     int64 // requests, including the warm-up
	elapsed    time.Duration
	predicting time.Duration  // the part of elapsed that predictions took
	series     []series.Row   // of all parts so far, if requested
	blocks     *blocks.Blocks // if requested
}

func (o *outcome) add(part outcome) {
	o.values = o.values.Merge(part.values)
	o.served += part.served
	o.elapsed += part.elapsed
	o.predicting += part.predicting
}

// setCounters copies the counters that a part reports. It panics if the part does not declare one of them.
func setCounters(v *metric.Values, counters []policies.Counter) {
	for _, c := range counters {
		if _, ok := metric.Lookup(c.Name()); !ok {
			panic(fmt.Sprintf("counter %s is not a metric that its policy, cache or predictor declares", c.Name()))
		}
		v.SetNamed(c.Name(), c.Value)
	}
}
