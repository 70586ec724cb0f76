// Package policies contains the replacement policies and the registry that names them. A policy chooses which resident
// object is evicted; what counts as a hit is decided by the cache (package cache).
//
// To add a policy, write one file with its type and its Entry, and add the Entry to its family in registry.go; the
// entries of a folder are registered by package policies/all. It then appears in `cachesim policies`, in the shared
// test suite and in every comparison.
package policies
