package ontrace

import (
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Logged is what the server that wrote a log found in its own cache.
type Logged struct{ requests, hits, bytes, hitBytes int64 }

// LoggedIn counts the requests after the warm-up that belong to hits and misses, as far as the log says what was found.
func LoggedIn(t *traces.Trace, warmup int) (n Logged) {
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

// AddTo sets the metrics of the log, if it says anything; sized says that capacities count bytes.
func (n Logged) AddTo(v *metric.Values, sized bool) {
	if n.requests == 0 {
		return
	}
	v.SetInt(metric.LoggedRequests, n.requests)
	v.Set(metric.LoggedHitRatio, metric.Divide(float64(n.hits), float64(n.requests)))
	if sized && n.bytes > 0 {
		v.Set(metric.LoggedByteHitRatio, metric.Divide(float64(n.hitBytes), float64(n.bytes)))
	}
}
