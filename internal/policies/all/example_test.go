package all_test

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

// A policy is written as a user would write it, built for a capacity, and then asked for victims by the pool of a
// cache.
func Example_parse() {
	spec, err := policies.Registry.Parse("lru-k(k=2)")
	if err != nil {
		panic(err)
	}
	p, err := spec.Entry.New(policies.Config{Capacity: 2, Unit: true, Objects: 3, Requests: 6, Params: spec.Params})
	if err != nil {
		panic(err)
	}
	pool := cache.NewPool(p, 2, 3)
	for pos, object := range []policies.Object{0, 0, 1, 2, 0, 1} {
		hit := pool.Request(policies.Request{Object: object, Query: object, Pos: pos, Size: 1})
		fmt.Print(hit, " ")
	}
	fmt.Println(pool.Len(), pool.Evictions())
	// Output:
	// false true false false true false 2 2
}

// Entries describe a policy: its parameters, where it comes from, whether it sees the future.
func Example_find() {
	e, ok := policies.Registry.Find("sieve")
	fmt.Println(ok, e.Kind, e.Source)
	// Output:
	// true online Zhang, Yang, Yue, Vigfusson and Rashmi, SIEVE is simpler than LRU, NSDI 2024, algorithm 1
}
