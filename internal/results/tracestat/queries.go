package tracestat

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// QuerySummary describes the queries of a trace. Pointers are nil if the trace does not have the data.
type QuerySummary struct {
	Queries    int64  `json:"queries"`
	Distinct   int64  `json:"distinct"` // ids
	Texts      *int64 `json:"texts"`    // distinct texts
	Topics     *int64 `json:"topics"`
	Sessions   *int64 `json:"sessions"`
	Answers    *int64 `json:"answers"`    // labels of right answers
	Labelled   *int64 `json:"labelled"`   // distinct queries with such a label
	Dimension  *int64 `json:"dimension"`  // numbers in an embedding
	Embeddings string `json:"embeddings"` // where they come from; "" without any

	Turns *Distribution `json:"queries_per_session"`
}

func summarizeQueries(t *traces.Trace, q *queries.Columns) *QuerySummary {
	s := &QuerySummary{
		Queries: int64(len(t.Objects)), Distinct: int64(t.NumObjects), Embeddings: q.Embeddings,
		Topics: known(q.NumTopics), Sessions: known(q.NumSessions), Answers: known(q.NumAnswers), Dimension: known(q.Dim),
	}
	if q.Texts != nil {
		distinct := map[string]bool{}
		for _, text := range q.Texts {
			if text != "" {
				distinct[text] = true
			}
		}
		s.Texts = known(len(distinct))
	}
	if q.Answers != nil {
		labelled := 0
		for _, answer := range q.Answers {
			if answer >= 0 {
				labelled++
			}
		}
		s.Labelled = known(labelled)
	}
	if q.Sessions != nil {
		s.Turns = turnsOf(q.Sessions, q.NumSessions)
	}
	return s
}

// known returns a count, or nil for 0, which means unknown.
func known(n int) *int64 {
	if n == 0 {
		return nil
	}
	return new(int64(n))
}

func turnsOf(sessions []int32, n int) *Distribution {
	counts := make([]int64, n)
	for _, session := range sessions {
		if session >= 0 {
			counts[session]++
		}
	}
	turns := &histogram{}
	for _, n := range counts {
		if n > 0 {
			turns.add(n, 1)
		}
	}
	return turns.distribution(1)
}

func (s *QuerySummary) rows() []row {
	rows := []row{{"queries", fmt.Sprintf("%s (%s distinct)", show.Count(s.Queries), show.Count(s.Distinct))}}
	for _, c := range []struct {
		name  string
		count *int64
	}{{"distinct texts", s.Texts}, {"topics", s.Topics}, {"sessions", s.Sessions}} {
		if c.count != nil {
			rows = append(rows, row{c.name, show.Count(*c.count)})
		}
	}
	if s.Answers != nil {
		rows = append(rows, row{"answer labels", fmt.Sprintf("%s (of %s distinct queries)", show.Count(*s.Answers),
			show.Count(*s.Labelled))})
	}
	if s.Dimension != nil {
		rows = append(rows, row{"embeddings", fmt.Sprintf("%s numbers each (%s)", show.Count(*s.Dimension), s.Embeddings)})
	}
	return rows
}

func (s *QuerySummary) distributions() []namedDistribution {
	return []namedDistribution{{"queries_per_session", "queries per session", s.Turns, number}}
}
