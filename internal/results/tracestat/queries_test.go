package tracestat

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
)

// queryTrace is five requests for three queries in two sessions, one request of which belongs to none.
func queryTrace() *traces.Trace {
	return &traces.Trace{
		Objects: []uint32{0, 1, 0, 2, 1}, NumObjects: 3, SampleRate: 1,
		Kind: &queries.Columns{
			Dim: 2, Vectors: make([]float32, 6), Embeddings: queries.EmbeddingsInTrace, Texts: []string{"a", "a", ""},
			Topics: []int32{0, 1, -1}, NumTopics: 2, Answers: []int32{-1, 0, 0}, NumAnswers: 1,
			Sessions: []int32{0, 0, 0, -1, 1}, NumSessions: 2,
		},
	}
}

func TestQueries(t *testing.T) {
	s := must.Get(Summarize(queryTrace()))(t)
	q := s.Kind.(*QuerySummary)
	if q.Queries != 5 || q.Distinct != 3 || *q.Texts != 1 || *q.Topics != 2 || *q.Sessions != 2 || *q.Answers != 1 ||
		*q.Labelled != 2 || *q.Dimension != 2 {
		t.Errorf("%+v", q)
	}
	if q.Turns.Count != 2 || q.Turns.Max != 3 || q.Turns.Min != 1 {
		t.Errorf("queries per session %+v, want 3 and 1", q.Turns)
	}
	var table strings.Builder
	must.Do(t, s.Print(&table, "table"))
	for _, want := range []string{"5 (3 distinct)", "1 (of 2 distinct queries)", "2 numbers each (trace)",
		"queries per session"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, table.String())
		}
	}
}

// What is not known is not counted.
func TestQueriesOfWhichLittleIsKnown(t *testing.T) {
	trace := queryTrace()
	trace.Kind = &queries.Columns{Texts: []string{"a", "b", "c"}}
	s := must.Get(Summarize(trace))(t)
	if q := s.Kind.(*QuerySummary); *q.Texts != 3 || q.Topics != nil || q.Sessions != nil || q.Answers != nil ||
		q.Labelled != nil || q.Dimension != nil || q.Turns != nil {
		t.Errorf("%+v", q)
	}
}
