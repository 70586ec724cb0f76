package feed

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// Asynchronous counts the requests to a cache into which a model loads objects when they arrive.
type Asynchronous struct {
	Cache    requests.Asynchronous
	Progress func(n int) // may be nil
	reported int64       // requests that progress knows of
	total    cache.Counts
	Warm     cache.Counts // the part of total from the warm-up
}

// progressEvery is the number of requests between two reports of progress.
const progressEvery = 1 << 10

func (a *Asynchronous) Asked(bytes int64, hit bool) {
	a.total.Requests++
	a.total.Bytes += bytes
	if hit {
		a.total.Hits++
		a.total.HitBytes += bytes
	}
	if a.total.Requests-a.reported == progressEvery {
		a.Report()
	}
}

func (a *Asynchronous) Report() {
	if a.Progress != nil {
		a.Progress(int(a.total.Requests - a.reported))
	}
	a.reported = a.total.Requests
}

// Counts returns the counts so far.
func (a *Asynchronous) Counts() cache.Counts {
	a.total.Evictions, a.total.Oversized = a.Cache.Evictions(), a.Cache.Oversized()
	return a.total
}

func (a *Asynchronous) EndWarmup() {
	a.Warm = a.Counts()
	if warming, ok := a.Cache.(cache.Warming); ok {
		warming.BeginCounting()
	}
}
