package tracestat

import (
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// ByKind describes requests that are more than a key, by their kind: at most one field is set.
type ByKind struct {
	Prompts *PromptSummary `json:"prompts"` // nil if the requests are not blocks of prompts
	Queries *QuerySummary  `json:"queries"` // nil if the requests are not queries
	Reads   *ReadSummary   `json:"reads"`   // nil if the requests are not reads of files
	// nil if the requests are not for recommendations
	Recommender *RecommenderSummary `json:"recommender"`
}

// kindSummary is the part of the tables about a kind.
type kindSummary interface {
	rows() []row
	distributions() []namedDistribution
}

// describe fills in the field of t's kind.
func (k *ByKind) describe(t *traces.Trace) {
	switch t.Kind.(type) {
	case *prompts.Columns:
		k.Prompts = summarizePrompts(t)
	case *queries.Columns:
		k.Queries = summarizeQueries(t)
	case *files.Columns:
		k.Reads = summarizeReads(t)
	case *recommender.Columns:
		k.Recommender = summarizeRecommender(t)
	}
}

// summary returns the summary of the kind, nil for plain objects.
func (k ByKind) summary() kindSummary {
	switch {
	case k.Prompts != nil:
		return k.Prompts
	case k.Queries != nil:
		return k.Queries
	case k.Reads != nil:
		return k.Reads
	case k.Recommender != nil:
		return k.Recommender
	}
	return nil
}
