package curve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// Ratio is what a curve shows: hits of requests, of their bytes, or of the tokens of prompts.
type Ratio struct {
	Metric    metric.Metric
	hits, all metric.Metric
}

// OfRequests is the hit ratio. LRU's pass over the trace counts the others, too.
var OfRequests = Ratio{metric.HitRatio, metric.Hits, metric.Requests}

var (
	ofBytes  = Ratio{metric.ByteHitRatio, metric.HitBytes, metric.RequestedBytes}
	ofTokens = Ratio{prefix.TokenHitRatio, prefix.HitTokens, prefix.Tokens}
	ratios   = []Ratio{OfRequests, ofBytes, ofTokens}
)

// RatioNames are the names of all ratios, of which the first is the default.
func RatioNames() (names []string) {
	for _, r := range ratios {
		names = append(names, r.Metric.Name)
	}
	return names
}

// RatioNamed returns the ratio with a name.
func RatioNamed(name string) (Ratio, error) {
	i := slices.Index(RatioNames(), name)
	if i < 0 {
		return Ratio{}, suggest.Unknown("ratio", name, RatioNames())
	}
	return ratios[i], nil
}

// CheckCapacities rejects a ratio that has no meaning in a cache; bytes says that its capacities count bytes.
func (r Ratio) CheckCapacities(bytes bool, in cache.Spec) error {
	switch {
	case r.is(ofBytes) && in.Entry.NeedsPrompts():
		return fmt.Errorf("blocks of prompts all have one size, so that there is no %s; write %s", r.noun(),
			ofTokens.Metric.Name)
	case r.is(ofBytes) && !bytes:
		return fmt.Errorf("capacities count objects, whose sizes do not count; add --bytes")
	}
	return nil
}

// CheckTrace rejects a ratio that has no meaning on a trace.
func (r Ratio) CheckTrace(t *traces.Trace, in cache.Spec) error {
	if r.is(ofTokens) && (prompts.Of(t.Kind) == nil || !in.Entry.ServesPrompts(t)) {
		return fmt.Errorf("only prompts have tokens; use a trace of prompts with --cache prefix")
	}
	return nil
}

// isKnown reports whether a record has the ratio: bounds count requests only.
func (r Ratio) isKnown(rec *records.Record) bool { return r.is(OfRequests) || rec.Has(r.Metric) }

// missed returns what missed of all.
func (r Ratio) missed(rec *records.Record) int64 {
	if r.is(OfRequests) {
		return rec.Int(metric.Misses)
	}
	return rec.Int(r.all) - rec.Int(r.hits)
}

func (r Ratio) is(other Ratio) bool { return r.Metric.Name == other.Metric.Name }

// noun is what people call the ratio.
func (r Ratio) noun() string { return strings.ReplaceAll(r.Metric.Name, "_", " ") }
