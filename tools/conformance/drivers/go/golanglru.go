package main

import (
	"github.com/hashicorp/golang-lru/arc/v2"
	lru "github.com/hashicorp/golang-lru/v2"
)

// hashicorp is what the caches of hashicorp/golang-lru have in common.
type hashicorp interface {
	Get(key uint64) (struct{}, bool)
	Remove(key uint64)
}

type golangLRU struct {
	hashicorp
	add func(key uint64, value struct{})
}

func (c golangLRU) put(key uint64, _ uint32) { c.add(key, struct{}{}) }
func (c golangLRU) remove(key uint64)        { c.Remove(key) }
func (c golangLRU) close()                   {}

func (c golangLRU) get(key uint64) bool {
	_, ok := c.Get(key)
	return ok
}

// lruOnly hides what Remove of lru.Cache returns.
type lruOnly struct{ *lru.Cache[uint64, struct{}] }

func (c lruOnly) Remove(key uint64) { c.Cache.Remove(key) }

func newLRU(c config) (cache, error) {
	if c.bytes {
		return nil, errNoWeights
	}
	l, err := lru.New[uint64, struct{}](int(c.capacity))
	return golangLRU{lruOnly{l}, func(key uint64, value struct{}) { l.Add(key, value) }}, err
}

func newTwoQueue(c config) (cache, error) {
	if c.bytes {
		return nil, errNoWeights
	}
	l, err := lru.New2Q[uint64, struct{}](int(c.capacity))
	if err != nil {
		return nil, err
	}
	return golangLRU{l, l.Add}, nil
}

func newARC(c config) (cache, error) {
	if c.bytes {
		return nil, errNoWeights
	}
	l, err := arc.NewARC[uint64, struct{}](int(c.capacity))
	if err != nil {
		return nil, err
	}
	return golangLRU{l, l.Add}, nil
}
