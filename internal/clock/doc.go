// Package clock groups the models of how long requests take, on a virtual clock: events, lookups of embeddings (sls),
// prompts to a language model (prefill), the tokens that one generates (decode), reads from a remote store (storage),
// and the list of all models of time. A model states what it needs from a cache. It knows no policy, and only the cost
// of predictions.
package clock
