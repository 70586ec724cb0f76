package prefetch

import (
	"slices"

	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
)

// reads finds the read to which a request of a trace belongs: the blocks of a read of a file are one request each.
// Where nothing is grouped, each request is a read.
type reads struct {
	groups   []int          // positions at which reads begin; nil: every position
	requests int            // of the trace
	files    *files.Columns // nil: the requests are no reads of files
	last     int            // the read found last: the next request usually belongs to it, or to the one after it
}

// readsOf returns the reads of a trace, which may be nil.
func readsOf(t *traces.Trace) reads {
	if t == nil {
		return reads{}
	}
	return reads{groups: t.Groups, requests: len(t.Objects), files: files.Of(t.Kind)}
}

func (r *reads) count() int {
	if r.groups == nil {
		return r.requests
	}
	return len(r.groups)
}

// at returns the number of the read to which the request at a position belongs.
func (r *reads) at(pos int) int {
	if r.groups == nil {
		return pos
	}
	if r.groups[r.last] <= pos {
		if pos < r.end(r.last) {
			return r.last
		}
		if pos < r.end(r.last+1) {
			r.last++
			return r.last
		}
	}
	read, begins := slices.BinarySearch(r.groups, pos)
	if !begins {
		read--
	}
	r.last = read
	return read
}

func (r *reads) begin(read int) int {
	if r.groups == nil {
		return read
	}
	return r.groups[read]
}

func (r *reads) end(read int) int {
	if r.groups == nil {
		return read + 1
	}
	if read+1 < len(r.groups) {
		return r.groups[read+1]
	}
	return r.requests
}

// job returns the number of the job that a read belongs to, -1 if it is not known.
func (r *reads) job(read int) int32 {
	if r.files == nil || r.files.Jobs == nil {
		return -1
	}
	return r.files.Jobs[read]
}

// jobs returns how many jobs there are, without those that are not known.
func (r *reads) jobs() int {
	if r.files == nil {
		return 0
	}
	return len(r.files.JobNames)
}
