package tracestat

import (
	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/recommender"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Section describes requests that are more than a key, by their kind. In JSON it is an object.
type Section interface {
	rows() []row
	distributions() []namedDistribution
}

// kind is what statistics say about one kind of workload.
type kind struct {
	name string // of its section in JSON
	also string // what the section has, for the help
	// describe returns the section of a trace, nil if its requests are of another kind.
	describe func(t *traces.Trace) Section
}

// kinds lists the kinds with statistics of their own. Any other kind is described as plain objects.
var kinds = []kind{
	{"prompts", "For prompts to a language model also the number of prompts, conversations and tokens, and the share " +
		"of tokens that an earlier prompt started with; with --kv the bytes of their keys and values.",
		section(prompts.Of, summarizePrompts)},
	{"queries", "For queries also the number of distinct queries, texts, topics, sessions and answer labels, if known, " +
		"and the length of the embeddings.", section(queries.Of, summarizeQueries)},
	{"reads", "For reads of files also the number of reads, files, directories and jobs, and the distributions of the " +
		"lengths of reads and of the sizes of the files that are read.", section(files.Of, summarizeReads)},
	{"recommender", "For requests for recommendations also the number of users and of hot users, the shards that are " +
		"read, and the distributions of tokens, rows and shards per request.",
		section(recommender.Of, summarizeRecommender)},
}

// section makes a kind's describe from the type C of its columns.
func section[C any, S Section](of func(stream.Columns) *C, summarize func(*traces.Trace, *C) S) func(
	*traces.Trace) Section {
	return func(t *traces.Trace) Section {
		if c := of(t.Kind); c != nil {
			return summarize(t, c)
		}
		return nil
	}
}

// Also returns a sentence about each kind of workload: what its statistics have in addition to every trace's.
func Also() (sentences []string) {
	for _, k := range kinds {
		sentences = append(sentences, k.also)
	}
	return sentences
}

// arrivals are the counts of a trace whose objects are unknown.
type arrivals struct {
	Trace             string   `json:"trace"`
	SampleRate        float64  `json:"sample_rate"`
	Requests          int64    `json:"requests"`
	SpanSeconds       *float64 `json:"span_seconds"`
	RequestsPerSecond *float64 `json:"requests_per_second"`
	OutOfOrder        *int64   `json:"out_of_order"`
}

// MarshalJSON writes one object: the counts, a section for each kind, null unless the trace is of this kind, and the
// distributions.
func (s *Summary) MarshalJSON() ([]byte, error) {
	parts := []any{s.Counts}
	if !s.knowsObjects() {
		parts[0] = arrivals{s.Trace, s.SampleRate, s.Requests, s.SpanSeconds, s.RequestsPerSecond, s.OutOfOrder}
	}
	for _, k := range kinds {
		var about Section
		if k.name == s.kindName {
			about = s.Kind
		}
		parts = append(parts, map[string]Section{k.name: about})
	}
	var object []byte
	for _, part := range append(parts, s.Shape) {
		members, err := jsonlines.Marshal(part)
		if err != nil {
			return nil, err
		}
		object = append(append(object, ','), members[1:len(members)-1]...)
	}
	object[0] = '{'
	return append(object, '}'), nil
}
