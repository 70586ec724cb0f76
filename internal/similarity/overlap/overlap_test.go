package overlap

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/similarity"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// small is a trace of four queries, 0 and 1 alike, 1 and 2 less, with requests to them.
func small() (*traces.Trace, *similarity.Neighbours) {
	t := &traces.Trace{
		Name: "small", Objects: []uint32{0, 1, 0, 2, 3, 3}, NumObjects: 4, Keys: []stream.Key{{Text: "q0"}, {Num: 17},
			{Text: "a,b"}, {Text: "q3"}},
		Kind: &queries.Columns{Embeddings: "in the trace", Dim: 2, Vectors: make([]float32, 8)},
	}
	return t, similarity.NewNeighbours(4, 0.5, []similarity.Pair{{A: 0, B: 1, Similarity: 0.9},
		{A: 1, B: 2, Similarity: 0.7}, {A: 0, B: 2, Similarity: 0.5}})
}

func TestMeasure(t *testing.T) {
	trace, neighbours := small()
	rows := Measure(trace, neighbours, []float64{0.5, 0.7, 0.71, 0.95}, 0)
	for i, want := range []Row{
		// the first requests to 1 and 2, the second ones to 0 and 3
		{Tau: 0.5, Pairs: 3, Mean: 1.5, Most: 2, Lone: 1, Answerable: 4},
		{Tau: 0.7, Pairs: 2, Mean: 1, Most: 2, Lone: 1, Answerable: 4},
		{Tau: 0.71, Pairs: 1, Mean: 0.5, Most: 1, Lone: 2, Answerable: 3},
		{Tau: 0.95, Pairs: 0, Mean: 0, Most: 0, Lone: 4, Answerable: 2},
	} {
		want.Trace.Trace, want.Requests, want.Queries, want.Dimension, want.Embeddings, want.Bytes = "small", 6, 4, 2,
			"in the trace", 3*16+5*8+32
		if rows[i] != want {
			t.Errorf("from %v: %+v, want %+v", want.Tau, rows[i], want)
		}
	}
	if share := rows[0].AnswerableShare(); share != 4.0/6 {
		t.Errorf("answerable share %v", share)
	}
	if share := rows[0].LoneShare(); share != 0.25 {
		t.Errorf("lone share %v", share)
	}
}

func TestWritePairs(t *testing.T) {
	trace, neighbours := small()
	var out bytes.Buffer
	must.Do(t, WritePairs(&out, trace, neighbours, 0.6))
	if want := "first,second,similarity\nq0,17,0.9\n17,\"a,b\",0.7\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestPrint(t *testing.T) {
	trace, neighbours := small()
	rows := Measure(trace, neighbours, []float64{0.5, 0.7}, 1250*time.Millisecond)
	for format, want := range map[string]string{
		"table":    "small: 6 requests to 4 queries, 2 dimensions; 1.25s, 120 B\nembeddings: in the trace\n",
		"markdown": "| 0.5 | 3 | 1.50 | 2 | 25% | 66.67% |\n",
		"csv":      "small,6,4,2,in the trace,120,1.25,0.7,2,1,2,1,4\n",
		"json":     `"tau":0.7,"pairs":2,"mean_neighbours":1,"most_neighbours":2,"lone_queries":1,"answerable_requests":4}`,
	} {
		var out bytes.Buffer
		must.Do(t, Print(&out, rows, format))
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: want %s in\n%s", format, want, out.String())
		}
	}
}
