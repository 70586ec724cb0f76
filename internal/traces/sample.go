package traces

import (
	"math"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Sampler keeps the keys whose 64-bit hash is below a threshold, a share of its range (SHARDS, Waldspurger et al., FAST
// 2015, section 2.2). All requests of an object are kept or none, and a key and seed give the same decision in every
// file and format.
type Sampler struct {
	threshold uint64
	seed      uint64
}

func NewSampler(rate float64, seed uint64) *Sampler {
	// The rate is below 1, so the product fits.
	return &Sampler{threshold: uint64(rate * math.MaxUint64), seed: random.Scramble(seed)}
}

func (s *Sampler) Keeps(rec *stream.Record) bool {
	key := rec.Num
	if rec.Text != nil {
		key = stream.HashText(rec.Text)
	}
	return s.KeepsNumber(key)
}

func (s *Sampler) KeepsNumber(key uint64) bool { return random.Scramble(key^s.seed) < s.threshold }

// Estimate returns which share of requests, or of their bytes, hits in the whole trace of a sample t. It compares the
// misses with the expected size of the sample. of is how much the whole has; requests are the replayed ones that count,
// without a warm-up.
func (t *Trace) Estimate(of int64, replayed *Trace, requests, missed int64) float64 {
	counted := float64(requests) / float64(replayed.Counted(0, len(replayed.Objects)))
	expected := t.SampleRate * float64(of) * counted
	if expected == 0 {
		return 0
	}
	return max(0, 1-float64(missed)/expected)
}

// countedBytes returns the bytes of the requests before a position that belong to hits and misses; 0 if some sizes are
// unknown.
func (t *Trace) countedBytes(to int) (bytes int64) {
	if imputed := t.Sizing; !t.HasSizes() || imputed.Imputed().Requests > 0 || imputed.Given().Requests > 0 {
		return 0
	}
	fills := t.Fills()
	for pos := range to {
		if !fills || !t.IsWrite(pos) {
			bytes += t.Size(pos)
		}
	}
	return bytes
}

// Sample returns the requests that Load keeps at this sample rate, between 0 and 1, with this seed. t must have its
// keys and may not be a sample itself. The result may have no requests. Blocks of prompts are sampled as single
// objects, as an exact cache sees them, so that no prompts are left. Load keeps whole conversations instead.
func (t *Trace) Sample(rate float64, seed uint64) *Trace {
	t = t.Requested()
	s := NewSampler(rate, seed)
	chosen := make([]bool, t.NumObjects)
	for object, key := range t.Keys {
		rec := stream.Record{Num: key.Num}
		if key.Text != "" {
			rec.Text = []byte(key.Text)
		}
		chosen[object] = s.Keeps(&rec)
	}
	last := 0
	sample := t.Only(func(pos int) bool {
		kept := chosen[t.Objects[pos]]
		if kept {
			last = pos + 1
		}
		return kept
	})
	sample.SampleRate, sample.SampledFrom = rate, t.Counted(0, len(t.Objects))
	if t.Limited {
		sample.Limited, sample.SampledFrom = true, t.Counted(0, last) // Load stops at the last request that it keeps
	} else {
		last = len(t.Objects)
	}
	sample.BytesFrom = t.countedBytes(last)
	return sample
}
