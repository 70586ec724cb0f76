// Package serving groups what nodes do that serve models: the routers that choose a node, replicas of one cache, and
// the node of HLEM, whose memory holds embeddings and users' histories.
package serving
