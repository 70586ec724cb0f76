package recency

import (
	"errors"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// Units of the lifetime of an object under ttl.
const (
	ttlSeconds  = "seconds"
	ttlRequests = "requests"
	ttlCapacity = "capacity"
)

var ttlEntry = policies.Entry{
	Name:   "ttl",
	Look:   policies.Look{Color: policies.Pink, Mark: policies.Cross},
	Memory: policies.Memory{PerObject: 24, PerSlot: 43},
	Summary: "every object expires a fixed time after its load or last request; a full cache evicts the least recent " +
		"or the oldest",
	Source: "expireAfterWrite and expireAfterAccess of Caffeine; Jung, Berger and Balakrishnan, Modeling TTL-based " +
		"Internet caches, INFOCOM 2003",
	Params: []policies.Param{
		{Name: "ttl", Default: 3600.0, Min: 1e-9, Max: 9e9, Doc: "how long an object lives"},
		{Name: "unit", Default: ttlSeconds, Choices: []string{ttlSeconds, ttlRequests, ttlCapacity}, Doc: "of ttl: seconds " +
			"of the trace's clock; requests; or capacity: as many requests as the cache has room for objects"},
		{Name: "renew", Default: false, Doc: "a hit restarts the time"},
		{Name: "order", Default: "lru", Choices: []string{"lru", "fifo"}, Doc: "which object a full cache evicts: the one " +
			"requested longest ago, or loaded longest ago"},
	},
	NeedsTime: func(v policies.Values) bool { return v.Text("unit") == ttlSeconds },
	New:       func(c policies.Config) (policies.Policy, error) { return newTTL(c) },
}

// ttl needs the time of each request and so has no batch path. If it counts requests, those are the requests that it
// sees.
type ttl struct {
	expiry   dense.LogQueue // in order of expiry
	order    dense.LogQueue // in the order in which a full cache evicts; unused with byExpiry
	byExpiry bool           // a full cache evicts in the order of expiry
	lru      bool
	renew    bool
	begun    []int64 // per resident object: when its lifetime began, in nanoseconds or requests
	life     int64
	perSlot  float64 // if the unit is the capacity, requests per object that fits; otherwise 0
	requests bool    // the unit is requests
	heard    int64   // requests seen so far
}

func newTTL(c policies.Config) (*ttl, error) {
	p := &ttl{
		expiry:   dense.NewLogQueue(c.Objects),
		lru:      c.Params.Text("order") == "lru",
		renew:    c.Params.Bool("renew"),
		begun:    make([]int64, c.Objects),
		requests: c.Params.Text("unit") != ttlSeconds,
	}
	p.byExpiry = p.lru == p.renew // a hit moves an object in both orders, or in neither
	if !p.byExpiry {
		p.order = dense.NewLogQueue(c.Objects)
	}
	units := c.Params.Float("ttl")
	switch unit := c.Params.Text("unit"); {
	case unit == ttlSeconds:
		units *= 1e9
	case unit == ttlCapacity && !c.Unit:
		return nil, errors.New("unit=capacity counts objects; write unit=seconds or unit=requests where the capacity " +
			"counts bytes")
	case unit == ttlCapacity:
		p.perSlot = units
		units *= float64(c.Capacity)
	}
	p.live(units)
	return p, nil
}

// live sets the lifetime of an object.
func (p *ttl) live(units float64) { p.life = max(1, int64(min(units, longestLife))) }

func (p *ttl) Resize(capacity int64) {
	if p.perSlot > 0 {
		p.live(p.perSlot * float64(capacity))
	}
}

func (p *ttl) Grow(objects int) {
	p.begun = dense.Grown(p.begun, objects)
	p.expiry.Grow(objects)
	if !p.byExpiry {
		p.order.Grow(objects)
	}
}

// longestLife is more than the nanoseconds or requests of any trace.
const longestLife = 9e18

// now returns the time of r, in the unit of the lifetime.
func (p *ttl) now(r policies.Request) int64 {
	if p.requests {
		return p.heard - 1 // r, or the request before it, has been counted
	}
	return r.Time
}

// Expired returns an object whose lifetime ended now or earlier.
func (p *ttl) Expired(now int64) (policies.Object, bool) {
	if p.expiry.Live == 0 {
		return 0, false
	}
	if p.requests {
		now = p.heard
	}
	o := p.expiry.Back()
	if now-p.begun[o] < p.life {
		return 0, false
	}
	p.Remove(o)
	return o, true
}

func (p *ttl) Hit(r policies.Request) {
	p.heard++
	if p.renew {
		p.begun[r.Object] = p.now(r)
		p.expiry.Renew(r.Object)
	}
	if p.lru && !p.byExpiry {
		p.order.Renew(r.Object)
	}
}

func (p *ttl) Miss(r policies.Request) {
	if r.Reason == policies.Demand {
		p.heard++
	}
}

func (p *ttl) Victim(policies.Request) policies.Object {
	if p.byExpiry {
		return p.expiry.Pop()
	}
	o := p.order.Pop()
	p.expiry.Remove(o)
	return o
}

func (p *ttl) Insert(r policies.Request) {
	p.begun[r.Object] = p.now(r)
	p.expiry.Push(r.Object)
	if !p.byExpiry {
		p.order.Push(r.Object)
	}
}

func (p *ttl) Remove(o policies.Object) {
	p.expiry.Remove(o)
	if !p.byExpiry {
		p.order.Remove(o)
	}
}
