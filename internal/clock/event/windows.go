package event

import "time"

// Windows are spans of a model's clock, or numbers of requests, at whose ends the model reports what happened, as a W.
// The zero value is none.
type Windows[W any] struct {
	Span     time.Duration
	Requests int64
	// End receives what happened in a window. The last one ends early, with the run. An error ends the run.
	End func(W) error
}

// Into returns the same windows for a part of a model, which reports what end turns into a W.
func Into[V, W any](w Windows[W], end func(V) error) Windows[V] {
	if w.End == nil {
		return Windows[V]{}
	}
	return Windows[V]{w.Span, w.Requests, end}
}

// EndWith reports whether a window ends after this many requests.
func (w Windows[W]) EndWith(requests int64) bool { return w.Requests > 0 && requests%w.Requests == 0 }

// Open reports whether a window is open when a run ends after this many requests. A window of time always is.
func (w Windows[W]) Open(requests int64) bool {
	return w.Span > 0 || w.Requests > 0 && requests%w.Requests > 0
}
