package main

import "github.com/maypok86/otter/v2"

// otterCache does what it has to do later on the calling goroutine.
type otterCache struct {
	config
	*otter.Cache[uint64, uint32]
}

func newOtter(c config) (cache, error) {
	options := &otter.Options[uint64, uint32]{}
	if c.bytes {
		options.MaximumWeight = uint64(c.capacity)
		options.Weigher = func(_ uint64, size uint32) uint32 { return size }
	} else {
		options.MaximumSize = int(c.capacity)
	}
	if !c.asRun {
		options.Executor = func(f func()) { f() }
	}
	o, err := otter.New(options)
	return otterCache{c, o}, err
}

func (c otterCache) get(key uint64) bool {
	_, ok := c.GetIfPresent(key)
	if ok && !c.asRun {
		c.CleanUp()
	}
	return ok
}

func (c otterCache) put(key uint64, size uint32) { c.Set(key, size) }
func (c otterCache) remove(key uint64)           { c.Invalidate(key) }
func (c otterCache) close()                      {}
