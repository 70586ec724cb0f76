// Package dense has what policies keep objects in: lists, queues, heaps and sketches over the objects 0..n-1. They are
// columns per object, not maps, and take constant or logarithmic time per request. Some fields are exported for batch
// loops, which keep them in registers.
package dense

// Object is the number of an object, from 0.
type Object = uint32
