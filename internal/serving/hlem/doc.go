// Package hlem describes a node that serves recommendations from GPUs: what a request costs, what is measured in a
// window of time, and how a load changes. The memory of a node is divided between two caches, the embeddings of items
// (EMB) and the keys and values of users' histories (KV); the ratio is the share of EMB.
package hlem
