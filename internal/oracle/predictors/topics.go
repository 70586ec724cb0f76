package predictors

import (
	"math"

	"github.com/cachesim/cachesim/internal/oracle/predict"
)

// topicState is what is known of an object's topic: the requests to similar queries, even to those that its entry would
// not answer.
type topicState struct {
	last    int32          // time of the last request, if there was one
	count   uint32         // requests
	recent  [rates]float32 // requests, decayed up to the last one
	nearest float32        // largest similarity to another query so far; NaN before the first
}

// halves are the requests after which a request to a topic counts half in its decayed counts.
var halves = [rates]float64{256, 2048}

const rates = 2

// topics are the topics of all objects, and what each was at an age of its object that is drawn for a sample. Memory:
// 52 bytes per object.
type topics struct {
	shared  *predict.Shared
	from    float32 // similarity from which on queries have a topic in common; no more than that of an answer
	now     []topicState
	own     []uint32 // per object: requests with that query
	queries []uint32 // per object: other queries that its entry would have answered, each counted once
	drawn   []topicState
	age     []int32 // per object: at which it was as in drawn
}

func newTopics(c predict.Config, from float32) *topics {
	t := &topics{shared: predict.NewShared(c), from: min(from, c.Similar.From), now: make([]topicState, c.Count),
		own: make([]uint32, c.Count), queries: make([]uint32, c.Count), drawn: make([]topicState, c.Count),
		age: make([]int32, c.Count)}
	for o := range t.now {
		t.now[o].nearest = float32(math.NaN())
	}
	return t
}

// near returns the query of the request at a position, and the other objects whose topic it belongs to.
func (t *topics) near(pos int) (query predict.Object, others []predict.Object) {
	query = t.shared.Queries[pos]
	return query, t.shared.Alike(query, t.from)
}

// request adds the request at a position, at that time of the clock.
func (t *topics) request(pos, now int) {
	query := t.shared.Queries[pos]
	t.now[query].request(now)
	ids, similarities := t.shared.Similar.Lists.Of(query)
	for i, o := range ids {
		if similarities[i] < t.from {
			break
		}
		s := &t.now[o]
		s.request(now)
		if !(s.nearest >= similarities[i]) { // also where it is NaN
			s.nearest = similarities[i]
		}
		if t.own[query] == 0 && similarities[i] >= t.shared.Similar.From {
			t.queries[o]++
		}
	}
	t.own[query]++
}

func (s *topicState) request(now int) {
	since := float64(now - int(s.last))
	for i, half := range halves {
		s.recent[i] = float32(1 + float64(float64(s.recent[i])*math.Exp2(-since/half)))
	}
	s.last = int32(now)
	s.count++
}

// topicNames are the names of what row adds.
var topicNames = []string{"requests", "own_requests", "queries", "topic_age", "topic_requests", "topic_rate_256",
	"topic_rate_2048", "nearest"}

// row describes an object whose topic is in a state, as of that time of the clock.
func (t *topics) row(o predict.Object, s *topicState, count uint32, now int, row []float64) {
	row[0], row[1], row[2] = float64(count), float64(t.own[o]), float64(t.queries[o])
	since := float64(now - int(s.last))
	row[3], row[4] = since, float64(s.count)
	for i, half := range halves {
		row[5+i] = float64(s.recent[i]) * math.Exp2(-since/half)
	}
	row[5+rates] = float64(s.nearest)
}
