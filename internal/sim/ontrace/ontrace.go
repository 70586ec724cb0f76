// Package ontrace has what a replay takes from its trace before it begins: predictors, topics, and what the log says
// was found.
package ontrace

import (
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// New builds a predictor for a replay of t. Only a predictor that knows the future sees nextUse and optEvicts (see
// predict.Config); optEvicts may be nil.
func New(spec predict.Spec, t *traces.Trace, seed uint64, nextUse func() []uint32,
	optEvicts func() []bool) (*predict.Counted, error) {
	return NewWith(spec, t, 0, nil, seed, nextUse, optEvicts)
}

// NewWith is New for a cache that also holds strangers, numbered after the objects of the trace, or in which entries
// answer similar queries; similar is nil in others.
func NewWith(spec predict.Spec, t *traces.Trace, further int, similar *predict.Similar, seed uint64,
	nextUse func() []uint32, optEvicts func() []bool) (*predict.Counted, error) {
	config := predict.Config{
		Objects: t.Objects,
		Count:   t.NumObjects + further,
		Groups:  t.Groups,
		Times:   t.Times,
		Depth:   t.Depths(),
		Similar: similar,
		Seed:    seed,
		Params:  spec.Params,
	}
	if config.Depth != nil {
		config.Depth = append(config.Depth, make([]int32, further)...)
	}
	if spec.Entry.Future {
		config.NextUse, config.OptEvicts = nextUse(), optEvicts
	}
	p, err := spec.Entry.New(config)
	if err != nil {
		return nil, fmt.Errorf("predictor %s: %w", spec, err)
	}
	return &predict.Counted{Predictor: p}, nil
}

// MostRunning returns the most blocks that so many consecutive prompts have together, each counted by itself.
func MostRunning(t *traces.Trace, prompts int) (most int64) {
	for i, from := range t.Groups {
		end := len(t.Objects)
		if prompts < len(t.Groups)-i {
			end = t.Groups[i+prompts]
		}
		most = max(most, int64(end-from))
	}
	return most
}

// Logged is what the server that wrote a log found in its own cache.
type Logged struct {
	requests, hits, bytes, hitBytes int64
	prompts, tokens, hitTokens      int64 // as the server counts tokens
}

// LoggedIn counts the requests after the warm-up that belong to hits and misses, as far as the log says what was found,
// and the prompts after as many.
func LoggedIn(t *traces.Trace, warmup int) (n Logged) {
	if p := prompts.Of(t.Kind); p != nil {
		for i := warmup; i < len(t.Groups); i++ {
			if p.Measured(i).Known {
				found, tokens := p.Found(i)
				n.prompts++
				n.tokens += tokens
				n.hitTokens += found
			}
		}
	}
	for pos := warmup; pos < len(t.Served); pos++ {
		found := t.Served[pos]
		if found == stream.ServedUnknown || found == stream.ServedPass || t.Fills() && t.IsWrite(pos) {
			continue
		}
		var size int64
		if t.HasSizes() {
			size = t.Size(pos)
		}
		n.requests++
		n.bytes += size
		if found == stream.ServedHit {
			n.hits++
			n.hitBytes += size
		}
	}
	return n
}

// AddTo sets the metrics of the log, if it says anything; sized says that capacities count bytes, and whole that the
// cache serves whole prompts.
func (n Logged) AddTo(v *metric.Values, sized, whole bool) {
	if n.prompts > 0 && whole {
		v.SetInt(metric.LoggedPrompts, n.prompts)
		v.SetInt(metric.LoggedTokens, n.tokens)
		v.SetInt(metric.LoggedHitTokens, n.hitTokens)
		v.Set(metric.LoggedTokenHitRatio, metric.Divide(float64(n.hitTokens), float64(n.tokens)))
	}
	if n.requests == 0 {
		return
	}
	v.SetInt(metric.LoggedRequests, n.requests)
	v.Set(metric.LoggedHitRatio, metric.Divide(float64(n.hits), float64(n.requests)))
	if sized && n.bytes > 0 {
		v.Set(metric.LoggedByteHitRatio, metric.Divide(float64(n.hitBytes), float64(n.bytes)))
	}
}

// Topics returns the topic label of each object, -1 if it has none: the trace's or, if its objects are not queries
// with labels, the prefix of the key. It returns nil if there are no topics.
func Topics(t *traces.Trace) []int32 {
	if queries.Of(t.Kind) != nil && queries.Of(t.Kind).Topics != nil {
		return queries.Of(t.Kind).Topics
	}
	numbers := map[string]int32{}
	topics := make([]int32, len(t.Keys))
	for o, key := range t.Keys {
		prefix, _, ok := strings.Cut(key.Text, ":") // the tenant or, of a path, the folder
		if slash := strings.LastIndexByte(key.Text, '/'); slash >= 0 {
			prefix, ok = key.Text[:slash], true
		}
		if !ok {
			topics[o] = -1
			continue
		}
		number, ok := numbers[prefix]
		if !ok {
			number = int32(len(numbers))
			numbers[prefix] = number
		}
		topics[o] = number
	}
	if len(numbers) == 0 {
		return nil
	}
	return topics
}

// SizedBefore returns how many of the first n requests have a size above 0.
func SizedBefore(t *traces.Trace, n int) (sized int) {
	for pos := range min(n, len(t.Objects)) {
		if t.Size(pos) > 0 {
			sized++
		}
	}
	return sized
}

// SizesOf returns the bytes that are requested between the positions of each pair of neighbours.
func SizesOf(t *traces.Trace, ends []int) []int64 {
	sizes := make([]int64, len(ends)-1)
	for i := range sizes {
		for pos := ends[i]; pos < ends[i+1]; pos++ {
			if !t.Fills() || !t.IsWrite(pos) {
				sizes[i] += t.Size(pos)
			}
		}
	}
	return sizes
}
