package main

import "github.com/Yiling-J/theine-go"

// theineCache waits for writes. The library has no way to empty its buffers of hits: see points.tsv.
type theineCache struct {
	config
	*theine.Cache[uint64, struct{}]
}

func newTheine(c config) (cache, error) {
	t, err := theine.NewBuilder[uint64, struct{}](c.capacity).Build()
	return theineCache{c, t}, err
}

func (c theineCache) get(key uint64) bool {
	_, ok := c.Get(key)
	return ok
}

func (c theineCache) put(key uint64, size uint32) {
	c.Set(key, struct{}{}, c.cost(size))
	if !c.asRun {
		c.Wait()
	}
}

func (c theineCache) remove(key uint64) {
	c.Delete(key)
	if !c.asRun {
		c.Wait()
	}
}

func (c theineCache) close() { c.Close() }
