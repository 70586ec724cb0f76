package tracestat

import (
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// ByKind is what is in a trace whose requests are more than a key, by their kind: one field at most is set.
type ByKind struct {
	Prompts *PromptSummary `json:"prompts"` // nil if the requests are not blocks of prompts
	Queries *QuerySummary  `json:"queries"` // nil if the requests are not queries
}

// kindSummary is what tables show of a kind.
type kindSummary interface {
	rows() []row
	distributions() []namedDistribution
}

// describe fills in the field of the kind that t is of.
func (k *ByKind) describe(t *traces.Trace) {
	switch t.Kind.(type) {
	case *prompts.Columns:
		k.Prompts = summarizePrompts(t)
	case *queries.Columns:
		k.Queries = summarizeQueries(t)
	}
}

// summary returns what is known of the kind, nil for plain objects.
func (k ByKind) summary() kindSummary {
	switch {
	case k.Prompts != nil:
		return k.Prompts
	case k.Queries != nil:
		return k.Queries
	}
	return nil
}
