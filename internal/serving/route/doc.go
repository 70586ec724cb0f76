// Package route chooses the node that serves a request: a prompt to a language model, or a request for recommendations.
// A router of prompts sees the prompt, what it has sent to each node, and how busy the nodes are. It never sees the
// future. Only routers that say so see what is resident.
package route
