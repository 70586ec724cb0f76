package prefetch

import "github.com/cachesim/cachesim/internal/base/params"

var strideEntry = Entry{
	Name: "stride",
	Summary: "the next addresses at the distance that the last ones had, forwards or backwards, in each zone of " +
		"addresses separately",
	Source: "Chen and Baer, Effective Hardware-Based Data Prefetching for High-Performance Processors, IEEE " +
		"Transactions on Computers 44(5), 1995 (reference prediction table); Palacharla and Kessler, Evaluating Stream " +
		"Buffers as a Secondary Cache Replacement, ISCA 1994 (zones of addresses in place of instructions)",
	Memory:    "48 bytes per row of the table",
	Addresses: true,
	Params: []params.Param{
		{Name: "n", Default: 1, Min: 1, Max: 1024, Doc: "addresses that are proposed"},
		{Name: "zone", Default: 1 << 16, Min: 2, Max: 1 << 50, Doc: "addresses in a zone; a stream is the requests " +
			"within one"},
		{Name: "table", Default: 1024, Min: 1, Max: 1 << 24, Doc: "zones that are known at a time; a zone takes the row " +
			"of the one that has the same number modulo the table"},
		{Name: "run", Default: 0, Min: 0, Max: 1 << 20, Doc: "requests in a row at the same distance after which addresses " +
			"are proposed, and again after as many more; 0: as soon as a distance has occurred twice, after each request"},
		{Name: "distance", Default: 0, Min: 0, Max: 1 << 40, Doc: "only streams forwards at this distance; 0: at any"},
	},
	New: func(c Config) Prefetcher {
		return &stride{
			n:    c.Params.Int("n"),
			zone: uint64(c.Params.Int("zone")),
			rows: make([]strideRow, c.Params.Int("table")),
			run:  c.Params.Int("run"),
			only: int64(c.Params.Int("distance")),
		}
	},
}

// confidence is the state of a row of the reference prediction table (Chen and Baer, figure 4).
type confidence uint8

const (
	unknown   confidence = iota // nothing in the zone has been requested
	initial                     // one address, or a steady stream that has just broken off
	transient                   // one distance
	steady                      // the same distance twice in a row: proposals are made
	irregular                   // one distance after the other: "no prediction"
)

// strideRow is the state of a zone.
type strideRow struct {
	zone   uint64
	last   uint64 // address that was requested last
	stride int64  // distance of the last two; it wraps
	state  confidence
	step   int64 // distance of the last request from the one before it
	run    int   // requests in a row at the distance step, the first one included
}

// stride is a reference prediction table whose rows are zones of addresses.
type stride struct {
	n    int
	zone uint64
	rows []strideRow
	run  int   // 0: proposals are made in a steady zone
	only int64 // 0: any distance
}

func (s *stride) Request(a Access, proposals []Proposal) []Proposal {
	zone := a.Key / s.zone
	row := &s.rows[zone%uint64(len(s.rows))]
	if row.state == unknown || row.zone != zone {
		*row = strideRow{zone: zone, last: a.Key, state: initial}
		return proposals
	}
	distance, ok := s.distance(row, row.observe(a.Key))
	if !ok {
		return proposals
	}
	return proposeAhead(proposals, a.Key, distance, s.n, 0)
}

// distance returns the distance at which to propose addresses after a request; moved says that it has moved the row on.
// ok is false if nothing is to be proposed.
func (s *stride) distance(row *strideRow, moved bool) (distance int64, ok bool) {
	distance, ok = row.stride, row.state == steady
	if s.run > 0 {
		distance, ok = row.step, moved && row.run%s.run == 0
	}
	return distance, ok && (s.only == 0 || distance == s.only)
}

// observe moves the row to its next state, and reports whether it has. A repeated address says nothing about a stream.
func (r *strideRow) observe(key uint64) (moved bool) {
	distance := int64(key - r.last)
	if distance == 0 {
		return false
	}
	r.last = key
	if distance == r.step {
		r.run++
	} else {
		r.step, r.run = distance, 2 // this request and the one before it
	}
	r.advance(distance)
	return true
}

func (r *strideRow) advance(distance int64) {
	if distance == r.stride {
		if r.state == irregular {
			r.state = transient
		} else {
			r.state = steady
		}
		return
	}
	switch r.state {
	case steady: // the distance is kept: a stream that continues elsewhere usually has the same
		r.state = initial
		return
	case initial:
		r.state = transient
	default:
		r.state = irregular
	}
	r.stride = distance
}
