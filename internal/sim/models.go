package sim

import (
	"context"

	"github.com/cachesim/cachesim/internal/params"
	"github.com/cachesim/cachesim/internal/traces"
)

// ModelEntry describes one model of the time that requests take.
type ModelEntry struct {
	Name    string
	Summary string // one line: what takes time
	Source  string // of the model and its constants
	Params  []params.Param
	Cache   string // the one kind of cache it works on
	// Run replays t through the cache on a virtual clock. It stops early with ctx's error.
	Run func(ctx context.Context, t *traces.Trace, cache Cache, values params.Values, options ReplayOptions) (Counts, Latency, error)
}

// Signature implements params.Named.
func (e ModelEntry) Signature() (string, []params.Param) { return e.Name, e.Params }

// Latency is the time that what a model measures took, after the warm-up: the lookups of a batch, or a prompt until its first token.
type Latency struct {
	Mean, P50, P95, P99 float64 // milliseconds
	Throughput          float64 // of what the model counts, per second of its clock
}

// ModelSpec is a model with its parameters: what a user writes as `sls(bandwidth=60)`.
type ModelSpec = params.Spec[ModelEntry]

var models = params.Table("model", "sls", []ModelEntry{})

// ParseModel reads one model.
func ParseModel(text string) (ModelSpec, error) { return models.Parse(text) }

// ParseModels reads a comma-separated list of models.
func ParseModels(text string) ([]ModelSpec, error) { return models.ParseList(text) }

// ModelNames returns the names of the models.
func ModelNames() []string { return models.Names() }
