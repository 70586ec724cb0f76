package main

import (
	"runtime"

	"github.com/dgraph-io/ristretto/v2"
)

// ristrettoCache waits for writes, and lets the goroutine that counts gets run before the next request. That one is the
// only other goroutine with work, so that it is done when this one goes on.
type ristrettoCache struct {
	config
	*ristretto.Cache[uint64, struct{}]
}

// ristrettoCounters is the number of counters per object that the library recommends; by bytes, per KiB, which is about
// the 10 million for 1 GiB of its README.
const ristrettoCounters = 10

func newRistretto(c config) (cache, error) {
	objects := c.capacity
	if c.bytes {
		objects = max(objects/1024, 1)
	}
	if !c.asRun {
		runtime.GOMAXPROCS(1)
	}
	r, err := ristretto.NewCache(&ristretto.Config[uint64, struct{}]{
		NumCounters: ristrettoCounters * objects, MaxCost: c.capacity, BufferItems: 64, IgnoreInternalCost: true,
	})
	return ristrettoCache{c, r}, err
}

func (c ristrettoCache) get(key uint64) bool {
	_, ok := c.Get(key)
	if !c.asRun {
		runtime.Gosched()
	}
	return ok
}

func (c ristrettoCache) put(key uint64, size uint32) {
	c.Set(key, struct{}{}, c.cost(size))
	if !c.asRun {
		c.Wait()
	}
}

func (c ristrettoCache) remove(key uint64) {
	c.Del(key)
	if !c.asRun {
		c.Wait()
	}
}

func (c ristrettoCache) close() { c.Close() }
