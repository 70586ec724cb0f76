// Package policies is the contract between a policy and the caches that use it, and the registry that names policies. A
// policy chooses which resident object is evicted; what counts as a hit is decided by the cache (package cache). Begin
// with Policy, Config and Entry.
//
// The policies themselves are in folders by family, one file each. To add one, write a file with its type and its
// Entry, and add that to Entries of its folder, which package policies/all registers. It then appears in `cachesim
// policies`, in the suite that all policies pass, and in every comparison.
package policies
