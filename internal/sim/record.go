package sim

import (
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/capacity"
	"github.com/cachesim/cachesim/internal/models"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// record returns the record of a cell, without what compares it with others.
func (r *Replayer) record(c Cell, out outcome) records.Record {
	n := out.counts
	rec := records.Record{
		Trace:             r.trace.Name,
		InputFormat:       r.trace.InputFormat(),
		ReadAs:            r.trace.ReadAs(),
		LeftOut:           r.leftOut(c.Capacity),
		Policy:            c.Policy.Entry.Name,
		Params:            c.Policy.ParamString(),
		Label:             c.Policy.String(),
		Kind:              c.Policy.Entry.Kind.String(),
		Capacity:          c.Capacity.Amount,
		CapacityUnit:      c.Capacity.Unit(),
		CapacityText:      c.Capacity.Text,
		SimulatedCapacity: c.Capacity.Simulated,
		CapacityShare:     new(r.share(c.Capacity)),
		Seed:              c.Seed,
		SampleRate:        r.trace.SampleRate,
		Warmup:            int64(r.options.Warmup),
		Requests:          n.Requests,
		Hits:              n.Hits,
		Misses:            n.Misses(),
		HitRatio:          r.hitRatio(n),
		Evictions:         n.Evictions,
		Oversized:         n.Oversized,
		Version:           r.options.Version,
		Counters:          formatCounters(out.counters),
	}
	for _, kind := range Kinds {
		if part := kind.Of(&c.Parts); part != nil {
			*kind.Field(&rec) = part.String()
		}
	}
	if c.Cache.Entry.Queries {
		rec.Embeddings = queries.Of(r.trace.Kind).Embeddings
	}
	if c.Policy.Entry.Kind == policies.Bound {
		rec.LowerBoundMisses = new(out.bound)
		return rec
	}
	rec.NsPerRequest = new(perRequest(out.elapsed, out.served))
	if c.Capacity.Bytes {
		recordBytes(&rec, n)
	}
	if c.Policy.Entry.Unbounded && !cache.AnswersSimilar(c.Cache) {
		rec.Optimum, rec.OptMisses, rec.CompetitiveRatio = "compulsory", new(rec.Misses), over(rec.Misses,
			float64(rec.Misses))
	}
	if c.Predictor != nil {
		recordCost(&rec, out)
	}
	if c.Cache.Entry.Prompts {
		recordPrompts(&rec, n)
	}
	if n.Labelled > 0 {
		recordAnswers(&rec, n)
	}
	if c.Model != nil {
		recordLatency(&rec, out.latency)
	}
	return rec
}

// leftOut returns how many requests of the files are not replayed: those that the reader left out, and those of size 0
// where sizes count.
func (r *Replayer) leftOut(c capacity.Capacity) int64 {
	return r.trace.LeftOut() + int64(len(r.trace.Objects)-r.Requests(c))
}

func recordBytes(rec *records.Record, n cache.Counts) {
	rec.Bytes, rec.HitBytes = new(n.Bytes), new(n.HitBytes)
	rec.ByteHitRatio = new(ratio(n.HitBytes, n.Bytes))
}

func recordCost(rec *records.Record, out outcome) {
	rec.PredictorCalls, rec.Predictions = new(out.cost.Calls), new(out.cost.Predictions)
	rec.PredictionNsPerRequest = new(perRequest(out.cost.Elapsed, out.served))
}

func recordPrompts(rec *records.Record, n cache.Counts) {
	rec.Prompts, rec.Tokens, rec.HitTokens = new(n.Prompts), new(n.Tokens), new(n.HitTokens)
	rec.TokenHitRatio, rec.BlockHitRatio = new(ratio(n.HitTokens, n.Tokens)), new(ratio(n.Hits, n.Requests))
}

func recordAnswers(rec *records.Record, n cache.Counts) {
	rec.LabelledRequests, rec.LabelledHits, rec.WrongHits = new(n.Labelled), new(n.LabelledHits), new(n.WrongHits)
	rec.WrongAnswerRatio, rec.WrongHitRatio = over(n.WrongHits, float64(n.Labelled)), over(n.WrongHits,
		float64(n.LabelledHits))
}

func recordLatency(rec *records.Record, l models.Latency) {
	rec.LatencyMean, rec.LatencyP50, rec.LatencyP95, rec.LatencyP99 = new(l.Mean), new(l.P50), new(l.P95), new(l.P99)
	rec.Throughput = new(l.Throughput)
}

// perRequest spreads a time over the requests that were served, in nanoseconds.
func perRequest(elapsed time.Duration, served int64) float64 {
	return float64(elapsed.Nanoseconds()) / float64(max(1, served))
}

// hitRatio returns hits/requests, and on a sample what that estimates of the whole trace: a sample may miss the hottest
// objects, whose requests are nearly all hits, or hold too many of them, but it has its share of the misses (the
// adjustment of Waldspurger et al., FAST 2015). A sample of conversations lacks the misses of those that it lacks, so
// its own ratio is the estimate. Requests that do not count, of a warm-up or of size 0, are taken to be the same share
// of the whole.
func (r *Replayer) hitRatio(n cache.Counts) float64 {
	if r.trace.SampledFrom == 0 || prompts.Of(r.trace.Kind) != nil {
		return ratio(n.Hits, n.Requests)
	}
	counted := float64(n.Requests) / float64(len(r.trace.Objects))
	expected := r.trace.SampleRate * float64(r.trace.SampledFrom) * counted
	if expected == 0 {
		return 0
	}
	return max(0, 1-float64(n.Misses())/expected)
}

// share returns a capacity as a share of the distinct objects, or of the sum of their sizes.
func (r *Replayer) share(c capacity.Capacity) float64 {
	if c.Bytes {
		return float64(c.Simulated) / float64(max(1, r.sizedOnly().footprint))
	}
	return float64(c.Simulated) / float64(r.trace.NumObjects)
}

func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func formatCounters(counters []policies.Counter) string {
	parts := make([]string, len(counters))
	for i, c := range counters {
		parts[i] = c.Name + "=" + strconv.FormatFloat(c.Value, 'g', -1, 64)
	}
	return strings.Join(parts, ",")
}
