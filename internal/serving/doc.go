// Package serving groups what nodes do that serve models: routers that choose a node, replicas of one cache, and HLEM's
// node with embeddings and users' histories in its memory.
package serving
