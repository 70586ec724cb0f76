package prefetch

import "github.com/cachesim/cachesim/internal/params"

var strideEntry = Entry{
	Name: "stride",
	Summary: "the next addresses at the distance that the last ones had, forwards or backwards, for each zone of " +
		"addresses by itself",
	Source: "Chen and Baer, Effective Hardware-Based Data Prefetching for High-Performance Processors, IEEE " +
		"Transactions on Computers 44(5), 1995 (reference prediction table); Palacharla and Kessler, Evaluating Stream " +
		"Buffers as a " +
		"Secondary Cache Replacement, ISCA 1994 (zones of addresses in place of instructions)",
	Memory:    "32 bytes per row of the table",
	Addresses: true,
	Params: []params.Param{
		{Name: "n", Default: 1, Min: 1, Max: 1024, Doc: "addresses that are proposed"},
		{Name: "zone", Default: 1 << 16, Min: 2, Max: 1 << 50, Doc: "addresses in a zone; a stream is the requests " +
			"within one"},
		{Name: "table", Default: 1024, Min: 1, Max: 1 << 24, Doc: "zones that are known at a time; a zone takes the row " +
			"of the one that has the same number modulo the table"},
	},
	New: func(c Config) Prefetcher {
		return &stride{
			n:    c.Params.Int("n"),
			zone: uint64(c.Params.Int("zone")),
			rows: make([]strideRow, c.Params.Int("table")),
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
}

// stride is a reference prediction table whose rows are zones of addresses.
type stride struct {
	n    int
	zone uint64
	rows []strideRow
}

func (s *stride) Request(a Access, proposals []Proposal) []Proposal {
	zone := a.Key / s.zone
	row := &s.rows[zone%uint64(len(s.rows))]
	if row.state == unknown || row.zone != zone {
		*row = strideRow{zone: zone, last: a.Key, state: initial}
		return proposals
	}
	row.observe(a.Key)
	if row.state != steady {
		return proposals
	}
	for i := 1; i <= s.n; i++ {
		key, ok := row.ahead(i)
		if !ok {
			break
		}
		proposals = append(proposals, Proposal{Key: key})
	}
	return proposals
}

// observe moves the row to its next state. The same address again says nothing about a stream.
func (r *strideRow) observe(key uint64) {
	distance := int64(key - r.last)
	if distance == 0 {
		return
	}
	r.last = key
	if distance == r.stride {
		switch r.state {
		case irregular:
			r.state = transient
		default:
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

// ahead returns the address n strides further, false if there is none.
func (r *strideRow) ahead(n int) (uint64, bool) {
	if r.stride > 0 {
		return after(r.last, uint64(r.stride), n)
	}
	return before(r.last, uint64(-r.stride), n)
}
