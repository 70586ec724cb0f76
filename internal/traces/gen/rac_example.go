package gen

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var racExampleParams = []params.Param{
	rateParam(1, "requests"),
	{Name: "rounds", Default: 2, Min: 2, Max: 100, Doc: "how often both topics come; 2 is the example, and in each " +
		"further round all queries but a0 and b2 are new"},
}

// racExampleQueries are the queries of Example 1 of RAC (arXiv 2602.21547, section 1) in order. The first letter is the
// topic; the anchors are a0 and b2, and a star marks new queries.
var racExampleQueries = []string{
	"a0", "a1", "a2", "a3", "a4", "a5", "b0", "b1", "b2", "b3", "b4", "b5",
	"a0", "a1*", "a2*", "a3*", "a4*", "a5*", "b0*", "b1*", "b2", "b3*", "b4*", "b5*",
}

// racExampleRound is how many queries come before the first topic returns.
const racExampleRound = 12

// racExampleOf returns the queries of the example, and of further rounds like the second: a1*3 is new in the third.
func racExampleOf(rounds int) []string {
	all := slices.Clone(racExampleQueries)
	for round := 3; round <= rounds; round++ {
		for _, query := range racExampleQueries[racExampleRound:] {
			if strings.HasSuffix(query, "*") {
				query += strconv.Itoa(round)
			}
			all = append(all, query)
		}
	}
	return all
}

// racExample returns the queries of Example 1. It implements RecordSource.
type racExample struct {
	queries []string
	rate    float64
	given   int

	directions map[string]int // per query: its own coordinate
	head       queries.Head
}

func newRACExample(v params.Values) (RecordSource, error) {
	e := &racExample{queries: racExampleOf(v.Int("rounds")), rate: v.Float("rate"), directions: map[string]int{}}
	for _, query := range e.queries {
		if _, ok := e.directions[query]; !ok {
			e.directions[query] = 1 + len(e.directions)
		}
	}
	return e, checkClock(len(e.queries), e.rate)
}

func (e *racExample) Fields() stream.Fields {
	return stream.Fields{Time: e.rate > 0, Kind: queries.Kind{}}
}

func (e *racExample) Requests() int { return len(e.queries) }

func (e *racExample) Read(rec *stream.Record) error {
	if e.given == len(e.queries) {
		return io.EOF
	}
	query := e.queries[e.given]
	topic := query[:1]
	e.head = queries.Head{
		Topic: []byte(topic), Session: fmt.Appendf(nil, "%s%d", topic, 1+e.given/racExampleRound), Answer: []byte(query),
		Vector: e.embedding(query),
	}
	*rec = stream.Record{Text: []byte(query), Time: timeOf(e.given, e.rate), Extra: &e.head}
	e.given++
	return nil
}

// embedding returns a vector with similarity 0.1 to every vector of the other topic, and 0.75 to the anchor of its own.
// Queries that are no anchors have similarity 0.57 within a topic: they share only the anchor, the least that this many
// vectors can share.
func (e *racExample) embedding(query string) []float32 {
	const (
		acrossTopics = 0.1
		toAnchor     = (0.75 - acrossTopics) / (1 - acrossTopics) // in the directions that topics do not share
	)
	anchor := map[byte]string{'a': "a0", 'b': "b2"}[query[0]]
	v := make([]float32, 1+len(e.directions))
	v[0] = float32(math.Sqrt(acrossTopics))
	own := math.Sqrt(1 - acrossTopics)
	if query != anchor {
		v[e.directions[anchor]] = float32(own * toAnchor)
		own *= math.Sqrt(1 - toAnchor*toAnchor)
	}
	v[e.directions[query]] = float32(own)
	return v
}
