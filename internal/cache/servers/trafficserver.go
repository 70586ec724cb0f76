package servers

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

var trafficserverKind = Kind{
	Name:    "trafficserver",
	Summary: "Apache Traffic Server: a disk that is written in order, so that the oldest document goes, whatever was hit",
	Source:  "iocore/cache of Traffic Server 9.2.9, from the source alone; RAM has nothing that the disk lacks",
	Memory:  "storage", Unit: bytesOf, Look: policies.Look{Color: policies.Cyan, Mark: policies.Diamond},
	Params: []params.Param{
		{Name: "headers", Default: 600, Min: 0, Max: 1 << 20, Doc: "bytes of a document beside its body"},
		{Name: "min_average_object_size", Default: 8000, Min: 1, Max: 1 << 30, Doc: "bytes of disk for each entry of the " +
			"index: smaller documents run out of entries first"},
	},
	New: func(c cache.Config) (program, error) {
		v := c.Params
		return &trafficserver{documents: newDocuments(c, 0), headers: bytesBeside(c),
			entries: max(1, c.Capacity/int64(v.Int("min_average_object_size")))}, nil
	},
}

// diskBlock is what documents are rounded up to, in bytes.
const diskBlock = 512

// trafficserver writes documents one after another. Where it writes, the oldest ones are lost.
type trafficserver struct {
	documents
	headers, entries int64
}

func (s *trafficserver) serve(r *request) bool {
	o := r.object
	there := s.fresh(o, r.now)
	if s.changed(r, there) || there && !r.write {
		return there
	}
	s.dropStale(o)
	bytes := roundUp(r.value+s.headers, diskBlock)
	if bytes > s.limit {
		s.oversized++
		return there
	}
	for s.used+bytes > s.limit || s.items >= s.entries {
		s.evictLast()
	}
	s.add(r, bytes)
	return there
}
