// Package overlap says how much of a trace of queries earlier queries could answer, at any threshold of similarity. It
// counts pairs of similar queries, and the requests that come after a similar one: no policy of a semantic cache has
// more hits.
package overlap

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// Trace says what was compared. It is the same in all rows of a trace.
type Trace struct {
	Trace      string  `json:"trace"`
	Requests   int     `json:"requests"`
	Queries    int     `json:"queries"` // distinct ones
	Dimension  int     `json:"dimension"`
	Embeddings string  `json:"embeddings"` // where they come from
	Bytes      int64   `json:"bytes"`      // of memory that embeddings and neighbours take
	Seconds    float64 `json:"seconds"`    // that finding the neighbours took, for the least threshold
}

// describe says what was compared; bytes is the memory of the lists of neighbours, took the time to find them.
func describe(t *traces.Trace, bytes int64, took time.Duration) Trace {
	q := queries.Of(t.Kind)
	return Trace{
		Trace:      t.Name,
		Requests:   len(t.Objects),
		Queries:    t.NumObjects,
		Dimension:  q.Dim,
		Embeddings: q.Embeddings,
		Bytes:      bytes + 4*int64(len(q.Vectors)),
		Seconds:    took.Seconds(),
	}
}

// Row has the counts at one threshold.
type Row struct {
	Trace
	Tau        float64 `json:"tau"`
	Pairs      int64   `json:"pairs"`           // of distinct queries at least that similar
	Mean       float64 `json:"mean_neighbours"` // of a query
	Most       int     `json:"most_neighbours"`
	Lone       int     `json:"lone_queries"`        // without any neighbour
	Answerable int     `json:"answerable_requests"` // that come after a request to a similar query, or to the same
}

// AnswerableShare returns the share of requests that a semantic cache may answer: no policy has a higher hit ratio.
func (r Row) AnswerableShare() float64 { return share(r.Answerable, r.Requests) }

// LoneShare returns the share of queries without a similar one.
func (r Row) LoneShare() float64 { return share(r.Lone, r.Queries) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// ParseThresholds reads a list of thresholds, the value of a flag.
func ParseThresholds(flag, list string) (taus []float64, err error) {
	for text := range strings.SplitSeq(list, ",") {
		tau, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(tau >= -1 && tau <= 1) {
			return nil, fmt.Errorf("%s %s: %q is not a threshold; want numbers from -1 to 1, as in 0.6,0.85", flag, list, text)
		}
		taus = append(taus, tau)
	}
	return taus, nil
}

// Measure returns a row for each threshold, all at least the threshold of the neighbours; took is the time to find
// these.
func Measure(t *traces.Trace, neighbours *similarity.Neighbours, taus []float64, took time.Duration) []Row {
	rows := make([]Row, len(taus))
	for i, tau := range taus {
		rows[i] = Row{Trace: describe(t, neighbours.Bytes(), took), Tau: tau}
		rows[i].count(neighbours, float32(tau))
	}
	return rows
}

func (r *Row) count(neighbours *similarity.Neighbours, tau float32) {
	listed, first := 0, 0 // first: requests to queries without a similar earlier one
	for o := range neighbours.Len() {
		ids, similarities := neighbours.Of(uint32(o))
		n := sort.Search(len(ids), func(k int) bool { return similarities[k] < tau })
		listed += n
		r.Most = max(r.Most, n)
		if n == 0 {
			r.Lone++
		}
		if !anyBelow(ids[:n], uint32(o)) {
			first++
		}
	}
	r.Pairs, r.Answerable = int64(listed/2), r.Requests-first
	if r.Queries > 0 {
		r.Mean = float64(listed) / float64(r.Queries)
	}
}

// anyBelow reports whether one of ids is less than o. Queries are numbered in order of first appearance, so that ids
// below o are earlier.
func anyBelow(ids []uint32, o uint32) bool {
	for _, id := range ids {
		if id < o {
			return true
		}
	}
	return false
}
