// Package suite checks that a policy keeps its contract: with random requests, loads, drops, writes and changes of the
// capacity, it never fills a cache above its capacity, evicts only residents, and does the same every time. The tests
// of all policies use it, and users judge policies of their own with it.
//
// Begin with Judge. A Check is one property, a Script what happens in a cache.
package suite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/policies"
)

// Step is one event at a cache: a request of the trace, or something that no request caused.
type Step struct {
	Kind   Kind
	Object policies.Object
	Size   int64
	Reason policies.Reason // of a load
	Write  bool            // of a request
	Amount int64           // the new capacity
}

// Kind is what a step is.
type Kind int

const (
	Request Kind = iota
	Load
	Drop
	Resize
)

// Script is a sequence of steps over a number of objects, for a cache that starts with a capacity.
type Script struct {
	Steps    []Step
	Objects  int
	Capacity int64
	Unit     bool
}

// Mix is what happens in scripts.
type Mix struct {
	Kinds  []Kind // of steps that are no requests
	Writes bool   // where sizes count, requests may write and give their objects other sizes
	Tiny   bool   // the cache has room for one to three objects
	Huge   bool   // objects may be larger than the cache
}

// everything is all that may happen.
var everything = Mix{Kinds: []Kind{Load, Drop, Resize}, Writes: true}

// The largest capacities in scripts.
const (
	mostObjects = 50
	mostBytes   = 300
)

func randomCapacity(rng *rand.Rand, unit bool) int64 {
	if unit {
		return 1 + rng.Int64N(mostObjects)
	}
	return 1 + rng.Int64N(mostBytes)
}

// Random returns a script. Where sizes count, writes give any size, 1, or one that may be larger than the cache.
func Random(rng *rand.Rand, unit bool, m Mix) Script {
	s := Script{Objects: 1 + rng.IntN(40), Unit: unit, Capacity: randomCapacity(rng, unit)}
	if m.Tiny {
		s.Capacity = 1 + rng.Int64N(3)
	}
	sizes := slices.Repeat([]int64{1}, s.Objects)
	if !unit {
		most := int64(12)
		if m.Huge {
			most = 400
		}
		for o := range sizes {
			sizes[o] = 1 + rng.Int64N(most)
		}
	}
	others, writes := rng.IntN(101), rng.IntN(61) // percent of the steps, and of the requests
	for range 1 + rng.IntN(300) {
		o := policies.Object(float64(s.Objects) * rng.Float64() * rng.Float64())
		next := Step{Kind: Request, Object: o}
		if next.Write = m.Writes && !unit && rng.IntN(100) < writes; next.Write {
			sizes[o] = 1 + rng.Int64N([]int64{1, 12, 12, 40, 400}[rng.IntN(5)])
		}
		next.Size = sizes[o]
		if len(m.Kinds) > 0 && rng.IntN(100) < others {
			next.Kind = m.Kinds[rng.IntN(len(m.Kinds))]
			next.Reason = policies.Prefetch + policies.Reason(rng.IntN(2))
			next.Amount = randomCapacity(rng, unit)
		}
		s.Steps = append(s.Steps, next)
	}
	return s
}

// Trace returns the requests of the trace alone.
func (s *Script) Trace() (objects []policies.Object) {
	for _, st := range s.Steps {
		if st.Kind == Request {
			objects = append(objects, st.Object)
		}
	}
	return objects
}

// String describes the script in a line for the cache and one for each step.
func (s Script) String() string {
	var b strings.Builder
	unit := "bytes"
	if s.Unit {
		unit = "objects"
	}
	fmt.Fprintf(&b, "a cache of %d %s\n", s.Capacity, unit)
	position := 0
	for _, st := range s.Steps {
		switch st.Kind {
		case Request:
			does := "request"
			if st.Write {
				does = "write"
			}
			fmt.Fprintf(&b, "%3d  %s object %d%s\n", position, does, st.Object, s.sized(st))
			position++
		case Load:
			fmt.Fprintf(&b, "     load object %d%s: %v\n", st.Object, s.sized(st), st.Reason)
		case Drop:
			fmt.Fprintf(&b, "     remove object %d\n", st.Object)
		case Resize:
			fmt.Fprintf(&b, "     change the capacity to %d\n", st.Amount)
		}
	}
	return b.String()
}

func (s *Script) sized(st Step) string {
	if s.Unit {
		return ""
	}
	return fmt.Sprintf(" of %d bytes", st.Size)
}
