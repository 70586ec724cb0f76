package main

import "github.com/cachesim/cachesim"

// aged counts the hits of the residents; of equal counts, the object loaded longest ago leaves.
type aged struct {
	turnovers float64
	counts    map[cachesim.Object]uint64
	loaded    map[cachesim.Object]uint64 // the number of the insertion
	inserted  uint64
	sinceHalf uint64
}

func newAged(c cachesim.Config) *aged {
	return &aged{turnovers: c.Params.Float("turnovers"), counts: map[cachesim.Object]uint64{},
		loaded: map[cachesim.Object]uint64{}}
}

func (p *aged) Hit(r cachesim.Request) { p.counts[r.Object]++ }

func (p *aged) Miss(cachesim.Request) {}

func (p *aged) Insert(r cachesim.Request) {
	p.inserted++
	p.counts[r.Object], p.loaded[r.Object] = 1, p.inserted
	if p.sinceHalf++; float64(p.sinceHalf) >= p.turnovers*float64(len(p.counts)) {
		p.sinceHalf = 0
		for o := range p.counts {
			p.counts[o] /= 2
		}
	}
}

// Victim compares all residents, which is simple, and slow in large caches.
func (p *aged) Victim(cachesim.Request) cachesim.Object {
	victim, found := cachesim.NoObject, false
	for o := range p.counts {
		if !found || p.less(o, victim) {
			victim, found = o, true
		}
	}
	p.Remove(victim)
	return victim
}

func (p *aged) less(a, b cachesim.Object) bool {
	if p.counts[a] != p.counts[b] {
		return p.counts[a] < p.counts[b]
	}
	return p.loaded[a] < p.loaded[b]
}

func (p *aged) Remove(o cachesim.Object) {
	delete(p.counts, o)
	delete(p.loaded, o)
}
