// Package oracle computes what follows from a trace once its future is known: the next request of every object, the
// least number of misses that any schedule can have, bounds on it for objects of different sizes, and the reuse
// distances that give LRU at every capacity in one pass. Policies that use this knowledge are in package
// policies/offline.
package oracle
