package prefetch

import "github.com/cachesim/cachesim/internal/base/params"

var oracleEntry = Entry{
	Name:    "oracle",
	Summary: "what the next n reads of the same job request: knows the future, as a bound on what prefetching gains",
	Source: "cachesim; hints as in Patterson, Gibson, Ginting, Stodolsky and Zelenka, Informed prefetching and caching, " +
		"SOSP 1995, always right",
	Memory: "4 bytes per read of the trace",
	Future: true,
	Params: []params.Param{
		{Name: "n", Default: 4, Min: 1, Max: 1024, Doc: "reads that are proposed; where the trace has no reads of files, " +
			"requests or groups of them, and the whole trace is one job"},
	},
	New: func(c Config) Prefetcher { return newOracle(readsOf(c.Trace), c.Trace.Objects, c.Params.Int("n")) },
}

// oracle proposes the next reads of the job whose read has just been served. It knows the order within each job, which
// does not change if the jobs wait for their reads, so it works in models in which they do.
type oracle struct {
	reads
	objects []Object // per request of the trace
	n       int
	next    []int32 // per read: the next read of the same job, -1 after the last one
}

func newOracle(r reads, objects []Object, n int) *oracle {
	o := &oracle{reads: r, objects: objects, n: n, next: make([]int32, r.count())}
	upcoming := make([]int32, r.jobs()+1) // per job, the unknown one first: its first read after the current one
	for job := range upcoming {
		upcoming[job] = -1
	}
	for read := len(o.next) - 1; read >= 0; read-- {
		job := r.job(read) + 1
		o.next[read] = upcoming[job]
		upcoming[job] = int32(read)
	}
	return o
}

// Request implements Prefetcher. The proposals come after the last request of a read.
func (o *oracle) Request(a Access, proposals []Proposal) []Proposal {
	read := o.at(a.At)
	if a.At+1 < o.end(read) {
		return proposals
	}
	for range o.n {
		if read = int(o.next[read]); read < 0 {
			break
		}
		for _, object := range o.objects[o.begin(read):o.end(read)] {
			if object != a.Object {
				proposals = append(proposals, Proposal{Object: object})
			}
		}
	}
	return proposals
}
