package admit

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

var secondEntry = Entry{
	Name:    "second",
	Summary: "admits objects that have been requested at least twice",
	Source: "Berg et al., The CacheLib caching engine, OSDI 2020, section 4.2 (reject first); Maggs, Sitaraman, " +
		"Algorithmic nuggets in content delivery, SIGCOMM CCR 2015 (cache on second hit)",
	PerObject: 5,
	Params: []params.Param{
		{Name: "n", Default: 2, Min: 1, Max: mostCounted, Doc: "requests from which an object is admitted"},
		{Name: "within", Default: 0, Min: 0, Max: 1 << 31, Doc: "an object is counted anew if it was not requested within " +
			"this many requests; 0: its requests count forever"},
	},
	New: func(c Config) (Admission, error) {
		return &second{n: c.Params.Int("n"), within: c.Params.Int("within"), counted: newCounted(c.Objects)}, nil
	},
}

// mostCounted is the largest number of requests that is counted.
const mostCounted = 255

// counted are the requests of each object. Memory: 5 bytes per object.
type counted struct {
	times []uint8
	last  []uint32 // the number of the last request
}

func newCounted(objects int) counted { return counted{make([]uint8, objects), make([]uint32, objects)} }

// request counts a request.
func (c counted) request(o requests.Object, at int) {
	if c.times[o] < mostCounted {
		c.times[o]++
	}
	c.last[o] = uint32(at)
}

type second struct {
	n, within int
	counted
}

func (s *second) Request(r requests.Request, at int) {
	if s.within > 0 && s.times[r.Object] > 0 && at-int(s.last[r.Object]) > s.within {
		s.times[r.Object] = 0
	}
	s.request(r.Object, at)
}

func (s *second) Admit(r requests.Request) bool { return int(s.times[r.Object]) >= s.n }
