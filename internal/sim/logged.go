package sim

import (
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// logged is what the server that wrote a log found in its own cache.
type logged struct{ requests, hits, bytes, hitBytes int64 }

// loggedIn counts the requests after the warm-up that belong to hits and misses, as far as the log says what was found.
func loggedIn(t *traces.Trace, warmup int) (n logged) {
	for pos := warmup; pos < len(t.Served); pos++ {
		found := t.Served[pos]
		if found == stream.ServedUnknown || t.Fills() && t.IsWrite(pos) {
			continue
		}
		var size int64
		if t.HasSizes() {
			size = t.Size(pos)
		}
		n.requests++
		n.bytes += size
		if found == stream.ServedHit {
			n.hits++
			n.hitBytes += size
		}
	}
	return n
}

// addTo sets the metrics of the log, if it says anything; sized says that capacities count bytes.
func (n logged) addTo(v *metric.Values, sized bool) {
	if n.requests == 0 {
		return
	}
	v.SetInt(metric.LoggedRequests, n.requests)
	v.Set(metric.LoggedHitRatio, ratio(n.hits, n.requests))
	if sized && n.bytes > 0 {
		v.Set(metric.LoggedByteHitRatio, ratio(n.hitBytes, n.bytes))
	}
}
