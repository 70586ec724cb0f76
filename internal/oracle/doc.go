// Package oracle computes what follows from a whole trace: the next request of every object, the least misses of any
// schedule, bounds on them for objects of different sizes, and the reuse distances, which give LRU at every capacity in
// one pass. Policies that use this knowledge are in package policies/offline.
package oracle
