package background

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/policies"
)

// Choices of the parameter mode.
const (
	modeSync  = "sync"
	modeAsync = "async"
)

// The parameters of a policy that can have its predictions made in the background.
var (
	Mode = policies.Param{Name: "mode", Default: modeSync, Choices: []string{modeSync, modeAsync}, Doc: "sync: " +
		"predictions are made when an object must be evicted; async: the objects of a batch of requests are predicted when " +
		"the next batch comes, and an object without a prediction is evicted first"}
	Batch = policies.Param{Name: "batch", Default: 0, Min: 0, Max: 1e9, Doc: "requests per batch in mode async; 0: the " +
		"groups of the trace, or each request alone if it has none"}
	Latency = policies.Param{Name: "latency", Default: 0, Min: 0, Max: 1e9, Doc: "requests after the end of a batch " +
		"until its predictions are known in mode async; batches that end meanwhile are not predicted"}
)

// In reports whether the predictions are made in the background.
func In(v policies.Values) bool { return v.Text("mode") == modeAsync }

// Check rejects parameters that have no effect.
func Check(v policies.Values) error {
	if !In(v) && (v.Int("batch") != 0 || v.Int("latency") != 0) {
		return fmt.Errorf("batch and latency have no effect in mode=%s; leave them out, or write mode=%s",
			modeSync, modeAsync)
	}
	return nil
}

// WhyNoReplacement is why sets whose predictions are made in the background have no slabs.Replacement.
const WhyNoReplacement = "its predictions are made in the background"
